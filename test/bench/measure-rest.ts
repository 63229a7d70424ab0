import { setTimeout as pause } from 'node:timers/promises';
import { cpuMicroseconds, residentMegabytes } from './child-process.ts';
import { checkAnswer, createClient } from './load-generator.ts';
import type { Client, Target } from './load-generator.ts';

/** What a chat costs a process that has rested, in CPU time of all its threads. */
export interface Rest {
  restSeconds: number;
  /** Microseconds per chat in each second after the rest. */
  afterRest: number[];
  /** Microseconds per chat of the seconds before the rest. */
  warm: number;
  residentMb: number | undefined;
}

const concurrency = 32;
/** Few enough for a busy machine: each second has as many chats, so that a slow one does not measure another load. */
const chatsPerSecond = 160;
const warmUpSeconds = 30;
const warmSeconds = 5;
const secondsAfterRest = 3;
const plan = { name: 'rest', chunks: 50, gapMs: 0 };

/** Warms the process up once; then each rest is followed by some seconds of load. Undefined where there is no /proc. */
export async function measureRests(target: Target & { pid: number }, rests: readonly number[]): Promise<Rest[] | undefined> {
  if (cpuMicroseconds(target.pid) === undefined) return undefined;
  const client = createClient(target, concurrency);
  try {
    for (let second = 0; second < warmUpSeconds; second += 1) await askForOneSecond(client, target.pid);
    const results: Rest[] = [];
    for (const restSeconds of rests) {
      const before: number[] = [];
      for (let second = 0; second < warmSeconds; second += 1) before.push(await askForOneSecond(client, target.pid));
      await pause(restSeconds * 1_000);
      const residentMb = residentMegabytes(target.pid);
      const afterRest: number[] = [];
      for (let second = 0; second < secondsAfterRest; second += 1) afterRest.push(await askForOneSecond(client, target.pid));
      results.push({ restSeconds, afterRest, warm: before.reduce((sum, us) => sum + us, 0) / before.length, residentMb });
    }
    return results;
  } finally {
    await client.close();
  }
}

/** Microseconds per chat. */
async function askForOneSecond(client: Client, pid: number): Promise<number> {
  const before = cpuMicroseconds(pid) ?? 0;
  const askOn = async (): Promise<void> => {
    for (let left = chatsPerSecond / concurrency; left > 0; left -= 1) checkAnswer(await client.ask(plan, false), plan, false);
  };
  await Promise.all([pause(1_000), ...Array.from({ length: concurrency }, askOn)]);
  return ((cpuMicroseconds(pid) ?? 0) - before) / chatsPerSecond;
}
