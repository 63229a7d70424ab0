import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ModelEvent } from '../../core/chat/chat.ts';
import { invalidField } from '../../core/errors.ts';
import type { ModelBackend, ModelRequest } from '../../core/models/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { isJsonObject } from '../../shared/json/json.ts';
import { emitAnswer } from '../answers/answer-stream.ts';
import { makeCallId } from '../../shared/text/call-ids.ts';
import { clientOf, type OpenAiConnection } from '../openai/openai-compatible.ts';
import { findKind } from '../transport/answer-kind.ts';
import { applyRemedies } from '../remedies/apply-remedies.ts';
import { RefusalMemory } from '../remedies/refusal-memory.ts';
import { keptReasoningRemedy } from './kept-reasoning.ts';
import { ResponseReader } from './response-reader.ts';
import { ResponseStream } from './response-stream.ts';
import { toResponsesRequest } from './responses-body.ts';

interface ResponsesBackendOptions {
  /** Generates ids of calls that came without one. */
  makeId?: () => string;
  /** Default: one of its own. */
  memory?: RefusalMemory;
}

/** A backend with OpenAI's Responses API (`POST {baseUrl}/responses`), used without state: every request contains the whole conversation. */
export function createResponsesBackend(
  connection: OpenAiConnection,
  send: SendOutbound,
  { makeId = makeCallId, memory = new RefusalMemory() }: ResponsesBackendOptions = {},
): ModelBackend {
  const client = clientOf(connection, send);

  async function answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    if (request.completion !== undefined)
      throw invalidField('model', `its backend "${client.name}" does not continue bare prompts. Ask in a chat, or use another model.`);
    const { body, warnings } = toResponsesRequest(request);
    if (warnings.length > 0) await emit(warnings.map(warningEvent));
    const { signal, origin } = request;
    return client.exchange('/responses', { signal, caller: origin?.callerId, trace: request.trace?.(), body }, async (received) => {
      const { kind, response } = await findKind(received);
      if (kind === undefined) throw client.invalid('answers neither with JSON nor with an event stream');
      const reader = new ResponseReader({ client, makeCallId: makeId });
      if (kind === 'events') return emitAnswer(new ResponseStream(client, reader), { body: response.body, emit });
      const answered = await client.readJson(response);
      return emit(reader.readWhole(isJsonObject(answered) ? answered : {}));
    });
  }

  return applyRemedies({ answer }, [keptReasoningRemedy], { lessonsOf: (model) => memory.of(client.name, model) });
}
