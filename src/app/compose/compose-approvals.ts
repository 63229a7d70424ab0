import type { ChatServices } from '../../chat/loop/prepared-chat.ts';
import { objectionTo } from '../../chat/tool-calls/prepare-tool-call.ts';
import type { Audit } from '../../core/audit.ts';
import type { AppContext } from '../app-context.ts';
import type { Storage } from './compose-storage.ts';
import type { RunSuspensions } from '../../core/runs/suspended-run.ts';
import type { MakeConnectLink } from '../../core/user-input/connect.ts';
import type { OwnCredentials } from '../../core/sign-in/credentials.ts';
import type { SignIns } from '../../core/sign-in/sign-in.ts';
import type { SendElicitation } from '../../core/tools/send-elicitation.ts';
import { createSuspendedRuns, type SuspendedRuns } from '../../runs/suspended/suspended-runs.ts';
import { createPromptLog } from '../../observability/prompt-log.ts';
import { createRunLog, type WritingRunLog } from '../../observability/run-log.ts';
import { createApprovalLinks, type ApprovalLinks } from '../../policy/approvals/approval-links.ts';
import { createApprovalTokens, type ApprovalTokens } from '../../policy/approvals/approval-tokens.ts';
import { createApprovalGate } from '../../policy/approvals/approval-gate.ts';
import { createConnectGate } from '../../policy/connect-gate.ts';
import { createRememberedApprovals, type RememberedApprovals } from '../../policy/approvals/remembered-approvals.ts';
import { RunTranscripts } from '../../chat/suspend/run-transcripts.ts';
import { FailedRuns } from '../../chat/suspend/failed-runs.ts';
import { createRepeatKeys } from '../../chat/suspend/repeat-keys.ts';
import {
  createRunSuspensions,
  retriedRunsPerCaller,
  waitingRunCharacters,
  waitingRunsCharacters,
} from '../../chat/suspend/store-suspended-run.ts';

export interface Approvals {
  /** Requests approvals for tool calls and input for functions, and asks people to connect to tool servers. */
  runtime: Pick<NonNullable<ChatServices['runtime']>, 'approvals' | 'connecting' | 'elicitations'>;
  runLog: WritingRunLog;
  makeConnectLink: MakeConnectLink;
  tokens: ApprovalTokens;
  links: ApprovalLinks;
  remembered: RememberedApprovals;
  suspended: SuspendedRuns;
  /** What suspended runs did, for later requests of their chats. */
  transcripts: RunTranscripts;
  /** Runs that failed, for requests that are repeated. */
  failedRuns: FailedRuns;
  /** Suspends runs that wait for an approval in another request. */
  suspensions: RunSuspensions;
}

/** How people connect to tool servers. */
export interface Connections {
  credentials: OwnCredentials;
  signIns: Pick<SignIns, 'makeLink'>;
}

/** Approvals, sign-ins in chats, and the run log, which also lists the runs that wait for one. */
export async function composeApprovals(
  { config, logger, now, newId }: AppContext,
  {
    storage,
    audit,
    sendElicitation,
    connections,
  }: { storage: Storage; audit: Audit; sendElicitation: SendElicitation; connections: () => Connections },
): Promise<Approvals> {
  const { waitingRuns: store, noteStores } = storage;
  // Without a secret suspended runs are in memory, so their tokens need a secret for this process only.
  const secret = config.secret ?? newId();
  const tokens = createApprovalTokens(secret, now);
  const links = createApprovalLinks(secret);
  const remembered = createRememberedApprovals({
    store: noteStores.approval,
    now,
    onFault: (error) => logger.error({ err: error }, 'remembered decisions cannot be stored or read at the moment; users are asked again'),
  });
  const timeoutMs = config.approvalTimeoutMs;
  const prompts = createPromptLog({ store: noteStores.prompt, isRecording: config.recordPrompts, now, logger });
  const runLog = createRunLog({ store: storage.runs, prompts, now, logger });
  runLog.markWaiting(() => store.openIds(now()));
  const suspended = createSuspendedRuns({
    store,
    log: runLog,
    onFault: (error, runId) => logger.error({ err: error, run_id: runId }, 'the log of a run lacks what resumed it'),
  });

  const makeConnectLink: MakeConnectLink = async (caller, server, address) =>
    address === undefined ? undefined : (await connections().signIns.makeLink(caller, server, address)).url;

  const transcripts = new RunTranscripts({
    store: noteStores.transcript,
    waits: store,
    log: runLog,
    giveUp: suspended.giveUp,
    now,
    onFault: (error) =>
      logger.error(
        { err: error },
        'the results of approved calls cannot be stored or read at the moment; later requests of their chats lack them',
      ),
  });

  async function failGivenUp(runIds: readonly string[]): Promise<void> {
    const message =
      'This run was dropped while it waited for an approval: the store was full, and its caller used the most space. Ask again.';
    for (const id of runIds) {
      logger.error(
        { run_id: id },
        'a run that was waiting for an approval was dropped: the store is full, and its caller used the most space',
      );
      const recorder = await runLog.resume(id).catch(() => undefined);
      recorder?.end({ status: 'failed', error: { code: 'overloaded', message } });
    }
  }

  const failedRuns = new FailedRuns({
    store,
    keyOf: createRepeatKeys(secret),
    bounds: { maxRunCharacters: waitingRunCharacters, maxOfCaller: retriedRunsPerCaller, maxCharacters: waitingRunsCharacters },
    callMs: config.toolTotalTimeoutMs,
    now,
    newId,
    onFault: (error) =>
      logger.error({ err: error }, 'failed runs cannot be stored or read at the moment: a repeated request runs its calls again'),
  });
  await failedRuns.load();

  return {
    runtime: {
      approvals: createApprovalGate({ sendElicitation, remembered, objectionTo, timeoutMs, audit }),
      connecting: createConnectGate({
        sendElicitation,
        credentials: () => connections().credentials,
        makeLink: makeConnectLink,
        timeoutMs,
      }),
      elicitations: { ask: sendElicitation, timeoutMs },
    },
    runLog,
    makeConnectLink,
    tokens,
    links,
    remembered,
    suspended,
    transcripts,
    failedRuns,
    suspensions: createRunSuspensions({
      store,
      tokens,
      links,
      makeConnectLink,
      transcripts,
      flushLog: () => runLog.flush(),
      onGivenUp: failGivenUp,
      onFault: (error) => logger.error({ err: error }, 'a cancelled run that waits for an approval cannot be closed at the moment'),
      newId,
      now,
    }),
  };
}
