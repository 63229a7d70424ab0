import type { ModelEvent } from '../../core/chat/chat.ts';
import { OutboundError } from '../../core/errors.ts';
import { hasMoreValuesThan } from '../../shared/json/json-depth.ts';
import { limits } from '../../core/limits.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';
import type { AnswerStream } from '../answers/answer-stream.ts';
import type { BackendClient } from '../transport/backend-client.ts';
import { BareChunks, isBareJson } from './bare-chunks.ts';
import type { CompletionReader } from './chunks-to-events.ts';
import { endsEvent, RepeatedForm } from './repeated-form.ts';
import { ServerSentEventReader, type ServerSentEvent } from '../transport/read-server-sent-events.ts';

/** A streamed answer. It ends with `[DONE]`, or with the stream if every choice has its finish reason. Some servers send JSON without event fields. */
export class ChatStream implements AnswerStream {
  /** `[DONE]` was read; the rest is ignored. */
  isDone = false;
  fault: unknown;
  readonly #client: BackendClient;
  readonly #newReader: (isWhole: boolean) => CompletionReader;
  #reader: CompletionReader;
  readonly #lines = new ServerSentEventReader(limits.upstreamLineBytes);
  readonly #form = new RepeatedForm((payload) => (isJsonObject(payload) ? this.#reader.textAloneIn(payload) : undefined));
  /** Set if the answer has no event fields. */
  #bare: BareChunks | undefined;
  #hasBegun = false;
  /** Nothing of an event has been read that has not ended. */
  #isBetweenEvents = true;

  constructor(client: BackendClient, newReader: (isWhole: boolean) => CompletionReader) {
    this.#client = client;
    this.#newReader = newReader;
    this.#reader = newReader(false);
  }

  read(piece: Uint8Array): ModelEvent[] {
    if (!this.#hasBegun) this.#begin(piece);
    if (this.#bare !== undefined) return this.#readBare(this.#bare, this.#bare.read(piece));
    const events: ModelEvent[] = [];
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const start = this.#isBetweenEvents ? this.#readRepeated(bytes, events) : 0;
    if (start < bytes.length && this.fault === undefined) this.#readOthers(bytes.subarray(start), events);
    return events;
  }

  #begin(piece: Uint8Array): void {
    const isBare = isBareJson(piece);
    this.#hasBegun = isBare !== undefined;
    if (isBare === true) this.#bare = new BareChunks((text) => parseJson(text) !== undefined);
  }

  #readBare(bare: BareChunks, texts: readonly string[]): ModelEvent[] {
    const events = this.#readBatch(texts.map((data) => ({ name: undefined, data, isUnfinished: false })));
    if (bare.isTooLong && !this.isDone) this.fault ??= this.#client.lineTooLong();
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
    const events = failure === undefined ? this.#readEnd() : [];
    if (this.isDone || this.fault !== undefined) return events;
    if (this.#reader.isComplete) return [...events, ...this.#finish()];
    this.fault = this.#client.incomplete();
    return events;
  }

  #readEnd(): ModelEvent[] {
    return this.#bare === undefined ? this.#readBatch(this.#lines.end()) : this.#readBare(this.#bare, this.#bare.end());
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
      if (part.name === 'error' && !part.isUnfinished) throw this.#client.reported({ error: part.data });
      // The last line of an interrupted stream does not count as malformed.
      if (part.isUnfinished) return [];
      throw this.#client.invalid('sends malformed JSON');
    }
    if (part.name === 'error') throw this.#client.reported(chunk);
    if (this.#bare !== undefined && Array.isArray(chunk))
      return chunk.flatMap((one) => this.#readPayload(one, part.data.length / chunk.length));
    return this.#readPayload(chunk, part.data.length);
  }

  /** `characters`: the size of the chunk as it arrived. */
  #readPayload(chunk: JsonValue, characters: number): ModelEvent[] {
    const payload = toPayload(chunk, this.#client);
    if (payload === undefined) return [];
    if (this.#bare !== undefined && !this.#reader.hasMessages && isWhole(payload)) this.#reader = this.#newReader(true);
    return this.#reader.read(payload, characters);
  }
}

/**
 * The object of a chunk or response; undefined if there is none. @throws GatewayError for an error that is reported in it, at the top level or in a
 * choice
 */
export function toPayload(value: JsonValue, client: BackendClient): JsonObject | undefined {
  const payload = Array.isArray(value) ? value[0] : value;
  if (!isJsonObject(payload)) return undefined;
  const { error, object, choices } = payload;
  if ((error !== undefined && isReport(error)) || object === 'error') throw client.reported(payload);
  const failed = Array.isArray(choices)
    ? choices.find((choice) => isJsonObject(choice) && choice['error'] !== undefined && isReport(choice['error']))
    : undefined;
  if (failed !== undefined) throw client.reported(failed);
  return payload;
}

/** A whole answer, not a chunk of a streamed one. */
function isWhole({ choices }: JsonObject): boolean {
  return Array.isArray(choices) && choices.some((choice) => isJsonObject(choice) && isJsonObject(choice['message']));
}

function isReport(error: JsonValue): boolean {
  return isJsonObject(error) || (typeof error === 'string' && error !== '');
}
