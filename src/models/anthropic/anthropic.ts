import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ModelEvent } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { ModelBackend, ModelRecord, ModelRequest } from '../../core/models/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { emitAnswer } from '../answers/answer-stream.ts';
import { OutputLimit } from '../answers/output-limit.ts';
import { makeCallId } from '../../shared/text/call-ids.ts';
import { applyRemedies } from '../remedies/apply-remedies.ts';
import { RefusalMemory } from '../remedies/refusal-memory.ts';
import { findKind } from '../transport/answer-kind.ts';
import { BackendClient, type BackendConnection } from '../transport/backend-client.ts';
import { cachedConversation, toAnthropicMessages } from './anthropic-messages.ts';
import { factsIn, toModelPage, type ModelFacts } from './anthropic-models.ts';
import { markOfClient, toAnthropicParameters } from './anthropic-parameters.ts';
import { toAnthropicTools } from './anthropic-tools.ts';
import { MessageReader } from './message-reader.ts';
import { MessageStream, requireMessage } from './message-stream.ts';
import { fieldRemedy } from './refused-fields.ts';
import { WireNames } from './wire-names.ts';

/** `baseUrl` is such as `https://api.anthropic.com/v1`. `name`: the backend's name in error messages, which never contain its address. */
export type AnthropicConnection = BackendConnection & { key: string | undefined; name?: string };

interface AnthropicBackendOptions {
  /** Generates ids of calls that came without one. */
  makeId?: () => string;
  /** Default: one of its own. */
  memory?: RefusalMemory;
  /** What the list of models says of a model. Default: nothing. */
  factsOf?: (model: string) => ModelFacts | undefined;
}

const apiVersion = '2023-06-01';

/**
 * A backend with Anthropic's Messages API. Answers are always streamed from it, even if the caller does not stream: long ones would exceed the time
 * limits of servers and proxies, and a disconnect stops the model. A server that answers with a whole message is read too.
 */
export function createAnthropicBackend(
  connection: AnthropicConnection,
  send: SendOutbound,
  { makeId = makeCallId, memory = new RefusalMemory(), factsOf = () => undefined }: AnthropicBackendOptions = {},
): ModelBackend {
  const client = clientOf(connection, send);

  function answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    const { model, messages, completion, signal, origin } = request;
    if (completion !== undefined) throw noCompletions(client);
    const names = new WireNames();
    const { fields, warnings } = toAnthropicParameters(request, factsOf(model));
    const tools = toAnthropicTools(request, names);
    const conversation = toAnthropicMessages(messages, names);
    const { system, messages: turns } = cachedConversation(conversation, markOfClient(request.parameters));
    const body = {
      model,
      ...fields,
      ...(system.length > 0 && { system }),
      messages: turns,
      stream: true,
      ...tools,
    } as unknown as JsonObject;
    return client.exchange('/messages', { signal, caller: origin?.callerId, trace: request.trace?.(), body }, async (received) => {
      const { kind, response } = await findKind(received);
      if (kind === undefined) throw client.invalid('answers neither with JSON nor with an event stream');
      if (warnings.length > 0) await emit(warnings.map(warningEvent));
      const reader = new MessageReader({ client, names, makeCallId: makeId, meter: new OutputLimit(client.name) });
      if (kind === 'events') return emitAnswer(new MessageStream(client, reader), { body: response.body, emit });
      const events: ModelEvent[] = [];
      reader.readWhole(requireMessage(await client.readJson(response), client), events);
      if (!reader.hasMessage) throw client.invalid('answers without a message');
      return emit([...events, ...reader.finish()]);
    });
  }

  const answerOrExplain: ModelBackend = {
    answer: async (request, emit) => {
      try {
        await answer(request, emit);
      } catch (error) {
        throw withoutModel(error, request.model, client) ?? error;
      }
    },
  };
  return applyRemedies(answerOrExplain, [fieldRemedy], { lessonsOf: (model) => memory.of(client.name, model) });
}

function clientOf({ key, headers, ...connection }: AnthropicConnection, send: SendOutbound): BackendClient {
  const own = { 'anthropic-version': apiVersion, ...headers };
  return new BackendClient(connection.name ?? 'anthropic', { ...connection, key, keyHeader: 'x-api-key', headers: own }, send);
}

function noCompletions({ name }: BackendClient): GatewayError {
  const message = `The model backend "${name}" does not continue bare prompts. Ask in a chat, or use another model.`;
  return new GatewayError('invalid_request', message, { param: 'model' });
}

/** Anthropic answers 404 with `model: <name>`. */
function withoutModel(error: unknown, model: string, { name }: BackendClient): GatewayError | undefined {
  if (!(error instanceof GatewayError) || error.status !== 404 || !/\bmodel\b/i.test(error.message)) return undefined;
  const message = `The model backend "${name}" does not have the model "${model}". Choose one of GET /v1/models.`;
  return new GatewayError('model_not_found', message, { param: 'model', cause: error });
}

/** More pages have no use: each may have a thousand models. */
const maxPages = 10;

/** `GET {baseUrl}/models`, page by page. */
export async function listAnthropicModels(
  connection: AnthropicConnection,
  send: SendOutbound,
  signal: AbortSignal,
): Promise<ModelRecord[]> {
  const firstByteTimeoutMs = Math.min(connection.firstByteTimeoutMs, limits.modelListTimeoutMs);
  const idleTimeoutMs = Math.min(connection.idleTimeoutMs, limits.modelListTimeoutMs);
  const records: ModelRecord[] = [];
  let after: string | undefined;
  for (let count = 0; count < maxPages; count += 1) {
    const baseUrl = withQuery(connection.baseUrl, { limit: '1000', ...(after !== undefined && { after_id: after }) });
    const client = clientOf({ ...connection, baseUrl, firstByteTimeoutMs, idleTimeoutMs }, send);
    const page = await client.exchange('/models', { signal }, async (response) => toModelPage(await client.readJson(response)));
    if (page === undefined) throw client.invalid('answers without a list of models');
    records.push(...page.records);
    after = page.next;
    if (after === undefined) break;
  }
  return records;
}

function withQuery(baseUrl: string, query: Record<string, string>): string {
  const url = new URL(baseUrl);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

/** Lists models, and remembers what the last list said of each. */
export class ListedModels {
  readonly #connection: AnthropicConnection;
  readonly #send: SendOutbound;
  #facts: ReadonlyMap<string, ModelFacts> = new Map();

  constructor(connection: AnthropicConnection, send: SendOutbound) {
    this.#connection = connection;
    this.#send = send;
  }

  async list(signal: AbortSignal): Promise<ModelRecord[]> {
    const records = await listAnthropicModels(this.#connection, this.#send, signal);
    this.#facts = new Map(records.map((record) => [record.id, factsIn(record)]));
    return records;
  }

  factsOf(model: string): ModelFacts | undefined {
    return this.#facts.get(model);
  }
}
