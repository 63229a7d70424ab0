import type { IncomingHttpHeaders } from 'node:http';
import type { RequestedDecision } from '../../core/user-input/approval.ts';
import type { ChatRequest } from '../../core/chat/chat.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { ErrorFormat } from '../errors/error-handler.ts';
import type { AnswerFormat } from './answers/answer-format.ts';

/** A wire format for chats over HTTP: from its request to a `ChatRequest`, and from the events of its run to an answer. */
export interface Dialect {
  /** Kept with suspended runs, so that the answer to a decision comes in the dialect of its run. Never changed. */
  readonly name: string;
  /** Its routes, which take POST requests. */
  readonly paths: readonly string[];
  /** @throws GatewayError `invalid_request`, with `param` set to the first field at fault */
  parse(body: unknown, headers: IncomingHttpHeaders): ParsedRequest;
  /** `options`: those of the request, perhaps read back from a store. `headers`: of the request that gets the answer. */
  format(options: JsonObject, headers: IncomingHttpHeaders): AnswerFormat;
  /** Absent: OpenAI's. */
  readonly errors?: ErrorFormat;
  /** Its answers show the calls that the gateway executes: those of a resumed run are shown again. */
  readonly showsCalls?: true;
  /** Its clients may send JSON under any content type, or under none. */
  readonly takesAnyType?: true;
  /** Whether the stream of a suspended run stays open for a decision that comes elsewhere. Absent: no. */
  waitsForDecision?(headers: IncomingHttpHeaders): boolean;
}

/** What a request asks for, and how its answer is to be written. */
export interface ParsedRequest {
  request: ChatRequest;
  /** For `Dialect.format`. */
  options: JsonObject;
  /** The answer goes to the websocket session that the request names. */
  answersToSession?: boolean;
  /** The running chat of this `chat_id` is to be cancelled first. */
  isInterrupt?: boolean;
  /** Decisions on calls of a suspended run, which goes on instead of a new one. */
  decisions?: readonly RequestedDecision[];
}
