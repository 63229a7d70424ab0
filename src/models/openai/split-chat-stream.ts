import type { ModelEvent } from '../../core/chat/chat.ts';
import { OutboundError } from '../../core/errors.ts';
import { hasMoreValuesThan } from '../../shared/json/json-depth.ts';
import { limits } from '../../core/limits.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';
import type { AnswerStream } from '../answers/answer-stream.ts';
import type { BackendClient } from '../transport/backend-client.ts';
import type { CompletionReader } from './chunks-to-events.ts';
import { endsEvent, RepeatedForm } from './repeated-form.ts';
import { ServerSentEventReader, type ServerSentEvent } from '../transport/read-server-sent-events.ts';

/** A streamed answer. It ends with `[DONE]`, or with the stream if every choice has its finish reason. */
export class ChatStream implements AnswerStream {
  /** `[DONE]` was read; the rest is ignored. */
  isDone = false;
  fault: unknown;
  readonly #client: BackendClient;
  readonly #reader: CompletionReader;
  readonly #lines = new ServerSentEventReader(limits.upstreamLineBytes);
  readonly #form = new RepeatedForm((payload) => (isJsonObject(payload) ? this.#reader.textAloneIn(payload) : undefined));
  /** Nothing of an event has been read that has not ended. */
  #isBetweenEvents = true;

  constructor(client: BackendClient, reader: CompletionReader) {
    this.#client = client;
    this.#reader = reader;
  }

  read(piece: Uint8Array): ModelEvent[] {
    const events: ModelEvent[] = [];
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const start = this.#isBetweenEvents ? this.#readRepeated(bytes, events) : 0;
    if (start < bytes.length && this.fault === undefined) this.#readOthers(bytes.subarray(start), events);
    return events;
  }

  /** Reads chunks in the form of an earlier one, and returns where others begin. */
  #readRepeated(piece: Buffer, events: ModelEvent[]): number {
    let start = 0;
    try {
      for (let chunk = this.#form.readAt(piece, 0); chunk !== undefined; chunk = this.#form.readAt(piece, start)) {
        start = chunk.end;
        this.#reader.readText(chunk.text, events);
      }
    } catch (error) {
      this.fault = error;
    }
    return start;
  }

  #readOthers(piece: Buffer, events: ModelEvent[]): void {
    const wasBetweenEvents = this.#isBetweenEvents;
    this.#isBetweenEvents = endsEvent(piece);
    events.push(...this.#readBatch(this.#lines.read(piece)));
    if (this.isDone) return;
    if (this.#lines.isTooLong) this.fault ??= this.#client.lineTooLong();
    if (this.#isBetweenEvents && this.fault === undefined) this.#form.note(piece, wasBetweenEvents);
  }

  end(failure: unknown): ModelEvent[] {
    // A connection that breaks after the last finish reason has lost nothing of the answer.
    if (failure !== undefined && !(failure instanceof OutboundError && this.#reader.isComplete)) {
      this.fault = failure;
      return [];
    }
    const events = this.#readBatch(failure === undefined ? this.#lines.end() : []);
    if (this.isDone || this.fault !== undefined) return events;
    if (this.#reader.isComplete) return [...events, ...this.#finish()];
    this.fault = this.#client.incomplete();
    return events;
  }

  #readBatch(batch: readonly ServerSentEvent[]): ModelEvent[] {
    const events: ModelEvent[] = [];
    try {
      for (const part of batch) {
        const data = part.data.trim();
        if (data === '[DONE]') {
          events.push(...this.#finish());
          this.isDone = true;
          break;
        }
        if (data !== '') events.push(...this.#readChunk(part));
      }
    } catch (error) {
      this.fault = error;
    }
    return events;
  }

  /** @throws GatewayError `upstream_invalid_response` */
  #finish(): ModelEvent[] {
    if (!this.#reader.hasMessages) throw this.#client.invalid('ends its stream without a message');
    return this.#reader.finish();
  }

  #readChunk(part: ServerSentEvent): ModelEvent[] {
    if (part.data.length > limits.smallBodyBytes && hasMoreValuesThan(part.data, limits.upstreamLineValues))
      throw this.#client.invalid(`sends a line of more than ${limits.upstreamLineValues} values`);
    const chunk = parseJson(part.data);
    if (chunk === undefined) {
      // The last line of an interrupted stream does not count as malformed.
      if (part.isUnfinished) return [];
      throw this.#client.invalid('sends malformed JSON');
    }
    if (part.name === 'error') throw this.#client.reported(chunk);
    const payload = toPayload(chunk, this.#client);
    return payload === undefined ? [] : this.#reader.read(payload, part.data.length);
  }
}

/**
 * The object of a chunk or response; undefined if there is none. @throws GatewayError for an error that is reported in it, at the top level or in a
 * choice
 */
export function toPayload(value: JsonValue, client: BackendClient): JsonObject | undefined {
  const payload = Array.isArray(value) ? value[0] : value;
  if (!isJsonObject(payload)) return undefined;
  if (isReport(payload['error']) || payload['object'] === 'error') throw client.reported(payload);
  const failed = Array.isArray(payload['choices'])
    ? payload['choices'].find((choice) => isJsonObject(choice) && isReport(choice['error']))
    : undefined;
  if (failed !== undefined) throw client.reported(failed);
  return payload;
}

function isReport(error: JsonValue | undefined): boolean {
  return isJsonObject(error) || (typeof error === 'string' && error !== '');
}
