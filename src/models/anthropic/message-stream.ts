import type { ModelEvent } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import { hasMoreValuesThan } from '../../shared/json/json-depth.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';
import type { AnswerStream } from '../answers/answer-stream.ts';
import { ServerSentEventReader, type ServerSentEvent } from '../transport/read-server-sent-events.ts';
import type { BackendClient } from '../transport/backend-client.ts';
import type { MessageReader } from './message-reader.ts';

/** A streamed message. Only `message_stop` ends it: without it nothing is known to be whole, and no call is emitted. */
export class MessageStream implements AnswerStream {
  isDone = false;
  fault: unknown;
  readonly #client: BackendClient;
  readonly #reader: MessageReader;
  readonly #lines = new ServerSentEventReader(limits.upstreamLineBytes);

  constructor(client: BackendClient, reader: MessageReader) {
    this.#client = client;
    this.#reader = reader;
  }

  read(piece: Uint8Array): ModelEvent[] {
    const events = this.#readBatch(this.#lines.read(piece));
    if (!this.isDone && this.#lines.isTooLong) this.fault ??= this.#client.lineTooLong();
    return events;
  }

  end(failure: unknown): ModelEvent[] {
    const events = failure === undefined ? this.#readBatch(this.#lines.end()) : [];
    if (!this.isDone) this.fault ??= failure ?? this.#client.incomplete();
    return events;
  }

  #readBatch(batch: readonly ServerSentEvent[]): ModelEvent[] {
    const events: ModelEvent[] = [];
    try {
      for (const part of batch) {
        if (part.data.trim() !== '') this.#readEvent(part, events);
        if (this.isDone) break;
      }
    } catch (error) {
      this.fault = error;
    }
    return events;
  }

  #readEvent(part: ServerSentEvent, events: ModelEvent[]): void {
    if (part.data.length > limits.smallBodyBytes && hasMoreValuesThan(part.data, limits.upstreamLineValues))
      throw this.#client.invalid(`sends a line of more than ${limits.upstreamLineValues} values`);
    const event = parseJson(part.data);
    if (event === undefined) {
      // The last line of an interrupted stream does not count as malformed.
      if (part.isUnfinished) return;
      throw this.#client.invalid('sends malformed JSON');
    }
    const payload = requireMessage(event, this.#client);
    if (part.name === 'error') throw this.#client.reported(event);
    if (payload['type'] === 'message_stop') {
      if (!this.#reader.hasMessage) throw this.#client.invalid('ends its stream without a message');
      events.push(...this.#reader.finish());
      this.isDone = true;
    } else this.#reader.read(payload, events);
  }
}

/** @throws GatewayError `upstream_invalid_response` for anything but an object; the reported error for `{"type": "error", "error": {…}}` */
export function requireMessage(value: JsonValue, client: BackendClient): JsonObject {
  if (!isJsonObject(value)) throw client.invalid('sends JSON that is not an answer');
  if (value['type'] === 'error' || isJsonObject(value['error'])) throw client.reported(value);
  return value;
}
