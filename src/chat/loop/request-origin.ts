import type { RequestOrigin } from '../../core/models/model.ts';
import type { ToolOffer } from '../../core/tools/tool.ts';

/** The origin of the model requests of a run. `offer`: its tools may change during the run. */
export function originOf(caller: { readonly id: string }, offer: Pick<ToolOffer, 'tools'>): RequestOrigin {
  return new RunOrigin(caller.id, offer);
}

/** A class, because one is made for each chat. */
class RunOrigin implements RequestOrigin {
  readonly callerId: string;
  readonly #offer: Pick<ToolOffer, 'tools'>;

  constructor(callerId: string, offer: Pick<ToolOffer, 'tools'>) {
    this.callerId = callerId;
    this.#offer = offer;
  }

  sourceOf(name: string): { server: string; isOwn: boolean } | undefined {
    const tool = this.#offer.tools.get(name);
    return tool && { server: tool.server, isOwn: tool.isFromRequest === true };
  }
}
