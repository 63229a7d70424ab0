import type {
  AwaitedCalls,
  DecidedCall,
  RunSuspension,
  RunSuspensions,
  WaitingRun,
  WaitingRunStore,
} from '../../core/runs/suspended-run.ts';
import { approvalPagePath } from '../../core/user-input/approval.ts';
import type { PendingApproval } from '../../core/user-input/approval.ts';
import { serversOf } from '../../core/user-input/connect.ts';
import type { ConnectingCall, MakeConnectLink, PendingConnect } from '../../core/user-input/connect.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ChatMessage } from '../../core/chat/chat.ts';
import type { RunTranscripts } from './run-transcripts.ts';
import { createResumedRun } from './resumed-run.ts';
import type { TrackedRun } from './resumed-run.ts';

/** A suspended run, as JSON: the largest body with the results that a run may store. */
export const waitingRunCharacters = 24 * 1024 * 1024;
/** All suspended runs together, encrypted: a quarter of the largest database. */
export const waitingRunsCharacters = 256 * 1024 * 1024;

/** How long an approval token is valid and its run waits: a day, so that a decision can be made the next morning. */
export const approvalTokenMs = 24 * 60 * 60 * 1000;
/** Suspended runs of one caller; nobody decides more of them. */
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
  transcripts: Pick<RunTranscripts, 'keepSuspended' | 'keepEnded'>;
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

type KeptRound = Omit<Parameters<RunTranscripts['keepSuspended']>[2], 'before'>;
type RunOnItsWay = Parameters<RunSuspensions['begin']>[0];

/** Suspends runs until a decision: the run is stored first, then the tokens are emitted. */
export function createRunSuspensions(options: RunSuspensionsOptions): RunSuspensions {
  function suspensionOf(
    run: RunOnItsWay & { model: string },
    before?: { waited: WaitingRun; decided: DecidedCall[]; resumed: TrackedRun },
  ): RunSuspension {
    let { request } = run;
    /** By another suspension. */
    let isAnswered = false;

    async function keepWaiting(wait: AwaitedCalls & Pick<WaitingRun, 'decided' | 'loop'>): Promise<WaitingRun> {
      const { id, model, sources, transcript } = run;
      const expires = options.now() + approvalTokenMs;
      const progress = { request, sources: [...sources], transcript: [...transcript] };
      const waiting: WaitingRun = { id, callerId: run.caller.id, waitId: options.newId(), expires, model, ...progress, ...wait };
      await keep(waiting, waitingRunsPerCaller, options);
      suspension.isSuspended = true;
      isAnswered = true;
      return waiting;
    }

    async function keepTranscript(waiting: WaitingRun, round: KeptRound, urls: readonly string[]): Promise<void> {
      if (urls.length === 0) return;
      const links = urls.map((url) => url.slice(url.lastIndexOf('/') + 1));
      await options.transcripts.keepSuspended(waiting, links, { ...round, before: run.transcript });
    }

    async function linkedServers(calls: readonly ConnectingCall[]): Promise<PendingConnect['servers']> {
      const linked: PendingConnect['servers'] = [];
      for (const needed of serversOf(calls)) {
        const url = await options.makeConnectLink(run.caller, needed.server, request.reply?.address);
        linked.push({ ...needed, ...(url !== undefined && { url }) });
      }
      return linked;
    }

    const suspension: RunSuspension & { isSuspended: boolean } = {
      ...(before !== undefined && { resumed: before.resumed }),
      isSuspended: false,
      answers(now) {
        request = now;
      },
      async suspend(calls, loop, round) {
        const waiting = await keepWaiting({ calls: [...calls], loop });
        const approval = toPendingApproval(waiting, options);
        await keepTranscript(waiting, round, approval.url === undefined ? [] : [approval.url]);
        return approval;
      },
      async suspendToConnect(calls, loop, round) {
        const decided = before?.resumed.unused() ?? [];
        const servers = await linkedServers(calls);
        const waiting = await keepWaiting({ calls: [], connect: [...calls], loop, ...(decided.length > 0 && { decided }) });
        const { id: runId, waitId, expires } = waiting;
        const token = options.tokens.sign({ runId, waitId, ...connectScope }, expires);
        await keepTranscript(
          waiting,
          { ...round, isToConnect: true },
          servers.flatMap(({ url }) => url ?? []),
        );
        return { run_id: runId, servers, token };
      },
      async settle(outcome) {
        if (isAnswered) return;
        const end: ChatMessage[] = outcome === 'answered' ? [] : [{ role: 'assistant', content: missingAnswer[outcome], toolCalls: [] }];
        await options.transcripts.keepEnded({ ...run, callerId: run.caller.id }, [...run.transcript, ...end]);
      },
      async keepForRetry() {
        const checkpoint = suspension.isSuspended ? undefined : before?.resumed.retryFrom();
        if (before === undefined || checkpoint === undefined) return false;
        const { waited, decided } = before;
        const { loop, left } = checkpoint;
        // Once the run has emitted the earlier sources again, they are the first of the new list.
        const sources = run.sources.length < waited.sources.length ? waited.sources : [...run.sources];
        // Keeps the same tokens and their expiry.
        const waiting: WaitingRun = { ...waited, request, sources, loop, transcript: [...run.transcript], again: { decided, left } };
        try {
          await keep(waiting, retriedRunsPerCaller, options);
        } catch (error) {
          if (error instanceof GatewayError) return false;
          throw error;
        }
        suspension.isSuspended = true;
        return true;
      },
      async abandon() {
        await options.store.close(run.id).catch(options.onFault);
      },
    };
    return suspension;
  }

  return {
    begin: (run) => suspensionOf({ ...run, model: run.request.model }),
    resume(waited, decided, progress) {
      const resumed = createResumedRun(waited, decided);
      // A second retry uses the decisions of the first.
      return suspensionOf({ ...waited, ...progress }, { waited, decided: waited.again?.decided ?? [...decided], resumed });
    },
  };
}

/** @throws GatewayError `overloaded` if the store is full */
async function keep(run: WaitingRun, maxOfCaller: number, { store, flushLog, onGivenUp, now }: RunSuspensionsOptions): Promise<void> {
  await store.prune(now());
  const [maxRunCharacters, maxCharacters] = [waitingRunCharacters, waitingRunsCharacters];
  const kept = await store.save(run, { maxRunCharacters, maxOfCaller, maxCharacters });
  if (kept.type === 'too_large') {
    throw new GatewayError(
      'overloaded',
      'This run holds too much to wait for an approval or a sign-in. Send less, or ask over a websocket session.',
    );
  }
  if (kept.type === 'refused') {
    throw new GatewayError(
      'overloaded',
      'Too many runs wait for approvals and sign-ins. Decide or cancel some of them (GET /api/runs), then ask again.',
    );
  }
  if (kept.givenUp.length > 0) await onGivenUp(kept.givenUp);
  // The run's log must be readable before anybody can decide.
  await flushLog();
}

/** What a token to go on once the caller has connected is valid for, besides the suspension. */
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
