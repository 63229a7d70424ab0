import type { ApprovalAnswer, PendingApproval } from '../user-input/approval.ts';
import type { Caller } from '../callers/caller.ts';
import type { ChatMessage, ChatRequest, Source } from '../chat/chat.ts';
import type { ConnectingCall, PendingConnect } from '../user-input/connect.ts';
import type { JsonObject } from '../../shared/json/json.ts';

/** A call that waits for a decision in another request. */
export interface WaitingCall {
  /** The model's id of the call, truncated if it is too long for a URL, with a number appended if several calls of one turn would have the same id. */
  id: string;
  /** The model's id, unchanged. */
  callId: string;
  /** The offered name. */
  tool: string;
  /** The name under which it is cited. */
  label: string;
  args: JsonObject;
  /** Present if a hook made `args` of what an approver had edited: the call starts again with `to` instead of the model's arguments `from`. */
  edited?: { from: JsonObject; to: JsonObject };
  /** The function's schema, for arguments that a human changes. */
  parameters: JsonObject;
  /** The definition of the function, from `ApprovalDecision`. */
  definition: string;
  /** The server, endpoint and address of the tool, for the person who decides. */
  server?: string;
  endpoint?: string;
  /** `endpoint` with the arguments filled in (`Tool.addressOf`). */
  address?: string;
  /** The enclosing calls of presets, outermost first, each with its index among the calls of its turn; absent if there are none. */
  within?: { index: number; callId: string }[];
}

/** The state of a suspended preset that was called as a tool. Plain JSON. */
export interface InnerRun {
  request: ChatRequest;
  loop: JsonObject;
  /** The text of its answer so far. */
  text: string;
  /** As in `WaitingRun`. */
  decided?: DecidedCall[];
}

/** The calls that a suspended run waits for: all of them for an approval, or all of them for their caller to connect to a tool server. */
export type AwaitedCalls = AwaitedApprovals | AwaitedConnections;

interface AwaitedApprovals {
  /** At least one. */
  calls: WaitingCall[];
  connect?: never;
}

interface AwaitedConnections {
  calls: [];
  /** At least one. */
  connect: ConnectingCall[];
}

/** The waiting calls within a call of a preset, and the state of that preset. */
export type InnerSuspension = AwaitedCalls & { run: InnerRun };

/** What resumes the call of a preset. */
export interface ResumedInner {
  run: InnerRun;
  /** Decisions on calls within it, with the ids that the preset uses. */
  decided: readonly DecidedCall[];
}

/** A suspended run, with everything needed to resume it, perhaps in another process. Plain JSON, and secret: the request may contain keys. */
export type WaitingRun = RunAwaitingApproval | RunAwaitingConnection;
export type RunAwaitingApproval = SuspendedState & AwaitedApprovals;
export type RunAwaitingConnection = SuspendedState & AwaitedConnections;

interface SuspendedState {
  id: string;
  callerId: string;
  /** Random, new for each suspension, so that tokens of an earlier one are invalid. */
  waitId: string;
  /** Milliseconds since 1970. */
  expires: number;
  /** As the request named it, whatever preset it was handed off to. */
  model: string;
  request: ChatRequest;
  /** Decisions on calls that were not used before the run was suspended again. */
  decided?: DecidedCall[];
  /** Sources so far, for the answer. */
  sources: Source[];
  /** The checkpoint, which only the loop reads. */
  loop: JsonObject;
  /** `RunContext.transcript` at the suspension; absent in runs that an earlier release has stored. */
  transcript?: ChatMessage[];
  /**
   * Present if all calls were decided, but the resumed run failed for another reason: sending one of these decisions again resumes it. `left`: the
   * decisions that were not used yet.
   */
  again?: { decided: DecidedCall[]; left: DecidedCall[] };
}

/**
 * A run that failed by its backend's fault behind a call that writes, until its request comes again. Plain JSON, and as secret as a suspended run. Its id
 * is in the store only, and begins with `failedRunPrefix`.
 */
export type FailedRun = SuspendedState & { calls: []; connect?: never; failed: Failure };

/** Marks a failed run in the store; no id of a run contains it. */
export const failedRunPrefix = 'failed:';

interface Failure {
  /** Of the request that has to come again, from `RepeatKeys`. */
  key: string;
  /** The names under which the calls that have run are cited. */
  ran: string[];
  /** Calls were tasks of their servers when it was stored. It did not fail then: a restart may have ended it. */
  hasTasks?: true;
}

export interface DecidedCall {
  call: WaitingCall;
  answer: ApprovalAnswer;
}

/** A suspension without what is encrypted. `isOpen` is false if the run was resumed or cancelled, or all its calls are decided. */
export interface WaitHead {
  callerId: string;
  waitId: string;
  /** Milliseconds since 1970. */
  expires: number;
  isOpen: boolean;
}

/** `answers`: the decisions so far, by the id of the call. `closed`: as `isOpen` of `WaitHead`. */
type FoundWait = { callerId: string } & (
  | { type: 'open'; run: WaitingRun; answers: ReadonlyMap<string, ApprovalAnswer> }
  | { type: 'closed' }
);

export type DecisionEffect =
  /** Recorded, while other calls wait: their ids. */
  | { type: 'recorded'; waiting: string[] }
  /** The last decision. The run is now closed, so that nobody else can resume it. */
  | { type: 'complete'; decided: DecidedCall[] }
  /** This call was decided before, or the run no longer waits for it. Nothing was changed. */
  | { type: 'closed' };

/** `maxRunCharacters`: of one run, as JSON. `maxOfCaller`: open runs of one caller. `maxCharacters`: of all open runs, as they are stored. */
export interface WaitingBounds {
  maxRunCharacters: number;
  maxOfCaller: number;
  maxCharacters: number;
}

