import type { ChatServices } from '../chat/loop/answer-chat.ts';
import { objectionTo } from '../chat/tool-calls/prepare-tool-call.ts';
import type { Config } from './config/config.ts';
import type { RunWaits, WaitingRunStore } from '../core/suspended-run.ts';
import type { ChatMemories } from '../core/chat-memory.ts';
import type { SendElicitation } from '../core/elicitation.ts';
import type { RunStore } from '../core/run-log.ts';
import { createApprovalDecisions } from '../runs/approval-decisions.ts';
import type { ApprovalDecisions } from '../runs/approval-decisions.ts';
import type { ActiveRuns } from '../runs/active-runs.ts';
import { createRunLog } from '../observability/run-log.ts';
import type { RunLogOptions, WritingRunLog } from '../observability/run-log.ts';
import { createApprovalTokens } from '../policy/approval-tokens.ts';
import { createApprovalGate } from '../policy/approvals.ts';
import { createRememberedApprovals } from '../policy/remembered-approvals.ts';
import { createRunWaits } from '../chat/suspend/run-waits.ts';

export interface ApprovalSurroundings {
  logger: RunLogOptions['logger'];
  runs: RunStore;
  waitingRuns: WaitingRunStore;
  chatMemory: ChatMemories;
  askBrowser: SendElicitation;
  now: () => number;
  newId: () => string;
}

export interface Approvals {
  /** What calls of tools need of it. */
  runtime: Pick<NonNullable<ChatServices['runtime']>, 'approvals' | 'elicitations'>;
  runLog: WritingRunLog;
  waits: RunWaits;
  deskFor(runs: ActiveRuns): ApprovalDecisions;
}

/** Approvals and the log of runs, which tells who waits for one. */
export function createApprovals(config: Config, surroundings: ApprovalSurroundings): Approvals {
  const { logger, runs, waitingRuns: store, chatMemory, askBrowser, now, newId } = surroundings;
  // Runs of a store that forgets need no secret that lasts.
  const tokens = createApprovalTokens(config.secret ?? newId(), now);
  const remembered = createRememberedApprovals({
    memory: chatMemory.approval,
    now,
    onFault: (error) =>
      logger.error({ err: error }, 'decisions to be remembered cannot be kept or read just now; they are asked for again'),
  });
  const timeoutMs = config.approvalTimeoutMs;
  const runLog = createRunLog({ store: runs, now, logger, waitingIds: () => store.openIds(now()) });
  return {
    runtime: {
      approvals: createApprovalGate({ askBrowser, remembered, objectionTo, timeoutMs }),
      elicitations: { ask: askBrowser, timeoutMs },
    },
    runLog,
    waits: createRunWaits({
      store,
      tokens,
      flushLog: () => runLog.flush(),
      async onGivenUp(runIds) {
        const message = 'This run waited for an approval when the store was full, and its caller had the most in it. Ask again.';
        for (const id of runIds) {
          logger.error({ run_id: id }, 'a run that waited for an approval was given up: its caller had the most in a store that is full');
          const recorder = await runLog.resume(id).catch(() => undefined);
          recorder?.end({ status: 'failed', error: { code: 'overloaded', message } });
        }
      },
      onFault: (error) => logger.error({ err: error }, 'a cancelled run that waits for an approval cannot be closed just now'),
      newId,
      now,
    }),
    deskFor: (activeRuns) => createApprovalDecisions({ store, tokens, remembered, log: runLog, runs: activeRuns }),
  };
}
