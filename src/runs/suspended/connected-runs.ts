import { connectScope } from '../../chat/suspend/store-suspended-run.ts';
import type { Caller } from '../../core/callers/caller.ts';
import { serversOf } from '../../core/user-input/connect.ts';
import type { OwnCredentials } from '../../core/sign-in/credentials.ts';
import { GatewayError, shownId } from '../../core/errors.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { DecidedCall, RunAwaitingConnection, WaitingRunStore } from '../../core/runs/suspended-run.ts';
import type { ActiveRuns } from '../active-runs.ts';
import type { ApprovalDecisionsOptions } from './approval-decisions.ts';
import type { ResumeWhenConnected } from './followed-runs.ts';
import { alreadyClaimed, type SuspendedRuns } from './suspended-runs.ts';

interface ConnectedRunsOptions {
  store: Pick<WaitingRunStore, 'find'>;
  suspended: Pick<SuspendedRuns, 'claim'>;
  tokens: ApprovalDecisionsOptions['tokens'];
  credentials: Pick<OwnCredentials, 'stateOf' | 'watch'>;
  runs: Pick<ActiveRuns, 'whenOver' | 'requireReady' | 'resume'>;
  /** Called if a run cannot continue, unless it was resumed elsewhere. */
  onFault: (error: unknown, runId: string) => void;
}

/** A claimed run: only the caller who gets it may resume it, and has to. */
interface ConnectedRun {
  run: RunAwaitingConnection;
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

export function createConnectedRuns({ store, suspended, tokens, credentials, runs, onFault }: ConnectedRunsOptions): ConnectedRuns {
  async function findOpen(runId: string, caller: Caller): Promise<RunAwaitingConnection> {
    const found = await store.find(runId);
    // Not even for an administrator: the run continues as its caller, with that caller's credentials.
    if (found === undefined || found.callerId !== caller.id)
      throw new GatewayError('not_found', `No run ${shownId(runId)} of yours waits until you have connected. A run waits for 24 hours.`);
    if (found.type === 'closed') throw alreadyClaimed('connection');
    const { run } = found;
    if (run.connect !== undefined) return run;
    throw new GatewayError('conflict', 'This run waits for an approval: POST /api/runs/{id}/approvals/{call_id} decides, and resumes it.');
  }

  async function missingOf({ connect }: RunAwaitingConnection, caller: Caller): Promise<string[]> {
    const missing: string[] = [];
    for (const { server } of serversOf(connect)) {
      const state = await credentials.stateOf(caller, server);
      // The run continues without a server that no longer exists.
      if (state !== undefined && state !== 'connected') missing.push(server);
    }
    return missing;
  }

  async function resumeIfConnected({ runId, caller, readHeader }: RunContext): Promise<void> {
    const run = await findOpen(runId, caller);
    if ((await missingOf(run, caller)).length > 0) return;
    const decided = await suspended.claim({ run, caller, runs });
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
      return { run, decided: await suspended.claim({ run, caller, runs }) };
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

function requireToken(state: 'valid' | 'expired' | 'invalid'): void {
  if (state === 'valid') return;
  if (state === 'expired') throw new GatewayError('approval_expired', 'The token expired after 24 hours. Ask again in the chat.');
  const message = 'token: does not belong to this run. Send the token from `connect` in the answer.';
  throw new GatewayError('invalid_approval_token', message, { param: 'token' });
}
