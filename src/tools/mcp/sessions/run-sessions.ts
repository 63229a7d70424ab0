import { limits } from '../../../core/limits.ts';
import type { RunContext } from '../../../core/runs/run.ts';
import type { Opening } from '../../definitions/opened-server.ts';
import type { McpSession } from './mcp-session.ts';

/** The sessions with servers that requests supply, until their runs have ended. */
interface RunSessions {
  /** `start` is called once for each server of a run; later calls return the same opening. */
  open(serverId: string, run: RunContext, start: (keep: (session: McpSession) => void) => Promise<Opening>): Promise<Opening>;
  close(): Promise<void>;
}

interface SessionsOfRun {
  openings: Map<string, Promise<Opening>>;
  sessions: McpSession[];
}

export function createRunSessions(): RunSessions {
  const runs = new Map<RunContext['runId'], SessionsOfRun>();

  /** A resumed run has the id of the suspended one, and sessions of its own. */
  function sessionsOf({ runId, whenOver }: RunContext): SessionsOfRun {
    const known = runs.get(runId);
    if (known !== undefined) return known;
    const created: SessionsOfRun = { openings: new Map(), sessions: [] };
    runs.set(runId, created);
    whenOver?.(() => {
      runs.delete(runId);
      for (const session of created.sessions) void session.end();
    });
    return created;
  }

  return {
    open(serverId, run, start) {
      const { openings, sessions } = sessionsOf(run);
      const known = openings.get(serverId);
      if (known !== undefined) return known;
      const opening = start((session) => sessions.push(session));
      openings.set(serverId, opening);
      return opening;
    },
    async close() {
      const open = [...runs.values()].flatMap(({ sessions }) => sessions);
      runs.clear();
      await Promise.all(open.map((session) => session.close()));
    },
  };
}

/** Closes the session if it cannot be opened in time, or its run is aborted: an attempt would otherwise last as long as all its own limits together. */
export async function openInTime(session: McpSession, runSignal: AbortSignal): Promise<Opening> {
  if (runSignal.aborted) return { type: 'unreachable', reason: 'The run has ended.', cause: 'failed' };
  const inTime = AbortSignal.timeout(limits.requestMcpOpenMs);
  const signal = AbortSignal.any([runSignal, inTime]);
  const giveUp = (): void => void session.close();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    const opening = await session.open({ signal, isChecked: false });
    if (opening.type === 'opened') return opening;
    await session.close();
    return inTime.aborted
      ? { type: 'unreachable', reason: `It did not list its tools within ${limits.requestMcpOpenMs / 1_000} seconds.`, cause: 'failed' }
      : opening;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
