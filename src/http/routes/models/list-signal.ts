import { limits } from '../../../core/limits.ts';

/** The time limit of a list of models; those of a backend that takes longer are left out. */
export function listSignal(): AbortSignal {
  return AbortSignal.timeout(2 * limits.modelListTimeoutMs);
}
