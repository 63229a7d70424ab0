import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway } from './gateway-process.ts';
import type { GatewayStart } from './gateway-process.ts';
import { median } from './measure-latency.ts';

export interface ColdStart {
  /** Milliseconds with an empty compile cache, as in a fresh container. */
  emptyCacheMs: number;
  /** Median of the starts after it. */
  medianMs: number;
  allMs: number[];
}

/** Starts the gateway and ends it again: once without a compile cache, then `starts` times with the one that the first start left. */
export async function measureColdStart(start: GatewayStart, starts: number): Promise<ColdStart | undefined> {
  if (!existsSync(start.file)) return undefined;
  const temporaryFolder = mkdtempSync(join(start.folder, 'cold-'));
  const once = async (): Promise<number> => {
    const gateway = await startGateway({ ...start, temporaryFolder });
    await gateway.end();
    return gateway.startedMs;
  };
  const emptyCacheMs = await once();
  const allMs: number[] = [];
  while (allMs.length < starts) allMs.push(await once());
  return { emptyCacheMs, medianMs: median(allMs), allMs };
}
