import { isModelAllowed, type Caller } from '../../../core/callers/caller.ts';
import { limits } from '../../../core/limits.ts';
import type { ModelFinder } from '../../../core/models/model.ts';

/** The model for a frame `message` without `model`: the first one listed that the caller may use. */
export function createDefaultModel(models: Pick<ModelFinder, 'list'>): (caller: Caller) => Promise<string | undefined> {
  return async (caller) => {
    const listed = await models.list(AbortSignal.timeout(2 * limits.modelListTimeoutMs));
    return listed.find(({ id }) => isModelAllowed(caller, id))?.id;
  };
}
