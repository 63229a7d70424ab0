import type { ModelEvent } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import { hasMoreValuesThan } from '../../shared/json/json-depth.ts';
import { isJsonObject } from '../../shared/json/json.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';
import type { AnswerStream } from '../answers/answer-stream.ts';
import type { BackendClient } from '../transport/backend-client.ts';
import { ServerSentEventReader, type ServerSentEvent } from '../transport/read-server-sent-events.ts';
import type { ResponseReader } from './response-reader.ts';
import { withoutMembers } from './without-members.ts';

/** The last event contains the complete response and repeats the request, so the limit is that of a response that is not streamed. */
const responseLineBytes = 16 * 1024 * 1024;

/** Members of a response that repeat its request. */
const echoed = new Set(['instructions', 'input', 'tools']);
/** The last event repeats all output items. */
const answered = new Set(['output']);
/** `{"response": {…}}`: the members of the response are the second level. */
const depthOfResponse = 2;

/** A streamed response. Without its last event (`response.completed` or `response.incomplete`) it is incomplete. */
export class ResponseStream implements AnswerStream {
  fault: unknown;
  readonly #client: BackendClient;
  readonly #reader: ResponseReader;
  readonly #lines = new ServerSentEventReader(responseLineBytes);

  constructor(client: BackendClient, reader: ResponseReader) {
    this.#client = client;
    this.#reader = reader;
  }

  get isDone(): boolean {
    return this.#reader.isComplete;
  }

  read(piece: Uint8Array): ModelEvent[] {
    const events = this.#readBatch(this.#lines.read(piece));
    if (this.#lines.isTooLong && !this.isDone) this.fault ??= this.#client.lineTooLong(responseLineBytes);
    return events;
  }

  end(failure: unknown): ModelEvent[] {
    if (failure !== undefined) {
      this.fault = failure;
      return [];
    }
    const events = this.#readBatch(this.#lines.end());
    if (!this.isDone) this.fault ??= this.#client.incomplete();
    return events;
  }

  #readBatch(batch: readonly ServerSentEvent[]): ModelEvent[] {
    const events: ModelEvent[] = [];
    try {
      for (const part of batch) {
        events.push(...this.#readEvent(part));
        if (this.isDone) break;
      }
    } catch (error) {
      this.fault = error;
    }
    return events;
  }

  /** @throws GatewayError `upstream_invalid_response`, and an error that the event reports */
  #readEvent({ name, data, isUnfinished }: ServerSentEvent): ModelEvent[] {
    const text = data.trim();
    if (text === '' || text === '[DONE]') return [];
    const event = parseJson(this.#shortened(text));
    // The last line of an interrupted stream does not count as malformed.
    if (event === undefined && isUnfinished) return [];
    if (event === undefined) throw this.#client.invalid('sends malformed JSON');
    if (!isJsonObject(event)) return [];
    return this.#reader.read(event['type'] === undefined && name !== undefined ? { ...event, type: name } : event);
  }

  #shortened(text: string): string {
    if (text.length <= limits.smallBodyBytes) return text;
    const short = withoutMembers(text, echoed, depthOfResponse);
    if (!hasMoreValuesThan(short, limits.upstreamLineValues)) return short;
    const shortest = this.#reader.hasItems ? withoutMembers(short, answered, depthOfResponse) : short;
    if (!hasMoreValuesThan(shortest, limits.upstreamLineValues)) return shortest;
    throw this.#client.invalid(`sends a line of more than ${limits.upstreamLineValues} values`);
  }
}
