import type { ApprovalAnswer, PendingApproval } from './approval.ts';
import type { ChatRequest, Source } from './chat.ts';
import type { JsonObject } from '../shared/json.ts';

/** A call that waits for a decision which comes in another request. */
export interface WaitingCall {
  /** The model's id, cut where it is too long for a URL, and numbered where several calls of one turn would have the same. */
  id: string;
  /** The model's id as it is. */
  callId: string;
  /** The offered name. */
  tool: string;
  /** The name under which it is cited. */
  label: string;
  args: JsonObject;
  /** The function's schema, for arguments that a human changes. */
  parameters: JsonObject;
  /** Of the function, as the `ApprovalGate` has given it. */
  definition: string;
  /** The calls of presets around it, the outermost first, each with its index among the calls of its turn; absent where there are none. */
  within?: { index: number; callId: string }[];
}

/** A preset that was called as a tool and waits amid its work: what it goes on with. Plain JSON. */
export interface InnerRun {
  request: ChatRequest;
  loop: JsonObject;
  /** What it has said so far. */
  text: string;
}

/** Why a call of a preset waits: calls within it do. */
export interface InnerWait {
  calls: WaitingCall[];
  run: InnerRun;
}

/** What the call of a preset goes on with. */
export interface ResumedInner {
  run: InnerRun;
  /** On calls within it, as it knows them. */
  decided: readonly DecidedCall[];
}

/** A run that waits, with all that it needs to go on, perhaps in another process. Plain JSON, and secret: the request may hold keys. */
export interface WaitingRun {
  id: string;
  callerId: string;
  /** Random, new for each time that a run begins to wait: a token of an earlier time is worthless. */
  waitId: string;
  /** Milliseconds since 1970. */
  expires: number;
  /** As the request named it, whatever preset it was handed off to. */
  model: string;
  request: ChatRequest;
  /** At least one. */
  calls: WaitingCall[];
  /** What the tools gave so far, for the answer's sources. */
  sources: Source[];
  /** Its checkpoint, which the loop alone reads. */
  loop: JsonObject;
  /**
   * Present where all calls are decided, the run went on and failed for another reason: whoever sends one of these decisions again goes on with
   * it. `left` are those that were not used yet.
   */
  again?: { decided: DecidedCall[]; left: DecidedCall[] };
}

export interface DecidedCall {
  call: WaitingCall;
  answer: ApprovalAnswer;
}

/** `closed`: it was resumed or cancelled, or all its calls are decided. */
export type FoundWait = { callerId: string } & ({ type: 'open'; run: WaitingRun } | { type: 'closed' });

export type DecisionEffect =
  /** Others are open: their ids. */
  | { type: 'noted'; waiting: string[] }
  /** The last one. The run is closed with it, so that nobody else goes on with it. */
  | { type: 'complete'; decided: DecidedCall[] }
  /** This call was decided before, or the run does not wait for it any more. Nothing was changed. */
  | { type: 'closed' };

/** Of the runs that are open: how many of one caller, and the size of all of them as they are stored. `maxRunCharacters`: of this one as JSON. */
export interface WaitingBounds {
  maxRunCharacters: number;
  maxOfCaller: number;
  maxCharacters: number;
}

/**
 * Whether a run was stored. Beyond the size of all, a caller who has more than this one loses the oldest ones, which are closed: their ids are
 * `givenUp`. The caller who has the most, or too many, is refused instead, without an effect; so is a run that is too large by itself.
 */
export type KeptWait = { type: 'kept'; givenUp: string[] } | { type: 'refused' } | { type: 'too_large' };

/**
 * Stores runs that wait, encrypted.
 * @throws GatewayError `storage_unavailable`
 */
export interface WaitingRunStore {
  /** Adds a run, or opens the one of this id anew. Resolves when it is durable. */
  keep(run: WaitingRun, bounds: WaitingBounds): Promise<KeptWait>;
  /** Undefined also for one that cannot be read with the present secret. */
  find(id: string): Promise<FoundWait | undefined>;
  /** Stores a decision, at most one for each call, also where several come at the same time. */
  decide(call: { id: string; waitId: string; callId: string }, answer: ApprovalAnswer): Promise<DecisionEffect>;
  /** Nobody can go on with it any more; false when it is not open. */
  close(id: string): Promise<boolean>;
  /** Ids of those that are open and have not expired before this time. */
  openIds(time: number): Promise<string[]>;
  /** Forgets those that expired before this time. */
  prune(time: number): Promise<void>;
}

/** How a run waits whose caller learns of it by the answer alone: it is stored, ends, and goes on in another request. */
export interface RunWait {
  /** Present in a run that goes on. */
  readonly resumed?: ResumedRun;
  /** A hand-off changes what is answered from here on; the request of the run until then. */
  answers(request: ChatRequest): void;
  /** Stores the run before any token goes out. @throws GatewayError `overloaded`, `storage_unavailable` */
  suspend(calls: readonly WaitingCall[], loop: JsonObject): Promise<PendingApproval>;
  /** Keeps a run that has failed after its calls were decided, so that the same decision goes on with it; false where there is nothing to keep. */
  keepForRetry(): Promise<boolean>;
  /** The run was cancelled while it was stored: nobody can go on with it any more. Never rejects. */
  abandon(): Promise<void>;
  /** Whether the run is stored, by `suspend` or `keepForRetry`. */
  readonly isSuspended: boolean;
}

export interface ResumedRun {
  /** What the run was suspended with, given once: what comes after a hand-off begins anew. */
  takeCheckpoint(): { loop: JsonObject; sources: readonly Source[] } | undefined;
  /** The decision on a call of this id with these arguments; each is given once, and to no other call. */
  takeDecision(callId: string, args: JsonObject): DecidedCall | undefined;
  /** The decisions on calls within the preset that was called at this index of the turn, as the preset knows them; given once. */
  takeInnerDecisions(index: number): DecidedCall[];
  /** What the run goes on with from now on, should it fail; undefined amid calls, which must not run again. */
  setCheckpoint(loop: (() => JsonObject) | undefined): void;
}

/** The port by which runs that may wait are begun and resumed. */
export interface RunWaits {
  begin(run: { id: string; callerId: string; request: ChatRequest; sources: readonly Source[] }): RunWait;
  resume(run: WaitingRun, decided: readonly DecidedCall[], sources: readonly Source[]): RunWait;
}
