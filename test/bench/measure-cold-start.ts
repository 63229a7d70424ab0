import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { residentMegabytes } from './child-process.ts';
import { startGateway } from './gateway-process.ts';
import type { GatewayStart } from './gateway-process.ts';
import { median } from './measure-latency.ts';

export interface ColdStart {
  /** Medians, in milliseconds: with an empty compile cache each, as in a fresh container, and with the one that a start before has left. */
  emptyCacheMs: number;
  warmCacheMs: number;
  allEmptyMs: number[];
  allWarmMs: number[];
  /** Resident memory of a warm start that nobody has asked for anything for `idleMs`; undefined where there is no /proc. */
  idleMb: number | undefined;
}

/** The backends are listed and the log is written by then; V8 does not give anything back later. */
const idleMs = 10_000;

/** Starts the gateway and ends it again, `starts` times without a compile cache and as often with one. Undefined without that program. */
export async function measureColdStart(start: GatewayStart, starts: number): Promise<ColdStart | undefined> {
  if (!existsSync(start.file)) return undefined;
  const newCache = (): string => mkdtempSync(join(start.folder, 'cold-'));
  const startWith = (cache: string) => startGateway({ ...start, environment: { ...start.environment, NODE_COMPILE_CACHE: cache } });
  const once = async (cache: string): Promise<number> => {
    const gateway = await startWith(cache);
    await gateway.end();
    return gateway.startedMs;
  };
  const allEmptyMs: number[] = [];
  const allWarmMs: number[] = [];
  const warm = newCache();
  await once(warm);
  // In turn, so that a machine that is slow for a while is slow for both.
  while (allWarmMs.length < starts) {
    allEmptyMs.push(await once(newCache()));
    allWarmMs.push(await once(warm));
  }
  const idle = await startWith(warm);
  await pause(idleMs);
  const idleMb = residentMegabytes(idle.pid);
  await idle.end();
  return { emptyCacheMs: median(allEmptyMs), warmCacheMs: median(allWarmMs), allEmptyMs, allWarmMs, idleMb };
}
