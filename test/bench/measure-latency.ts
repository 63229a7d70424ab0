import { createClient } from './load-generator.ts';
import type { Target } from './load-generator.ts';

/** Medians in milliseconds of single questions, one at a time. */
export interface Latency {
  jsonMs: number;
  firstByteMs: number;
  streamMs: number;
}

const plan = { name: 'latency', chunks: 50, gapMs: 0 };

/**
 * One question after the other, each target in turn, so that whatever else the machine does falls on all of them alike. The first third warms up.
 */
export async function measureLatency(
  targets: readonly Target[],
  questions: { json: number; streams: number },
): Promise<[target: string, Latency][]> {
  const clients = targets.map((target) => ({
    name: target.name,
    client: createClient(target, 1),
    json: [] as number[],
    first: [] as number[],
    streams: [] as number[],
  }));
  try {
    for (let index = 0; index < questions.json; index += 1) {
      for (const { client, json } of clients) json.push((await client.ask(plan, false)).totalMs);
    }
    for (let index = 0; index < questions.streams; index += 1) {
      for (const { client, first, streams } of clients) {
        const answer = await client.ask(plan, true);
        first.push(answer.firstByteMs);
        streams.push(answer.totalMs);
      }
    }
    return clients.map(({ name, json, first, streams }) => [
      name,
      { jsonMs: warmMedian(json), firstByteMs: warmMedian(first), streamMs: warmMedian(streams) },
    ]);
  } finally {
    await Promise.all(clients.map(({ client }) => client.close()));
  }
}

function warmMedian(values: readonly number[]): number {
  return median(values.slice(Math.floor(values.length / 3)));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? (sorted[Math.floor(middle)] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}
