import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { whenThere } from '../../shared/async/maybe-promise.ts';
import type { CatalogBackend } from './catalog-backend.ts';
import type { ChangeableCatalog, ModelCatalog } from './model-catalog.ts';

/** A catalog of the backends that there are at the time of each question. `current` returns the same array until they change. */
export function withCurrentBackends(catalog: ChangeableCatalog, current: () => MaybePromise<readonly CatalogBackend[]>): ModelCatalog {
  const upToDate = (): MaybePromise<ModelCatalog> =>
    whenThere(current(), (backends) => {
      catalog.replaceBackends(backends);
      return catalog;
    });
  return {
    require: (id, signal, caller) => whenThere(upToDate(), (models) => models.require(id, signal, caller)),
    list: async (signal, caller) => (await upToDate()).list(signal, caller),
    loaded: async (signal) => (await upToDate()).loaded(signal),
    backends: async () => (await upToDate()).backends(),
    factsOf: async (backend) => (await upToDate()).factsOf(backend),
  };
}
