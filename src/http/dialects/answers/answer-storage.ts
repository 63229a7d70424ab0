import type { Caller } from '../../../core/callers/caller.ts';
import type { ChatEvent } from '../../../core/chat/chat.ts';
import type { Release } from '../../../core/callers/rate-limit.ts';
import type { StartedRun } from '../../../runs/started-run.ts';
import type { Emit } from '../../../shared/async/emit.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import type { MaybePromise } from '../../../shared/async/maybe-promise.ts';
import type { AnswerFormat } from './answer-format.ts';
import type { ParsedRequest } from '../dialect.ts';

/** Stores the answers of one dialect, for later requests of their callers. */
export interface AnswerStorage {
  /** To be called with every request, before it is parsed. @throws GatewayError if something that the request refers to does not exist */
  prepare(body: unknown, caller: Caller): MaybePromise<PreparedChat>;
}

export interface PreparedChat {
  /** With everything that the request refers to. */
  body: unknown;
  /** Translates a path in this body, or a message that begins with one, to the body that was sent. */
  explain: (text: string) => string;
  /** Absent: the answer is not stored. */
  store?: (parsed: ParsedRequest) => StoredAnswer;
}

/** The answer to one request, which is stored. */
export interface StoredAnswer {
  /** Gives the answer the ids under which it is stored. */
  format: AnswerFormat;
  /** The run, whose answer is stored before its end is sent. */
  storing(started: StartedRun): StartedRun;
  /** Stores a whole answer. Never rejects. Returns a warning for its client if it could not be stored. */
  save(answer: JsonObject): Promise<ChatEvent | undefined>;
  /** Present for a request whose run continues without its client: only the controller ends it. `release` is called at its end. */
  runInBackground?(started: StartedRun, how: { controller: AbortController; release: Release }): Promise<BackgroundReply>;
}

/** The answer for the client of a run in the background. */
interface BackgroundReply {
  /** The answer as it has begun. */
  begun: JsonObject;
  /** Emits the encoded events until the end of the run; absent if the request asked for no stream. */
  follow?: (emit: Emit<string>, signal: AbortSignal) => Promise<void>;
}
