import type { ChatEvent } from '../../core/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';

/** How a dialect writes the answer of a run, from the same events streamed and not. */
export interface AnswerFormat {
  stream: (head: AnswerHead) => StreamEncoder;
  collect: (head: AnswerHead) => AnswerCollector;
}

export interface AnswerHead {
  runId: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
}

export interface StreamEncoder {
  readonly contentType: string;
  /** What a client ignores, written where nothing else is for a while. */
  readonly keepAlive: string;
  /** Empty for events that this client does not see. */
  encode(event: ChatEvent): string;
  /** The last words of a whole stream. */
  end(): string;
  /** The last words of a stream that fails after its head. */
  failure(error: GatewayError): string;
}

export interface AnswerCollector {
  add(event: ChatEvent): void;
  /** What has been collected, as one body. */
  body(): JsonObject;
}
