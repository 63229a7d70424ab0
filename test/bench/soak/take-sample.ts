import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** The gateway at one moment; megabytes. */
export interface Sample {
  minute: number;
  /** V8's heap after a collection. */
  heapMb: number;
  residentMb: number;
  /** Open file descriptors; undefined where there is no /proc. */
  descriptors: number | undefined;
  databaseMb: number;
  logMb: number;
}

const patienceMs = 30_000;

/** `folder`: the one above the gateway's own. @throws Error if the gateway does not answer */
export async function takeSample({ pid }: { pid: number }, folder: string, minute: number): Promise<Sample> {
  const file = join(folder, `memory-${pid}.json`);
  rmSync(file, { force: true });
  process.kill(pid, 'SIGWINCH');
  for (const deadline = performance.now() + patienceMs; performance.now() < deadline; await pause(20)) {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    if (text === '') continue;
    const { heapUsed, rss } = JSON.parse(text) as NodeJS.MemoryUsage;
    const database = join(folder, 'data', 'toolwharf.db');
    return {
      minute,
      heapMb: heapUsed / 2 ** 20,
      residentMb: rss / 2 ** 20,
      descriptors: countDescriptors(pid),
      databaseMb: megabytesOf(database),
      logMb: megabytesOf(`${database}-wal`),
    };
  }
  throw new Error(`the gateway did not report within ${patienceMs / 1_000} s`);
}

function megabytesOf(file: string): number {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) / 2 ** 20;
}

function countDescriptors(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return undefined;
  }
}