/**
 * Whether a run was stored. If the store is full, the oldest runs of a caller who uses more space than this one are closed: `givenUp` are their ids.
 * If this caller uses the most, or has too many runs, the run is refused; so is a run that is too large.
 */
export type SaveResult = { type: 'saved'; givenUp: string[] } | { type: 'refused' } | { type: 'too_large' };

/**
 * Stores suspended runs, encrypted, and failed ones beside them, which only `claimFailed` finds.
 * @throws GatewayError `storage_unavailable`
 */
export interface WaitingRunStore {
  /** Adds a run, or reopens the one of this id. Resolves when it is durable. A failed run is refused if there is no room: no other makes room for it. */
  save(run: WaitingRun | FailedRun, bounds: WaitingBounds): Promise<SaveResult>;
  /** Cheap, as nothing is decrypted. Undefined if no run of that id was suspended in the last day. */
  findHead(id: string): Promise<WaitHead | undefined>;
  /** Undefined also for a run that cannot be decrypted with the current secret. */
  find(id: string): Promise<FoundWait | undefined>;
  /** Stores a decision, at most one for each call, even with concurrent requests. */
  decide(call: { id: string; waitId: string; callId: string }, answer: ApprovalAnswer): Promise<DecisionEffect>;
  /** Closes a run, so that it cannot be resumed; false when it is not open. `waitId`: only if it is still open in this suspension. */
  close(id: string, waitId?: string): Promise<boolean>;
  /** Removes and returns the oldest failed run of this key that has not expired, so that only one request can claim it. */
  claimFailed(key: string, time: number): Promise<FailedRun | undefined>;
  /** The callers who have failed runs that have not expired at this time, and when the last of these expires. */
  callersWithFailed(time: number): Promise<{ callerId: string; expires: number }[]>;
  /** Ids of open runs that have not expired at this time. */
  openIds(time: number): Promise<string[]>;
  /** Ids of this caller's open runs of a conversation (`conversationOf`). */
  openIdsOf(callerId: string, conversation: string): Promise<string[]>;
  /** Deletes runs that expired before this time. */
  prune(time: number): Promise<void>;
  /** For a key, also those of its people. */
  deleteAllOf(callerId: string): Promise<void>;
}

/** The messages of a round. `open`: the indexes of results that stand for calls that have not run. `said`: what the user is told. */
export interface SuspendedRound {
  messages: ChatMessage[];
  open: number[];
  said: string;
}

/** Suspends a run whose caller can be asked for approvals, or to connect, only in its answer: it is stored, its answer ends, and another request resumes it. */
export interface RunSuspension {
  /** Present in a resumed run. */
  readonly resumed?: ResumedRun;
  /** To be called after a hand-off, with the request that is answered from then on. */
  answers(request: ChatRequest): void;
  /**
   * Stores the run before any token is sent. `round`: the messages of the round as far as it has come, for later requests of the chat.
   * @throws GatewayError `overloaded`, `storage_unavailable`
   */
  suspend(calls: readonly WaitingCall[], loop: JsonObject, round: SuspendedRound): Promise<PendingApproval>;
  /** The same until the caller has connected to tool servers. Unused decisions of the resumed run stay stored for these calls. */
  suspendToConnect(calls: readonly ConnectingCall[], loop: JsonObject, round: SuspendedRound): Promise<PendingConnect>;
  /** To be called at the end of a resumed run: stores what it has done, for later requests of the chat. Never rejects. */
  settle(outcome: 'answered' | 'cancelled' | 'failed'): Promise<void>;
  /** Stores a run that failed after its calls were decided, so that sending the decision again resumes it; false if there is nothing to store. */
  keepForRetry(): Promise<boolean>;
  /** To be called when the run was cancelled while it was being stored: closes it, so that it cannot be resumed. Never rejects. */
  abandon(): Promise<void>;
  /** Whether the run is stored, by `suspend` or `keepForRetry`. */
  readonly isSuspended: boolean;
}

export interface ResumedRun {
  /** The checkpoint of the run, returned only once: after a hand-off the loop starts from the beginning. */
  takeCheckpoint(): { loop: JsonObject; sources: readonly Source[] } | undefined;
  /** The decision on a call of this id with these arguments; each decision is returned once, and for no other call. */
  takeDecision(callId: string, args: JsonObject): DecidedCall | undefined;
  /** What an approver made of these arguments of a call, if hooks changed that, and the decision on the outcome has not been taken yet. */
  editedArguments(callId: string, args: JsonObject): JsonObject | undefined;
  /** Takes back a decision whose call could not run. */
  putBack(decision: DecidedCall): void;
  /** The decisions that no call has taken. */
  unused(): DecidedCall[];
  /** The decisions on calls within the preset that was called at this index of the turn, with the ids that the preset uses; returned once. */
  takeInnerDecisions(index: number): DecidedCall[];
  /** Sets the checkpoint to retry from if the run fails; undefined while calls run, which must not run again. */
  setCheckpoint(loop: (() => JsonObject) | undefined): void;
}

/** What a run has produced so far; both lists grow while it runs. */
export interface RunProgress {
  readonly sources: readonly Source[];
  readonly transcript: readonly ChatMessage[];
}

/** Creates the `RunSuspension` of new and resumed runs. */
export interface RunSuspensions {
  begin(run: { id: string; caller: Caller; request: ChatRequest } & RunProgress): RunSuspension;
  /** @param caller whom the run belongs to */
  resume(run: WaitingRun, decided: readonly DecidedCall[], resumption: RunProgress & { caller: Caller }): RunSuspension;
}
