import {
  failedRunPrefix,
  type AwaitedCalls,
  type DecidedCall,
  type RunSuspension,
  type RunSuspensions,
  type WaitingCall,
  type WaitingRun,
  type WaitingRunStore,
} from '../../core/runs/suspended-run.ts';
import { approvalPagePath, type PendingApproval } from '../../core/user-input/approval.ts';
import { serversOf, type ConnectingCall, type MakeConnectLink, type PendingConnect } from '../../core/user-input/connect.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { ChatMessage, ChatRequest } from '../../core/chat/chat.ts';
import type { RunTranscripts } from './run-transcripts.ts';
import { allSources } from './all-sources.ts';
import { createResumedRun, type TrackedRun } from './resumed-run.ts';

/** The size of a suspended run as JSON: the largest body, with the results that a run may store. */
export const waitingRunCharacters = 24 * 1024 * 1024;
/** The size of all suspended runs together, encrypted: a quarter of the largest database. */
export const waitingRunsCharacters = 256 * 1024 * 1024;

/** How long an approval token is valid and its run waits: a day, so that a decision can be made the next morning. */
export const approvalTokenMs = 24 * 60 * 60 * 1000;
/** Suspended runs of one caller. Nobody decides more of them in a day. */
export const waitingRunsPerCaller = 200;
/** With this many waiting runs, a run that failed after its decisions is not stored for a retry: retries must not crowd out decisions. */
export const retriedRunsPerCaller = 100;

export interface ApprovalTokenSigner {
  /** `expires`: milliseconds since 1970. */
  sign(call: { runId: string; waitId: string; callId: string; args: JsonObject }, expires: number): string;
}

/** Signs the secret part of a link to the page of an approval. */
export interface ApprovalLinkSigner {
  sign(wait: { runId: string; waitId: string; callerId: string; expires: number }): string;
}

interface RunSuspensionsOptions {
  store: Pick<WaitingRunStore, 'save' | 'prune' | 'close'>;
  tokens: ApprovalTokenSigner;
  links: ApprovalLinkSigner;
  makeConnectLink: MakeConnectLink;
  transcripts: Pick<RunTranscripts, 'saveSuspended' | 'saveEnded'>;
  /** Called with runs that were evicted because the store was full and their caller had the most in it. Never rejects. */
  onGivenUp: (runIds: readonly string[]) => Promise<void>;
  /** Makes the log of the run durable. */
  flushLog: () => Promise<void>;
  /** Called if a cancelled run cannot be closed; its tokens then stay valid until they expire. */
  onFault: (error: unknown) => void;
  /** At least 128 random bits. */
  newId: () => string;
  now: () => number;
}

const missingAnswer = { cancelled: 'The answer after these calls was cancelled.', failed: 'The answer after these calls failed.' } as const;

type SuspendedRound = Omit<Parameters<RunTranscripts['saveSuspended']>[2], 'before'>;
type RunUnderWay = Parameters<RunSuspensions['begin']>[0] & { model: string };

/** A resumed run, as it was stored. `decided`: the decisions that resumed it. */
interface Resumption {
  waited: WaitingRun;
  decided: DecidedCall[];
  resumed: TrackedRun;
}

/** Suspends runs until a decision: the run is stored first, then the tokens are emitted. */
export function createRunSuspensions(options: RunSuspensionsOptions): RunSuspensions {
  return {
    begin: (run) => new StoredSuspension({ ...run, model: run.request.model }, options),
    resume(waited, decided, progress) {
      const resumed = createResumedRun(waited, decided);
      // A second retry uses the decisions of the first.
      const resumption = { waited, decided: waited.again?.decided ?? [...decided], resumed };
      return new StoredSuspension({ ...waited, ...progress }, options, resumption);
    },
  };
}

class StoredSuspension implements RunSuspension {
  isSuspended = false;
  readonly resumed?: TrackedRun;
  readonly #run: RunUnderWay;
  readonly #options: RunSuspensionsOptions;
  readonly #resumption: Resumption | undefined;
  /** The one that is answered now, which changes with a handoff. */
  #request: ChatRequest;
  /** It ended in another wait, so there is no end of it to store. */
  #isWaiting = false;

  constructor(run: RunUnderWay, options: RunSuspensionsOptions, resumption?: Resumption) {
    this.#run = run;
    this.#options = options;
    this.#request = run.request;
    this.#resumption = resumption;
    if (resumption !== undefined) this.resumed = resumption.resumed;
  }

  answers(request: ChatRequest): void {
    this.#request = request;
  }

