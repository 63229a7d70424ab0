import type { ChatEvent } from '../../../core/chat/chat.ts';
import type { ThoughtSealer } from '../../../core/chat/thought.ts';
import type { GatewayError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';

/** Serializes the events of a run into an answer, streamed or not. */
export interface AnswerFormat {
  stream: (head: AnswerHead) => StreamEncoder;
  collect: (head: AnswerHead) => AnswerCollector;
}

export interface AnswerHead {
  runId: string;
  /** The id of the HTTP request; absent for an answer that is made for a store. */
  requestId?: string;
  /** Seconds since 1970. */
  created: number;
  /** Milliseconds since 1970. */
  now: () => number;
  model: string;
  /** Absent where nothing that a model wants back can be in the answer. */
  thoughts?: Pick<ThoughtSealer, 'seal'> | undefined;
}

export interface StreamEncoder {
  readonly contentType: string;
  /** Written when nothing else is for a while; clients ignore it. */
  keepAlive(): string;
  /** Empty for events that are not part of the answer. */
  encode(event: ChatEvent): string;
  /** Written after events that were emitted together; absent if the format needs nothing there. */
  afterBatch?(): string;
  /** The end of a complete stream. */
  end(): string;
  /** The end of a stream that fails after its headers were sent. */
  failure(error: GatewayError): string;
}

export interface AnswerCollector {
  add(event: ChatEvent): void;
  /** The collected events as one body. */
  body(): JsonObject;
}
