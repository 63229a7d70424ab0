import type { RequestOrigin } from '../../core/models/model.ts';
import type { Tool } from '../../core/tools/tool.ts';

/** The origin of the model requests of a run. `tools`: those on offer, which may change during it. */
export function originOf(caller: { readonly id: string }, tools: () => ReadonlyMap<string, Tool>): RequestOrigin {
  return {
    callerId: caller.id,
    sourceOf(name) {
      const tool = tools().get(name);
      return tool && { server: tool.server, isOwn: tool.isFromRequest === true };
    },
  };
}
