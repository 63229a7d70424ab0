import type { AnswerPlan } from './answer-text.ts';
import type { ChatWire } from './chat-wires.ts';
import { cpuMicroseconds, residentMegabytes } from './child-process.ts';
import { checkAnswer, createClient } from './load-generator.ts';
import type { Answer, Client, Target } from './load-generator.ts';

export interface Scenario {
  name: string;
  /** Default: chat completions. */
  wire?: ChatWire;
  stream: boolean;
  /** Questions at the same time. */
  concurrency: number;
  plan: Omit<AnswerPlan, 'name'>;
  /** What the request holds beside model, messages and `stream`. */
  body: object;
}

/** What one target did in one round. Figures of its process are undefined where there is no /proc, or no such process. */
export interface Round {
  answers: number;
  perSecond: number;
  meanMs: number;
  p99Ms: number;
  meanFirstByteMs: number;
  cpuPercent: number | undefined;
  cpuPerAnswerUs: number | undefined;
  cpuPerChunkUs: number | undefined;
  residentMb: number | undefined;
}

/** Opens the connections, and lets V8 compile the code, which it does on other threads whose time would count; itself not counted. */
const warmUpMs = 2_000;

/** Keeps `concurrency` questions going for the duration and counts those that were answered. */
export async function measureLoad(target: Target, scenario: Scenario, durationMs: number): Promise<Round> {
  const client = createClient(target, scenario.concurrency, scenario.wire);
  try {
    await askInParallel(client, scenario, performance.now() + Math.min(warmUpMs, durationMs));
    const cpuBefore = target.pid === undefined ? undefined : cpuMicroseconds(target.pid);
    const started = performance.now();
    const times = await askInParallel(client, scenario, started + durationMs);
    const elapsedMs = performance.now() - started;
    const cpuAfter = target.pid === undefined ? undefined : cpuMicroseconds(target.pid);
    const cpu = cpuBefore === undefined || cpuAfter === undefined ? undefined : cpuAfter - cpuBefore;
    const totals = times.map((time) => time.totalMs).sort((left, right) => left - right);
    return {
      answers: times.length,
      perSecond: (times.length / elapsedMs) * 1000,
      meanMs: mean(totals),
      p99Ms: totals[Math.floor(totals.length * 0.99)] ?? 0,
      meanFirstByteMs: mean(times.map((time) => time.firstByteMs)),
      cpuPercent: cpu === undefined ? undefined : (cpu / (elapsedMs * 1000)) * 100,
      cpuPerAnswerUs: cpu === undefined ? undefined : cpu / times.length,
      cpuPerChunkUs: cpu === undefined || !scenario.stream ? undefined : cpu / (times.length * scenario.plan.chunks),
      residentMb: target.pid === undefined ? undefined : residentMegabytes(target.pid),
    };
  } finally {
    await client.close();
  }
}

type Times = Pick<Answer, 'firstByteMs' | 'totalMs'>;

/** Asks until `until`; the answers under way then still count, and so does their time. */
async function askInParallel(client: Client, scenario: Scenario, until: number): Promise<Times[]> {
  const times: Times[] = [];
  const askOn = async (name: string): Promise<void> => {
    const plan = { ...scenario.plan, name };
    let expectedBytes: number | undefined;
    while (expectedBytes === undefined || performance.now() < until) {
      const answer = await client.ask(plan, scenario.stream, scenario.body);
      // The first answer is read in full; the same question has an answer of the same length each time after it.
      if (expectedBytes === undefined) checkAnswer(answer, plan, scenario.stream, scenario.wire);
      else if (scenario.wire?.hasFixedLength !== false && answer.bytes !== expectedBytes)
        throw new Error(`${answer.bytes} bytes instead of ${expectedBytes} for ${name}`);
      expectedBytes = answer.bytes;
      times.push({ firstByteMs: answer.firstByteMs, totalMs: answer.totalMs });
    }
  };
  await Promise.all(Array.from({ length: scenario.concurrency }, (_, index) => askOn(`stream-${String(index).padStart(4, '0')}`)));
  return times;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