  async suspend(calls: readonly WaitingCall[], loop: JsonObject, round: SuspendedRound): Promise<PendingApproval> {
    const waiting = await this.#saveWaiting({ calls: [...calls], loop });
    const approval = toPendingApproval(waiting, this.#options);
    await this.#saveLogAndTranscript(waiting, round, approval.url === undefined ? [] : [approval.url]);
    return approval;
  }

  async suspendToConnect(calls: readonly ConnectingCall[], loop: JsonObject, round: SuspendedRound): Promise<PendingConnect> {
    const decided = this.resumed?.unused() ?? [];
    const servers = await this.#linkedServers(calls);
    const waiting = await this.#saveWaiting({ calls: [], connect: [...calls], loop, ...(decided.length > 0 && { decided }) });
    const { id: runId, waitId, expires } = waiting;
    const token = this.#options.tokens.sign({ runId, waitId, ...connectScope }, expires);
    const urls = servers.flatMap(({ url }) => url ?? []);
    await this.#saveLogAndTranscript(waiting, { ...round, isToConnect: true }, urls);
    return { run_id: runId, servers, token };
  }

  async settle(outcome: 'answered' | 'cancelled' | 'failed'): Promise<void> {
    if (this.#isWaiting) return;
    const end: ChatMessage[] = outcome === 'answered' ? [] : [{ role: 'assistant', content: missingAnswer[outcome], toolCalls: [] }];
    const run = this.#run;
    await this.#options.transcripts.saveEnded({ ...run, callerId: run.caller.id }, [...run.transcript, ...end]);
  }

  async keepForRetry(): Promise<boolean> {
    const checkpoint = this.isSuspended ? undefined : this.resumed?.retryFrom();
    if (this.#resumption === undefined || checkpoint === undefined) return false;
    const { waited, decided } = this.#resumption;
    const { loop, left } = checkpoint;
    const { transcript } = this.#run;
    const sources = allSources(this.#run.sources, waited.sources);
    // The same tokens stay valid until the same time.
    const waiting: WaitingRun = { ...waited, request: this.#request, sources, loop, transcript: [...transcript], again: { decided, left } };
    try {
      await save(waiting, retriedRunsPerCaller, this.#options);
      await this.#options.flushLog();
    } catch (error) {
      if (error instanceof GatewayError) return false;
      throw error;
    }
    this.isSuspended = true;
    return true;
  }

  async abandon(): Promise<void> {
    await this.#options.store.close(this.#run.id).catch(this.#options.onFault);
  }

  async #saveWaiting(wait: AwaitedCalls & Pick<WaitingRun, 'decided' | 'loop'>): Promise<WaitingRun> {
    const { id, caller, model, sources, transcript } = this.#run;
    const { now, newId } = this.#options;
    const progress = { request: this.#request, sources: [...sources], transcript: [...transcript] };
    const waiting: WaitingRun = { id, callerId: caller.id, waitId: newId(), expires: now() + approvalTokenMs, model, ...progress, ...wait };
    await save(waiting, waitingRunsPerCaller, this.#options);
    this.isSuspended = true;
    this.#isWaiting = true;
    return waiting;
  }

  /** Before anyone can decide. At the same time, so that one commit writes both. */
  async #saveLogAndTranscript(waiting: WaitingRun, round: SuspendedRound, urls: readonly string[]): Promise<void> {
    const { flushLog, transcripts } = this.#options;
    const links = urls.map((url) => url.slice(url.lastIndexOf('/') + 1));
    const saving = links.length === 0 ? [] : [transcripts.saveSuspended(waiting, links, { ...round, before: this.#run.transcript })];
    await Promise.all([flushLog(), ...saving]);
  }

  async #linkedServers(calls: readonly ConnectingCall[]): Promise<PendingConnect['servers']> {
    const linked: PendingConnect['servers'] = [];
    for (const needed of serversOf(calls)) {
      const url = await this.#options.makeConnectLink(this.#run.caller, needed.server, this.#request.reply?.address);
      linked.push({ ...needed, ...(url !== undefined && { url }) });
    }
    return linked;
  }
}

/** @throws GatewayError `overloaded` if the store is full */
async function save(run: WaitingRun, maxOfCaller: number, { store, onGivenUp, now }: RunSuspensionsOptions): Promise<void> {
  await store.prune(now());
  const [maxRunCharacters, maxCharacters] = [waitingRunCharacters, waitingRunsCharacters];
  const saved = await store.save(run, { maxRunCharacters, maxOfCaller, maxCharacters });
  if (saved.type === 'too_large') {
    throw new GatewayError(
      'overloaded',
      'This run is too large to be stored while it waits for an approval or a sign-in. Send less, or ask over a websocket session.',
    );
  }
  if (saved.type === 'refused') {
    throw new GatewayError(
      'overloaded',
      'Too many runs wait for approvals and sign-ins. Decide or cancel some of them (GET /api/runs), then ask again.',
    );
  }
  const givenUp = saved.givenUp.filter((id) => !id.startsWith(failedRunPrefix));
  if (givenUp.length > 0) await onGivenUp(givenUp);
}

/** The scope of a token that resumes a run once its caller has connected, besides the suspension. */
export const connectScope = { callId: 'connect', args: {} } as const;

/** What is needed to decide the calls that wait. */
export function toPendingApproval(
  { id: runId, callerId, waitId, calls, expires, request }: WaitingRun,
  { tokens, links }: Pick<RunSuspensionsOptions, 'tokens' | 'links'>,
): PendingApproval {
  const shown = calls.map(({ id, tool, args }) => ({
    id,
    tool,
    arguments: args,
    token: tokens.sign({ runId, waitId, callId: id, args }, expires),
  }));
  const [only, ...others] = shown;
  const address = request.reply?.address;
  return {
    run_id: runId,
    calls: shown,
    ...(only !== undefined && others.length === 0 && { token: only.token }),
    ...(address !== undefined && { url: `${address}${approvalPagePath}${links.sign({ runId, waitId, callerId, expires })}` }),
  };
}
