import type { parseJsonJob, ParsedJson, ParseTask } from './parse-json-job.ts';
import { attachExactNumbers } from './exact-numbers.ts';
import { runInWorker } from './run-in-worker.ts';
import { jobOf } from './worker-pool.ts';

/** Parsing a body in a worker: many times longer than the largest takes. */
const parseTimeoutMs = 10_000;

export type { ParsedJson, ParseTask, TooMuch } from './parse-json-job.ts';

const job = jobOf<typeof parseJsonJob>(new URL('./parse-json-job.ts', import.meta.url), 'parseJsonJob');

/**
 * Parses JSON in a worker thread, and returns it only within the task's limits, so that receiving it takes a few milliseconds. A buffer is transferred,
 * so the calling code must not use it afterwards.
 * @throws as `runInWorker`
 */
export async function parseJsonInWorker(
  task: ParseTask,
  { caller, signal }: { caller: string; signal?: AbortSignal | undefined },
): Promise<ParsedJson> {
  const parsed = await runInWorker({ job, data: task, transfer: buffersOf(task.source), caller, signal, timeoutMs: parseTimeoutMs });
  if (parsed.type !== 'value' || parsed.numbers === undefined) return parsed;
  return { type: 'value', value: attachExactNumbers(parsed.value, parsed.numbers) };
}

function buffersOf(source: string | Uint8Array): ArrayBuffer[] {
  if (typeof source === 'string' || !(source.buffer instanceof ArrayBuffer)) return [];
  return source.byteLength === source.buffer.byteLength ? [source.buffer] : [];
}
