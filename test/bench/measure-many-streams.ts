import { cpuMicroseconds, residentMegabytes } from './child-process.ts';
import { checkAnswer, createClient } from './load-generator.ts';
import type { Target } from './load-generator.ts';

export interface ManyStreams {
  streams: number;
  /** Streams whose text was not what the backend wrote, with the first few reasons. */
  wrong: number;
  reasons: string[];
  peakResidentMb: number | undefined;
  cpuPerChunkUs: number | undefined;
  seconds: number;
}

/** Each stream lasts longer than it takes to open all of them, so that they run at the same time; the backend's chunks stay about 8,000 a second. */
const shape = { chunks: 32, gapMs: 125 };
const sampleMs = 50;

/** Opens all streams at once and checks the whole text of each. */
export async function measureManyStreams(target: Target, streams: number): Promise<ManyStreams> {
  const { pid } = target;
  const client = createClient(target, streams);
  let peak: number | undefined;
  const sample = (): void => {
    const now = pid === undefined ? undefined : residentMegabytes(pid);
    if (now !== undefined) peak = Math.max(peak ?? 0, now);
  };
  const sampling = setInterval(sample, sampleMs);
  try {
    const cpuBefore = pid === undefined ? undefined : cpuMicroseconds(pid);
    const started = performance.now();
    const reasons = await Promise.all(
      Array.from({ length: streams }, async (_, index) => {
        const plan = { ...shape, name: `many-${index}` };
        try {
          checkAnswer(await client.ask(plan, true), plan, true);
          return undefined;
        } catch (error) {
          return error instanceof Error ? error.message : String(error);
        }
      }),
    );
    const cpuAfter = pid === undefined ? undefined : cpuMicroseconds(pid);
    const wrong = reasons.filter((reason) => reason !== undefined);
    return {
      streams,
      wrong: wrong.length,
      reasons: wrong.slice(0, 3),
      peakResidentMb: peak,
      cpuPerChunkUs: cpuBefore === undefined || cpuAfter === undefined ? undefined : (cpuAfter - cpuBefore) / (streams * shape.chunks),
      seconds: (performance.now() - started) / 1000,
    };
  } finally {
    clearInterval(sampling);
    await client.close();
  }
}
