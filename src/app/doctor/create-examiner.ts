import type { Section } from '../../core/finding.ts';
import type { ExaminedRunning } from './examine-running.ts';

/** How long one examination may take; what has not answered by then is among its findings. Clients wait for it. */
const examinationMs = 30_000;

/**
 * Examines the gateway while it serves, on request. Who asks during an examination gets the findings of that one, so that no number of requests
 * makes the gateway ask its backends and tool servers more often.
 */
export function createExaminer(running: ExaminedRunning): () => Promise<Section[]> {
  let current: Promise<Section[]> | undefined;
  async function examineOnce(): Promise<Section[]> {
    // Most gateways are never asked.
    const { examineRunning } = await import('./examine-running.ts');
    return examineRunning(running, AbortSignal.timeout(examinationMs));
  }
  return () => {
    current ??= examineOnce().finally(() => (current = undefined));
    return current;
  };
}
