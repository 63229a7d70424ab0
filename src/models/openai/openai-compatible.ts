import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ModelEvent } from '../../core/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { isJsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { ModelBackend, ModelRecord, ModelRequest } from '../../core/model.ts';
import type { OutboundResponse, SendOutbound } from '../../core/outbound.ts';
import { OpenAiExchange, kindOf } from './openai-exchange.ts';
import type { OpenAiConnection } from './openai-exchange.ts';
import { foreignStreamOptions, toChatBody } from './openai-messages.ts';
import { toModelRecords } from './openai-model-list.ts';
import { ChatStream } from './read-chat-stream.ts';
import { CompletionReader } from './read-completion.ts';
import { ServerSentEventReader } from './read-server-sent-events.ts';
import { ReasoningTemplateCache } from '../reasoning-template-cache.ts';
import { makeCallId } from '../tool-call-assembler.ts';

export type { OpenAiConnection } from './openai-exchange.ts';

/** Time for a backend to end its answer after `[DONE]`: then the connection can be used again. */
const endOfAnswerMs = 50;

/** A backend that speaks OpenAI's chat completions. `makeId` gives ids to calls that came without one. */
export function createOpenAiBackend(connection: OpenAiConnection, send: SendOutbound, makeId: () => string = makeCallId): ModelBackend {
  const exchange = new OpenAiExchange(connection, send);
  const templates = new ReasoningTemplateCache();
  let takesStreamOptions = true;

  async function ask(request: ModelRequest, signal: AbortSignal): Promise<OutboundResponse> {
    const asksForUsage = takesStreamOptions && request.stream;
    const response = await exchange.ask('/chat/completions', signal, toChatBody(request, asksForUsage));
    if (response.status < 400) return response;
    const fault = await exchange.faultOf(response);
    if (!asksForUsage || !refusesOurStreamOptions(fault, request)) throw fault;
    takesStreamOptions = false;
    const second = await exchange.ask('/chat/completions', signal, toChatBody(request, false));
    if (second.status >= 400) throw await exchange.faultOf(second);
    return second;
  }

  async function* chat(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    const { signal } = request;
    // The connection is closed by the caller's leaving and by ours. One listener costs a tenth of a composite signal.
    const closer = new AbortController();
    const leave = (): void => closer.abort(signal.reason);
    let stream: ChatStream | undefined;
    let isRead = false;
    let endTimer: NodeJS.Timeout | undefined;
    try {
      signal.throwIfAborted();
      signal.addEventListener('abort', leave, { once: true });
      const response = await ask(request, closer.signal);
      const kind = kindOf(response);
      if (kind === undefined) throw exchange.invalid('answers with neither JSON nor an event stream');
      const isWhole = kind === 'json';
      const asked = { model: request.model, toolNames: namesOf(request), choices: choicesOf(request) };
      const reader = new CompletionReader({ ...asked, templates, makeCallId: makeId, meter: exchange.createMeter(), isWhole });
      if (isWhole) {
        const events = readWhole(exchange, await exchange.readJson(response), reader);
        isRead = true;
        for (const event of events) yield event;
        return;
      }
      stream = new ChatStream(exchange, reader);
      const lines = new ServerSentEventReader(limits.upstreamLineBytes);
      for await (const piece of response.body) {
        for (const event of stream.read(lines.read(piece.subarray(0, limits.upstreamSliceBytes)))) yield event;
        if (piece.byteLength > limits.upstreamSliceBytes) yield* readRest(piece, stream, lines);
        lines.requireShortLines();
        if (stream.isDone) endTimer ??= setTimeout(() => closer.abort(), endOfAnswerMs);
      }
      isRead = true;
      for (const event of stream.read(lines.end())) yield event;
    } catch (error) {
      if (stream?.isWholeDespite(error) !== true) {
        signal.throwIfAborted();
        throw exchange.toFault(error);
      }
    } finally {
      clearTimeout(endTimer);
      signal.removeEventListener('abort', leave);
      // Whatever state the connection is in; one whose answer was read to its end may serve again.
      if (!isRead) closer.abort();
    }
    for (const event of stream.end()) yield event;
  }

  return { chat };
}

/** What of a large piece lies behind its first slice, with everybody else between two slices. */
async function* readRest(piece: Uint8Array, stream: ChatStream, lines: ServerSentEventReader): AsyncGenerator<ModelEvent, void, undefined> {
  for (let start: number = limits.upstreamSliceBytes; start < piece.byteLength; start += limits.upstreamSliceBytes) {
    await nextTurn();
    for (const event of stream.read(lines.read(piece.subarray(start, start + limits.upstreamSliceBytes)))) yield event;
  }
}

function readWhole(exchange: OpenAiExchange, answer: JsonValue, reader: CompletionReader): ModelEvent[] {
  const events = reader.read(exchange.toPayload(answer) ?? {});
  if (!reader.hasMessages) throw exchange.invalid('answers without a message');
  return [...events, ...reader.finish()];
}

function namesOf(request: ModelRequest): ReadonlySet<string> {
  const callers = request.callerTools.flatMap((tool) => (isJsonObject(tool['function']) ? tool['function']['name'] : []));
  return new Set([...request.tools.map((tool) => tool.name), ...callers.filter((name) => typeof name === 'string')]);
}

/** What is no number above 1 asks for one choice; whether it may stand there is the backend's to say. */
function choicesOf(request: ModelRequest): number {
  const asked = Number(request.parameters['n'] ?? 1);
  return asked > 1 ? asked : 1;
}

/** With options of the caller's own among them the refusal may be about those, and is the caller's to read. */
function refusesOurStreamOptions(fault: GatewayError, request: ModelRequest): boolean {
  if (fault.status !== 400 && fault.status !== 422) return false;
  if (Object.keys(foreignStreamOptions(request.parameters['stream_options'])).length > 0) return false;
  return /stream_options|include_usage/.test(`${fault.param ?? ''} ${fault.message}`);
}

/** `GET {baseUrl}/models`. Capabilities are given only where the backend states them. */
export async function listOpenAiModels(connection: OpenAiConnection, send: SendOutbound, signal: AbortSignal): Promise<ModelRecord[]> {
  const firstByteTimeoutMs = Math.min(connection.firstByteTimeoutMs, limits.modelListTimeoutMs);
  const idleTimeoutMs = Math.min(connection.idleTimeoutMs, limits.modelListTimeoutMs);
  const exchange = new OpenAiExchange({ ...connection, firstByteTimeoutMs, idleTimeoutMs }, send);
  const { body } = await exchange.exchange('/models', signal);
  const records = toModelRecords(body);
  if (records === undefined) throw exchange.invalid('answers without a list of models');
  return records;
}

/** `POST {baseUrl}/embeddings`, passed through in both directions. */
export async function embed(
  connection: OpenAiConnection,
  send: SendOutbound,
  { body, signal }: { body: JsonObject; signal: AbortSignal },
): Promise<{ status: number; body: Uint8Array }> {
  return new OpenAiExchange(connection, send).exchangeBytes('/embeddings', signal, body);
}
