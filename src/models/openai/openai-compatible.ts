import type { ModelEvent } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { Embed } from '../../core/models/embeddings.ts';
import type { ModelBackend, ModelRecord, ModelRequest } from '../../core/models/model.ts';
import type { OutboundResponse, SendOutbound } from '../../core/outbound.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { keepFor } from '../../shared/keep-last.ts';
import { isJsonObject, type JsonValue } from '../../shared/json/json.ts';
import { emitAnswer } from '../answers/answer-stream.ts';
import { findKind } from '../transport/answer-kind.ts';
import { BackendClient, type BackendConnection } from '../transport/backend-client.ts';
import { OutputLimit } from '../answers/output-limit.ts';
import { readVectors } from '../transport/read-vectors.ts';
import { ReasoningTemplateCache } from '../answers/reasoning-template-cache.ts';
import { makeCallId } from '../../shared/text/call-ids.ts';
import { toChatBody, toCompletionBody } from './openai-messages.ts';
import { toModelRecords } from './openai-model-list.ts';
import { ChatStream, toPayload } from './split-chat-stream.ts';
import { CompletionReader } from './chunks-to-events.ts';
import { NumberedCallIds } from './numbered-call-ids.ts';
import { toUsage } from './to-usage.ts';

/** `baseUrl` is such as `https://api.openai.com/v1`. `name`: the backend's name in error messages, which never contain its address. */
export type OpenAiConnection = BackendConnection & { key: string | undefined; name?: string };

interface OpenAiBackendOptions {
  /** Generates ids of calls that came without one. */
  makeId?: () => string;
}

/** A backend with OpenAI's chat completions API, and perhaps its older completions. */
export function createOpenAiBackend(
  connection: OpenAiConnection,
  send: SendOutbound,
  { makeId = makeCallId }: OpenAiBackendOptions = {},
): ModelBackend {
  const client = clientOf(connection, send);
  const templates = new ReasoningTemplateCache();
  const callIds = new NumberedCallIds();

  function answer(given: ModelRequest, emitRead: Emit<ModelEvent>): Promise<void> {
    const messages = callIds.write(given.model, given.messages);
    const request = messages === given.messages ? given : { ...given, messages };
    const emit: Emit<ModelEvent> = (events) => {
      callIds.learn(given.model, events);
      return emitRead(events);
    };
    const { model, signal, completion } = request;
    const caller = request.origin?.callerId;
    const isContinuation = completion !== undefined;
    const body = isContinuation ? toCompletionBody(request, completion) : toChatBody(request);
    const sent = { signal, caller, trace: request.trace?.(), body };
    return client.exchange(isContinuation ? '/completions' : '/chat/completions', sent, async (received) => {
      const found = findKind(received, request.stream ? 'events' : undefined);
      const { kind, response } = found instanceof Promise ? await found : found;
      if (kind === undefined) throw client.invalid('answers neither with JSON nor with an event stream');
      const meter = new OutputLimit(client.name);
      const newReader = (isWhole: boolean): CompletionReader =>
        new CompletionReader({
          client,
          model,
          caller,
          toolNames: namesOf(request),
          choices: choicesOf(request),
          templates,
          makeCallId: makeId,
          isContinuation,
          meter,
          isWhole,
        });
      if (kind === 'events') return emitAnswer(new ChatStream(client, newReader), { body: response.body, emit });
      const reader = newReader(true);
      const events = reader.read(toPayload(await client.readJson(response), client) ?? {});
      if (!reader.hasMessages) throw client.invalid('answers without a message');
      events.push(...reader.finish());
      return emit(events);
    });
  }

  return {
    answer: (request, emit) =>
      request.completion === undefined
        ? answer(request, emit)
        : answer(request, emit).catch((error: unknown) => {
            throw withoutCompletions(error, client) ?? error;
          }),
  };
}

/** Many servers have chats alone. */
function withoutCompletions(error: unknown, { name }: BackendClient): GatewayError | undefined {
  if (!(error instanceof GatewayError) || (error.status !== 404 && error.status !== 405)) return undefined;
  // A server that has completions says that it does not know the model.
  if (/model/iu.test(error.message)) return undefined;
  const message = `The model backend "${name}" does not continue bare prompts (it has no POST /completions). Ask in a chat, or use another model.`;
  return new GatewayError('invalid_request', message, { param: 'model', cause: error });
}

export function clientOf(connection: OpenAiConnection, send: SendOutbound): BackendClient {
  return new BackendClient(connection.name ?? 'OpenAI-compatible', connection, send);
}

function namesOf({ tools, callerTools }: ModelRequest): ReadonlySet<string> {
  const own = namesOfOwn(tools);
  if (callerTools.length === 0) return own;
  const callers = callerTools.flatMap((tool) => (isJsonObject(tool['function']) ? tool['function']['name'] : []));
  return new Set([...own, ...callers.filter((name) => typeof name === 'string')]);
}

const namesOfOwn = keepFor((tools: ModelRequest['tools']): ReadonlySet<string> => new Set(tools.map(({ name }) => name)));

/** Anything but a number above 1 means one choice; the backend validates it. */
function choicesOf(request: ModelRequest): number {
  const wanted = Number(request.parameters['n'] ?? 1);
  return wanted > 1 ? wanted : 1;
}

/** `GET {baseUrl}/models`. Capabilities are only set if the backend reports them. */
export async function listOpenAiModels(connection: OpenAiConnection, send: SendOutbound, signal: AbortSignal): Promise<ModelRecord[]> {
  const firstByteTimeoutMs = Math.min(connection.firstByteTimeoutMs, limits.modelListTimeoutMs);
  const idleTimeoutMs = Math.min(connection.idleTimeoutMs, limits.modelListTimeoutMs);
  const client = clientOf({ ...connection, firstByteTimeoutMs, idleTimeoutMs }, send);
  const records = await client.exchange('/models', { signal }, async (response) => {
    return toModelRecords(await readJson(response, client));
  });
  if (records === undefined) throw client.invalid('answers without a list of models');
  return records;
}

/** `POST {baseUrl}/embeddings`, with the vectors read. Some servers do not send them in the order of the texts. */
export function embedTexts(connection: OpenAiConnection, send: SendOutbound): Embed {
  const client = clientOf(connection, send);
  return ({ model, texts, dimensions, signal, caller }) => {
    const body = { model, input: [...texts], encoding_format: 'float', ...(dimensions !== undefined && { dimensions }) };
    return client.exchange('/embeddings', { signal, caller, body }, async (response) => {
      const { data, usage } = toPayload(await readJson(response, client), client) ?? {};
      const entries = Array.isArray(data) ? data.filter(isJsonObject) : [];
      const inOrder = entries.toSorted((one, other) => Number(one['index'] ?? 0) - Number(other['index'] ?? 0));
      const vectors = readVectors(
        inOrder.map((entry) => entry['embedding']),
        texts.length,
        client,
      );
      return { vectors, promptTokens: toUsage(usage)?.prompt_tokens ?? 0 };
    });
  };
}

async function readJson(received: OutboundResponse, client: BackendClient): Promise<JsonValue> {
  const { kind, response } = await findKind(received);
  if (kind !== 'json') throw client.invalid('answers without JSON');
  return client.readJson(response);
}
