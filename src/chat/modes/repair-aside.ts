import { runAside } from '../../workers/run-aside.ts';
import { jobOf } from '../../workers/worker-pool.ts';
import { parseStrictly } from '../parse-tool-calls/parse-json.ts';
import type { AnswerRepairs, repairJsonAsText } from '../parse-tool-calls/repair-json.ts';

/** Many times what the longest text needs. */
const repairingMs = 5_000;
const repairJob = jobOf<typeof repairJsonAsText>(new URL('../parse-tool-calls/repair-json.ts', import.meta.url), 'repairJsonAsText');

/**
 * Repairs the text for which the parser of an answer has paused, in a worker. The parser can then be resumed. What cannot be repaired in time stays
 * damaged.
 * @throws the signal's reason
 */
export async function repairAside(
  repairs: AnswerRepairs,
  { caller, signal }: { caller: { readonly id: string }; signal: AbortSignal },
): Promise<void> {
  const data = repairs.awaited;
  if (data === undefined) return;
  let repaired: string | undefined;
  try {
    repaired = await runAside({ job: repairJob, data, caller: caller.id, signal, timeoutMs: repairingMs });
  } catch {
    signal.throwIfAborted();
  }
  repairs.settle(repaired === undefined ? undefined : parseStrictly(repaired));
}
