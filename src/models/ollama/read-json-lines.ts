import type { ModelEvent } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import { hasMoreValuesThan } from '../../shared/json/json-depth.ts';
import { isDeeperThan, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { AnswerStream } from '../answers/answer-stream.ts';
import type { BackendClient } from '../transport/backend-client.ts';
import { messageInOwnField } from '../transport/unreadable-call.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

/** A streamed answer as JSON lines; the line with `done` is the last one. */
export class JsonLines implements AnswerStream {
  isDone = false;
  fault: unknown;
  readonly #client: BackendClient;
  readonly #toEvents: (line: JsonObject) => ModelEvent[];
  readonly #decoder = new TextDecoder();
  /** The incomplete last line. */
  #partialLine = '';

  constructor(client: BackendClient, toEvents: (line: JsonObject) => ModelEvent[]) {
    this.#client = client;
    this.#toEvents = toEvents;
  }

  read(piece: Uint8Array): ModelEvent[] {
    return this.#readText(this.#decoder.decode(piece, { stream: true }));
  }

  end(failure: unknown): ModelEvent[] {
    const events = failure === undefined ? this.#readText(`${this.#decoder.decode()}\n`) : [];
    if (!this.isDone) this.fault ??= failure ?? this.#client.incomplete();
    return events;
  }

  #readText(text: string): ModelEvent[] {
    // A long line arrives in many chunks and is split only once it is complete.
    const lines = text.includes('\n') ? (this.#partialLine + text).split('\n') : [this.#partialLine + text];
    this.#partialLine = lines.pop() ?? '';
    const events: ModelEvent[] = [];
    try {
      for (const line of lines) {
        if (line.trim() === '') continue;
        this.#requireShort(line);
        const value = this.#parse(line);
        events.push(...this.#toEvents(value));
        this.isDone = value['done'] === true;
        if (this.isDone) return events;
      }
      this.#requireShort(this.#partialLine);
    } catch (error) {
      this.fault = error;
    }
    return events;
  }

  #requireShort(line: string): void {
    if (line.length > limits.upstreamLineBytes) throw this.#client.lineTooLong();
  }

  #parse(line: string): JsonObject {
    if (line.length > limits.smallBodyBytes && hasMoreValuesThan(line, limits.upstreamLineValues))
      throw this.#client.invalid(`sent a line of more than ${limits.upstreamLineValues} values`);
    let value: JsonValue;
    try {
      value = parseExactly(line) as JsonValue;
    } catch {
      throw this.#client.invalid('sent something that is not JSON');
    }
    return requireAnswer(value, this.#client);
  }
}

/** @throws GatewayError `upstream_invalid_response` for anything but an object; the reported error for `{"error": "…"}` */
export function requireAnswer(value: JsonValue, client: BackendClient): JsonObject {
  if (!isJsonObject(value) || isDeeperThan(value, limits.jsonDepth)) throw client.invalid('sent JSON that is not an answer');
  const error = ownValue(value, 'error');
  if ((error === undefined || error === null) && messageInOwnField(value) === undefined) return value;
  throw client.reported(value);
}
