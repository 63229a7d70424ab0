import { runInWorker } from '../../workers/run-in-worker.ts';
import { jobOf } from '../../workers/worker-pool.ts';
import { parseStrictly } from '../parse-tool-calls/json/parse-json.ts';
import type { AnswerRepairs, repairJsonAsText } from '../parse-tool-calls/json/repair-json.ts';

/** Many times longer than the longest text takes. */
const repairingMs = 5_000;
const repairJob = jobOf<typeof repairJsonAsText>(new URL('../parse-tool-calls/json/repair-json.ts', import.meta.url), 'repairJsonAsText');

/**
 * Repairs in a worker the text for which the parser of an answer has paused. The parser can then be resumed. A text that cannot be repaired in time
 * stays damaged.
 * @throws the signal's reason
 */
export async function repairInWorker(
  repairs: AnswerRepairs,
  { caller, signal }: { caller: { readonly id: string }; signal: AbortSignal },
): Promise<void> {
  const data = repairs.awaited;
  if (data === undefined) return;
  let repaired: string | undefined;
  try {
    repaired = await runInWorker({ job: repairJob, data, caller: caller.id, signal, timeoutMs: repairingMs });
  } catch {
    signal.throwIfAborted();
  }
  repairs.settle(repaired === undefined ? undefined : parseStrictly(repaired));
}
