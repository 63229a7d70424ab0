import type { ModelEvent } from '../../core/chat.ts';
import { OutboundError } from '../../core/errors.ts';
import { hasMoreValuesThan } from '../../shared/json-depth.ts';
import { limits } from '../../core/limits.ts';
import { parseJson } from './openai-exchange.ts';
import type { OpenAiExchange } from './openai-exchange.ts';
import type { CompletionReader } from './read-completion.ts';
import type { ServerSentEvent } from './read-server-sent-events.ts';

/** The events of one streamed answer, batch by batch: it ends with `[DONE]`, or with the stream where every choice has its finish reason. */
export class ChatStream {
  readonly #exchange: OpenAiExchange;
  readonly #reader: CompletionReader;
  #isDone = false;

  constructor(exchange: OpenAiExchange, reader: CompletionReader) {
    this.#exchange = exchange;
    this.#reader = reader;
  }

  /** `[DONE]` was read; what follows is not. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** What came before a failure is given first. @throws GatewayError for malformed JSON and for an error that the backend reports. */
  *read(batch: readonly ServerSentEvent[]): Generator<ModelEvent, void, undefined> {
    for (const part of batch) {
      if (this.#isDone) return;
      const data = part.data.trim();
      if (data === '[DONE]') {
        const last = this.#finish();
        this.#isDone = true;
        yield* last;
      } else if (data !== '') yield* this.#readChunk(part);
    }
  }

  /** What is still to be said once the stream has ended. @throws GatewayError `upstream_incomplete`, `upstream_invalid_response` */
  end(): ModelEvent[] {
    if (this.#isDone) return [];
    if (!this.#reader.isComplete) throw this.#exchange.incomplete();
    return this.#finish();
  }

  #finish(): ModelEvent[] {
    if (!this.#reader.hasMessages) throw this.#exchange.invalid('ends its stream without a message');
    return this.#reader.finish();
  }

  /** A connection that breaks after everything was said has taken nothing from the answer. */
  isWholeDespite(error: unknown): boolean {
    return this.#isDone || (error instanceof OutboundError && this.#reader.isComplete);
  }

  #readChunk(part: ServerSentEvent): ModelEvent[] {
    if (part.data.length > limits.smallBodyBytes && hasMoreValuesThan(part.data, limits.upstreamLineValues))
      throw this.#exchange.invalid(`sends a line of more than ${limits.upstreamLineValues} values`);
    const chunk = parseJson(part.data);
    if (chunk === undefined) {
      // The last line of a stream that was cut is no malformed answer.
      if (part.isUnfinished) return [];
      throw this.#exchange.invalid('sends malformed JSON');
    }
    if (part.name === 'error') throw this.#exchange.reported(chunk);
    const payload = this.#exchange.toPayload(chunk);
    return payload === undefined ? [] : this.#reader.read(payload);
  }
}
