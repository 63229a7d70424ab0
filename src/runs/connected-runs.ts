import { connectScope } from '../chat/suspend/run-suspensions.ts';
import { connectResponse } from '../chat/suspend/suspend-run.ts';
import type { Caller } from '../core/callers/caller.ts';
import { serversOf } from '../core/user-input/connect.ts';
import type { OwnCredentials } from '../core/callers/credentials.ts';
import { GatewayError, shownId } from '../core/errors.ts';
import type { RunContext } from '../core/runs/run.ts';
import type { RunLog } from '../core/runs/run-log.ts';
import type { DecidedCall, WaitingRun, WaitingRunStore } from '../core/runs/suspended-run.ts';
import type { ActiveRuns } from './active-runs.ts';
import type { ApprovalDecisionsOptions } from './approval-decisions.ts';
import type { ResumeWhenConnected } from './followed-runs.ts';
import { approvalHandoverMs } from './approval-decisions.ts';

interface ConnectedRunsOptions {
  store: Pick<WaitingRunStore, 'find' | 'close'>;
  tokens: ApprovalDecisionsOptions['tokens'];
  credentials: Pick<OwnCredentials, 'stateOf' | 'watch'>;
  log: Pick<RunLog, 'find' | 'resume'>;
  runs: Pick<ActiveRuns, 'whenOver' | 'requireReady' | 'resume'>;
  /** Called if a run cannot go on for another reason than that it was resumed elsewhere. */
  onFault: (error: unknown, runId: string) => void;
}

/** A run that whoever gets it, and nobody else, has to resume. */
interface ConnectedRun {
  run: WaitingRun;
  decided: readonly DecidedCall[];
}

/** Runs that waited until their caller had connected to tool servers. */
export interface ConnectedRuns {
  /**
   * Uses up the token of a run whose caller has connected to all its servers.
   * @throws GatewayError `not_found`, `credential_required`, `conflict`, `invalid_approval_token`, `approval_expired`, and as `ActiveRuns.start`
   */
  take(runId: string, token: string, caller: Caller): Promise<ConnectedRun>;
  resumeWhenConnected: ResumeWhenConnected;
}

export function createConnectedRuns({ store, tokens, credentials, log, runs, onFault }: ConnectedRunsOptions): ConnectedRuns {
  async function findOpen(runId: string, caller: Caller): Promise<WaitingRun & Required<Pick<WaitingRun, 'connect'>>> {
    const found = await store.find(runId);
    // Not even for an administrator: the run goes on as its caller, with that caller's credentials.
    if (found === undefined || found.callerId !== caller.id)
      throw new GatewayError('not_found', `No run ${shownId(runId)} of yours waits until you have connected. A run waits for 24 hours.`);
    if (found.type === 'closed') throw resumedBefore();
    const { run } = found;
    if (run.connect !== undefined) return { ...run, connect: run.connect };
    throw new GatewayError('conflict', 'This run waits for an approval: POST /api/runs/{id}/approvals/{call_id} decides, and resumes it.');
  }

  async function missingOf({ connect }: Required<Pick<WaitingRun, 'connect'>>, caller: Caller): Promise<string[]> {
    const missing: string[] = [];
    for (const { server } of serversOf(connect)) {
      const state = await credentials.stateOf(caller, server);
      // Of a server that is gone nothing can be given: the run goes on without.
      if (state !== undefined && state !== 'connected') missing.push(server);
    }
    return missing;
  }

  /** @throws GatewayError `conflict` if it was resumed meanwhile, and as `ActiveRuns.start` */
  async function claim(run: WaitingRun & Required<Pick<WaitingRun, 'connect'>>, caller: Caller): Promise<ConnectedRun> {
    runs.requireReady(caller, run.request);
    // The log checks at its first read which runs are suspended: it has to see this one before it is closed.
    await log.find(run.id);
    if (!(await runs.whenOver(run.id, approvalHandoverMs)))
      throw new GatewayError('conflict', 'The answer with this token has not ended yet. Read it to its end, then resume the run.');
    if (!(await store.close(run.id, run.waitId))) throw resumedBefore();
    const { again } = run;
    if (again === undefined) {
      const recorder = await log.resume(run.id);
      for (const call of run.connect)
        recorder?.record({ type: 'run-event', event: { type: 'connect.response', data: connectResponse(call, 'connected') } });
      recorder?.end({ status: 'waiting' });
    }
    return { run, decided: again?.left ?? run.decided ?? [] };
  }

  async function resumeIfConnected({ runId, caller, readHeader }: RunContext): Promise<void> {
    const run = await findOpen(runId, caller);
    if ((await missingOf(run, caller)).length > 0) return;
    const { decided } = await claim(run, caller);
    const started = await runs.resume(run, decided, { caller, controller: new AbortController(), readHeader });
    // The stream that was followed gets it.
    await started.stream(() => undefined);
  }

  return {
    async take(runId, token, caller) {
      const run = await findOpen(runId, caller);
      requireToken(tokens.check(token, { runId, waitId: run.waitId, ...connectScope }));
      const missing = await missingOf(run, caller);
      if (missing.length > 0)
        throw new GatewayError(
          'credential_required',
          `You have not connected to ${missing.map((server) => `"${server}"`).join(' and ')} yet. Open the link of the answer, or send POST /api/credentials/{server}/connect for a new one; then send this token again.`,
        );
      return claim(run, caller);
    },

    resumeWhenConnected(waited, servers) {
      const { runId, caller } = waited;
      const check = (): void => {
        resumeIfConnected(waited).catch((error: unknown) => {
          if (!(error instanceof GatewayError)) onFault(error, runId);
        });
      };
      const ends = servers.map((server) => credentials.watch(caller.id, server, check));
      // The person may have been faster than this stream.
      check();
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

function resumedBefore(): GatewayError {
  return new GatewayError(
    'conflict',
    'This run was resumed already, or was cancelled. A token is good once. GET /api/runs/{id} shows what happened.',
  );
}

function requireToken(state: 'valid' | 'expired' | 'invalid'): void {
  if (state === 'valid') return;
  if (state === 'expired') throw new GatewayError('approval_expired', 'The token expired after 24 hours. Ask again in the chat.');
  const message = 'token: does not belong to this run. Send the token that stands in `connect` of the answer.';
  throw new GatewayError('invalid_approval_token', message, { param: 'token' });
}
