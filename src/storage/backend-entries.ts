import { GatewayError, unknownId } from '../core/errors.ts';
import type { BackendConfig } from '../core/models/backend-config.ts';
import type { Registry } from '../core/stores/registry.ts';
import type { MaybePromise } from '../shared/async/maybe-promise.ts';
import { keepLast } from '../shared/keep-last.ts';

/** Stored backends; every model list requests all of them. */
const maxStored = 64;

/** The backends of the configuration, and those that administrators have added. A change is durable when its promise resolves. */
export interface BackendEntries {
  /**
   * In the order in which they are searched for a model. The same array, and the same objects in it, until something changes. While the store cannot be
   * read, the last ones that were.
   */
  list(): MaybePromise<readonly BackendConfig[]>;
  /** @throws GatewayError `conflict` for an id that is taken, `storage_unavailable` */
  create(backend: BackendConfig): Promise<void>;
  /** @throws GatewayError `read_only`, `not_found`, `storage_unavailable` */
  change(backend: BackendConfig): Promise<void>;
  /** @throws as `change` */
  delete(name: string): Promise<void>;
  /** @throws GatewayError `read_only` for a backend of the configuration, `not_found` */
  requireStored(name: string): Promise<BackendConfig>;
}

interface BackendEntriesOptions {
  registry: Pick<Registry, 'listBackends' | 'createBackend' | 'changeBackend' | 'deleteBackend'>;
  /** Of the environment and the file. They override stored ones with the same id. */
  fixed: readonly BackendConfig[];
}

export function createBackendEntries({ registry, fixed }: BackendEntriesOptions): BackendEntries {
  let current = fixed;

  const combine = keepLast((stored: readonly BackendConfig[]): readonly BackendConfig[] => {
    // The Ollama that is looked for where it usually is gives way.
    const isReplaced = ({ name }: BackendConfig): boolean => stored.some((one) => one.kind === 'ollama' || one.name === name);
    const configured = fixed.filter((backend) => backend.isExplicit || !isReplaced(backend));
    const names = new Set(configured.map(({ name }) => name));
    const next = [...configured, ...stored.filter(({ name }) => !names.has(name))];
    const isSame = next.length === current.length && next.every((backend, index) => backend === current[index]);
    if (!isSame) current = next;
    return current;
  });

  async function requireStored(name: string): Promise<BackendConfig> {
    const found = combine(await registry.listBackends()).find((backend) => backend.name === name);
    if (found === undefined) throw unknownId('backend', name, 'GET /api/backends');
    if (found.origin !== 'api') throw readOnly(found);
    return found;
  }

  return {
    requireStored,
    list() {
      const stored = registry.listBackends();
      return stored instanceof Promise ? stored.then(combine, (error: unknown) => lastKnown(error, current)) : combine(stored);
    },
    async create(backend) {
      const known = combine(await registry.listBackends());
      const same = known.find(({ name, isExplicit }) => name === backend.name && isExplicit);
      if (same !== undefined && same.origin !== 'api')
        throw new GatewayError('conflict', `There is already a backend "${same.name}": it comes from ${placeOf(same)}. Choose another id.`);
      if (known.filter(({ origin }) => origin === 'api').length >= maxStored)
        throw new GatewayError('conflict', `There are ${maxStored} stored backends already. Delete one first.`);
      await registry.createBackend(backend);
    },
    async change(backend) {
      await requireStored(backend.name);
      await registry.changeBackend(backend);
    },
    async delete(name) {
      await requireStored(name);
      await registry.deleteBackend(name);
    },
  };
}

/** @throws the error, unless the store cannot be read */
function lastKnown(error: unknown, current: readonly BackendConfig[]): readonly BackendConfig[] {
  if (error instanceof GatewayError && error.code === 'storage_unavailable') return current;
  throw error;
}

function readOnly(backend: BackendConfig): GatewayError {
  return new GatewayError(
    'read_only',
    `The backend "${backend.name}" comes from ${placeOf(backend)}. Change it there and restart the gateway.`,
  );
}

function placeOf({ origin, kind, isExplicit }: BackendConfig): string {
  if (!isExplicit) return 'the default of OLLAMA_BASE_URLS';
  if (origin === 'file') return 'the configuration file';
  return `the environment (${kind === 'ollama' ? 'OLLAMA_BASE_URLS' : 'OPENAI_API_BASE_URLS, OPENAI_API_KEYS'})`;
}
