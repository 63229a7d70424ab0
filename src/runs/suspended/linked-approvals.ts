import type { ApprovalAnswer } from '../../core/user-input/approval.ts';
import type { Caller } from '../../core/callers/caller.ts';
import { GatewayError } from '../../core/errors.ts';
import type { LoggedRun, RunLog } from '../../core/runs/run-log.ts';
import type { RunTranscripts } from '../../chat/suspend/run-transcripts.ts';
import type { WaitHead, WaitingRun, WaitingRunStore } from '../../core/runs/suspended-run.ts';
import type { ActiveRuns } from '../active-runs.ts';
import type { ApprovalDecisions } from './approval-decisions.ts';
import { logChat, type ChatLog } from '../run-stats.ts';

interface SignedLinks {
  sign(wait: WaitScope): string;
  check(link: string, wait: WaitScope): boolean;
  receiptOf(link: string): string;
  checkReceipt(receipt: string, link: string): boolean;
  runIdOf(link: string): string | undefined;
}

interface WaitScope {
  runId: string;
  waitId: string;
  callerId: string;
  expires: number;
}

interface LinkedApprovalsOptions {
  store: Pick<WaitingRunStore, 'findHead' | 'find'>;
  links: SignedLinks;
  transcripts: Pick<RunTranscripts, 'find'>;
  decisions: Pick<ApprovalDecisions, 'decide'>;
  runs: Pick<ActiveRuns, 'resume'>;
  log: Pick<RunLog, 'find'>;
  /** Milliseconds since 1970. */
  now: () => number;
}

/**
 * What a link leads to. `over`: none of its calls waits any more; `run` is the log of the run, while there is one, and `answer` its answer. If other
 * calls of the run wait now, `next` is their link, for the person who has decided here.
 */
export type LinkedRun = { runId: string; callerId: string } & (
  | { type: 'open'; run: WaitingRun; answers: ReadonlyMap<string, ApprovalAnswer> }
  | { type: 'over'; run: LoggedRun | undefined; answer?: string | undefined; next?: string | undefined }
);

export interface LinkedDecision {
  callId: string;
  answer: ApprovalAnswer;
  isRemembered: boolean;
}

/**
 * Decisions by the link to the page of an approval. The link is sufficient proof, but only for the calls of one suspension. The run continues as the
 * caller whom it belongs to, and no client streams its answer.
 */
export interface LinkedApprovals {
  /** Changes nothing, because previews of links fetch them too. @throws GatewayError `not_found`, `approval_expired` */
  find(link: string): Promise<LinkedRun>;
  /** Proves that a person has decided by this link. Only they are shown the link to the calls that wait next. */
  receiptOf(link: string): string;
  checkReceipt(receipt: string, link: string): boolean;
  /**
   * Decides calls one after the other. The last decision resumes the run, and `release` is called at its end; otherwise when this resolves or rejects.
   * @throws GatewayError as `ApprovalDecisions.decide` and `ActiveRuns.resume`
   */
  decide(
    run: LinkedRun & { type: 'open' },
    decisions: readonly LinkedDecision[],
    by: { caller: Caller; log: BackgroundLog; release: () => void },
  ): Promise<void>;
}

interface BackgroundLog extends ChatLog {
  error(fields: object, message: string): void;
}

export function createLinkedApprovals({ store, links, transcripts, decisions, runs, log, now }: LinkedApprovalsOptions): LinkedApprovals {
  async function findHead(link: string): Promise<WaitHead & { runId: string }> {
    const runId = links.runIdOf(link);
    const head = runId === undefined ? undefined : await store.findHead(runId);
    if (runId === undefined || head === undefined) throw unknownLink();
    return { runId, ...head };
  }

  async function findOver(link: string, { runId, callerId }: { runId: string; callerId: string }): Promise<LinkedRun & { type: 'over' }> {
    const run = await log.find(runId);
    const transcript = await transcripts.find({ id: runId, callerId }, link);
    return { type: 'over', runId, callerId, run, answer: transcript?.answer };
  }

  return {
    async find(link) {
      const head = await findHead(link);
      const { runId, callerId, expires, isOpen } = head;
      if (!links.check(link, head)) {
        // The link may be of an earlier suspension of the same run.
        if ((await transcripts.find({ id: runId, callerId }, link)) === undefined) throw unknownLink();
        return { ...(await findOver(link, head)), ...(isOpen && { next: links.sign(head) }) };
      }
      const found = isOpen ? await store.find(runId) : undefined;
      if (found?.type !== 'open') return findOver(link, head);
      if (expires <= now())
        throw new GatewayError('approval_expired', 'This link expired after 24 hours, so nothing was run. Ask again in the chat.');
      return { ...found, runId };
    },

    receiptOf: (link) => links.receiptOf(link),
    checkReceipt: (receipt, link) => links.checkReceipt(receipt, link),

    async decide({ runId, run: { waitId } }, chosen, { caller, log: lines, release }) {
      let isUnderWay = false;
      try {
        for (const { callId, answer, isRemembered } of chosen) {
          const decision = await decisions.decide({ runId, callId }, { proof: { waitId }, answer, isRemembered }, caller);
          lines.info({ run_id: runId, call_id: callId, decision: answer.decision, by: caller.id, over: 'page' }, 'call decided');
          if (decision.type === 'recorded') continue;
          const { run, decided } = decision;
          const started = await runs.resume(run, decided, { caller, controller: new AbortController() });
          isUnderWay = true;
          started.run.whenOver?.(release);
          // Decisions that failed on the way are sent again together; the first of them is enough.
          void started
            .stream(() => undefined)
            .catch((error: unknown) => {
              if (!(error instanceof GatewayError)) lines.error({ err: error, run_id: runId }, 'run failed after its approval');
            })
            .finally(() => {
              logChat(lines, started.stats, { run_id: runId, model: run.model, stream: false, over: 'page' });
            });
          return;
        }
      } finally {
        if (!isUnderWay) release();
      }
    },
  };
}

/** The same answer for a forged link and for one whose run is gone, so that they cannot be told apart. */
function unknownLink(): GatewayError {
  return new GatewayError('not_found', 'No calls wait behind this link. Copy the whole link from the chat. It is valid for 24 hours.');
}
