import type { PresetServices } from '../../chat/loop/run-as-preset.ts';
import type { OwnCredentials } from '../../core/sign-in/credentials.ts';
import type { Audit } from '../../core/audit.ts';
import type { Tracing } from '../../core/runs/trace.ts';
import type { Metrics } from '../../core/runs/metrics.ts';
import { createCompletionStorage } from '../../http/dialects/chat-completions/store-completions.ts';
import { createStoredResponses, type StoredResponses } from '../../http/dialects/responses/stored/stored-responses.ts';
import { createSessionEvents } from '../../http/dialects/socket/session-events.ts';
import type { BrowserRelay } from '../../relay/browser-relay.ts';
import { createActiveInvocations } from '../../runs/active-invocations.ts';
import { createActiveRuns, type ActiveRuns } from '../../runs/active-runs.ts';
import { createApprovalDecisions, type ApprovalDecisions } from '../../runs/suspended/approval-decisions.ts';
import { createConnectedRuns, type ConnectedRuns } from '../../runs/suspended/connected-runs.ts';
import { createFollowedRuns, type FollowOptions } from '../../runs/suspended/followed-runs.ts';
import { createInterruptChat, type InterruptChat } from '../../runs/interrupt-chat.ts';
import { createInvokeFunction, type InvokeFunction } from '../../runs/invoke-function.ts';
import { createStartOrContinue, type StartOrContinue } from '../../runs/start-or-continue.ts';
import { createRequestedDecisions } from '../../runs/suspended/requested-decisions.ts';
import { createDecidedRuns, type DecidedRuns } from '../../http/dialects/answers/decided-runs.ts';
import { createLinkedApprovals, type LinkedApprovals } from '../../runs/suspended/linked-approvals.ts';
import type { EndOfAccess } from '../../runs/end-of-access.ts';
import type { StartedRun } from '../../runs/started-run.ts';
import type { SuspendedRuns } from '../../runs/suspended/suspended-runs.ts';
import type { AppContext } from '../app-context.ts';
import type { Approvals } from './compose-approvals.ts';
import type { Storage } from './compose-storage.ts';

export interface Runs {
  runs: ActiveRuns;
  follow: (started: StartedRun, options: FollowOptions) => StartedRun;
  /** Runs one function outside of a chat. */
  invoke: InvokeFunction;
  /** Aborted when calls outside of chats are drained. */
  draining: AbortSignal;
  decisions: ApprovalDecisions;
  suspended: SuspendedRuns;
  linked: LinkedApprovals;
  connected: ConnectedRuns;
  /** Decisions that come with a request. */
  decidedRuns: DecidedRuns;
  storedResponses: StoredResponses;
  /** Ends the runs and calls of a key and its people, or of one of them; after the deletion of the key no new ones start. Resolves when its runs have ended. */
  endAllOf: (ownerId: string, cause: EndOfAccess) => Promise<void>;
  /** Starts runs of chats. */
  startOrContinue: StartOrContinue;
  interruptChat: InterruptChat;
  /** Admits no more runs and calls; resolves when all have ended, or shortly after `DRAIN_TIMEOUT_MS`, when the rest is aborted. */
  drain(): Promise<void>;
}

interface RunParts {
  services: PresetServices;
  storage: Storage;
  approvals: Approvals;
  relay: BrowserRelay;
  credentials: OwnCredentials;
  metrics: Metrics;
  tracing: Tracing | undefined;
  audit: Audit;
}

/** Active work: runs, function calls outside of chats, and decisions on suspended runs. */
export function composeRuns(
  { config, logger, now, newId }: AppContext,
  { services, storage, approvals, relay, credentials, metrics, tracing, audit }: RunParts,
): Runs {
  const { runLog, failedRuns, suspensions, suspended, remembered, tokens, links, transcripts, makeConnectLink } = approvals;
  const { waitingRuns } = storage;
  const completions = createCompletionStorage({ store: storage.chats, isStoring: config.storeChats, now, logger });
  const followed = createFollowedRuns();
  suspended.onSettled((runId) => followed.stopWaiting({ runId }));
  const runs = createActiveRuns({
    services,
    newRunId: newId,
    log: runLog,
    suspensions,
    failedRuns,
    sessionEvents: createSessionEvents(relay),
    metrics,
    tracing,
    acceptRequest: completions.accept,
    stages: [completions.store, followed.share],
  });
  const connected = createConnectedRuns({
    store: waitingRuns,
    suspended,
    tokens,
    credentials,
    runs,
    onFault: (error, runId) => logger.error({ err: error, run_id: runId }, 'a run cannot be resumed although its user has connected'),
  });
  const calls = createActiveInvocations();
  const { tools, runtime } = services;
  const decisions = createApprovalDecisions({ store: waitingRuns, suspended, tokens, remembered, runs, audit });
  const { storeChats: isStoring } = config;
  const storedResponses = createStoredResponses({ store: storage.responses, isStoring, newId, now, log: logger });
  const requested = createRequestedDecisions({ store: waitingRuns, tokens, links, decisions });
  return {
    runs,
    storedResponses,
    decidedRuns: createDecidedRuns({ decisions: requested, runs, log: runLog }),
    startOrContinue: createStartOrContinue({ failedRuns, runs }),
    interruptChat: createInterruptChat({ runs, suspended, waitingRuns }),
    follow: (started, options) => followed.follow(started, options, connected.resumeWhenConnected),
    invoke: createInvokeFunction({
      tools,
      calls,
      newId,
      toolTimeoutMs: config.toolTimeoutMs,
      makeConnectLink,
      runtime,
      metrics,
      tracing,
      now,
    }),
    draining: calls.draining,
    decisions,
    suspended,
    connected,
    linked: createLinkedApprovals({ store: waitingRuns, links, transcripts, decisions, runs, log: runLog, now }),
    async endAllOf(ownerId, cause) {
      const ended = runs.cancelAllOf(ownerId, cause);
      followed.stopWaiting({ ownerId });
      calls.cancelAllOf(ownerId, cause);
      await ended;
    },
    async drain() {
      followed.stopWaiting({});
      await Promise.all([runs.drain(config.drainTimeoutMs), calls.drain(config.drainTimeoutMs)]);
      await Promise.all([completions.settled(), storedResponses.settle()]);
    },
  };
}
