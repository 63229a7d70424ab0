import type { ModelEvent } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import type { ModelBackend, ModelRecord, ModelRequest } from '../../core/models/model.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { waitUnlessAborted } from '../../shared/async/wait-for.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { CatalogBackend, SilentAddress } from '../catalog/catalog-backend.ts';
import type { AddressPool } from './address-pool.ts';

/** The list of one address arrives within this time, or is left out: before the catalog gives up the whole list. */
const listMs = limits.modelListTimeoutMs * 0.8;

/**
 * One backend in front of several, each of which reaches one address of the same entry. `backends`, `urls`: in the order of the pool's addresses.
 */
export function createRoutedBackend(
  backends: readonly [CatalogBackend, ...CatalogBackend[]],
  pool: AddressPool,
  urls: readonly string[],
): CatalogBackend {
  const [first] = backends;
  let silent: readonly SilentAddress[] = [];
  const at = (index: number): CatalogBackend => backends[index] ?? first;
  const { describe, loaded, embed } = first;
  return {
    ...first,
    backend: new RoutedBackend(
      backends.map(({ backend }) => backend),
      { pool, prefix: first.prefix },
    ),
    async list(signal) {
      const { records, errors } = await listAll(backends, pool, signal);
      silent = [...errors].map(([index, error]) => ({ url: urls[index] ?? '', error }));
      return records;
    },
    silentAddresses: () => silent,
    ...(describe !== undefined && { describe: (name, signal) => describeAtAny(pool.inOrder(name).map(at), name, signal) }),
    ...(loaded !== undefined && { loaded: (signal) => loadedAtAll(backends, signal) }),
    ...(embed !== undefined && {
      embed: (request) => {
        const { model, caller = '', signal } = request;
        return pool.run({ model, owner: caller, signal }, (index) => (at(index).embed ?? embed)(request));
      },
    }),
  };
}

interface Routing {
  pool: AddressPool;
  prefix: string | undefined;
}

/** Holds a slot of its address until the answer has ended. */
class RoutedBackend implements ModelBackend {
  readonly provider: string | undefined;
  readonly #backends: readonly ModelBackend[];
  readonly #pool: AddressPool;
  readonly #prefix: string;

  constructor(backends: readonly ModelBackend[], { pool, prefix }: Routing) {
    this.provider = backends[0]?.provider;
    this.#backends = backends;
    this.#pool = pool;
    this.#prefix = prefix === undefined ? '' : `${prefix}/`;
  }

  answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    const { model, origin, signal, attempts } = request;
    let hasBegun = false;
    const watched: Emit<ModelEvent> = (events) => {
      hasBegun ||= events.some(({ type }) => type !== 'run-event');
      return emit(events);
    };
    const pooled = {
      model,
      owner: origin?.callerId ?? '',
      signal,
      attempts,
      onPlace: (place: number) => emit([{ type: 'run-event', event: { type: 'queue', data: { model: this.#prefix + model, place } } }]),
      mayMove: () => !hasBegun,
      onMove: (fault: unknown) =>
        request.onRepeat?.({ ...request, purpose: { type: 'answer', ...request.purpose, reason: 'address_failed' } }, fault),
    };
    return this.#pool.run(pooled, async (index) => this.#backends[index]?.answer(request, watched));
  }
}

/** The models of all addresses that answer in time, and why the others do not, by their index. @throws what the first address throws if none answers */
async function listAll(
  backends: readonly CatalogBackend[],
  pool: AddressPool,
  signal: AbortSignal,
): Promise<{ records: ModelRecord[]; errors: ReadonlyMap<number, unknown> }> {
  const lists = await Promise.allSettled(
    backends.map(async (backend, index) => {
      const records = await listInTime(backend, signal);
      const ids = records.map(({ id }) => id);
      pool.noteModels(index, ids);
      return records;
    }),
  );
  const answered = lists.flatMap((list) => (list.status === 'fulfilled' ? [list.value] : []));
  const [first] = lists;
  if (answered.length === 0 && first?.status === 'rejected') throw first.reason;
  const byId = new Map<string, ModelRecord>();
  for (const record of answered.flat()) if (!byId.has(record.id)) byId.set(record.id, record);
  const errors = new Map(lists.flatMap((list, index) => (list.status === 'rejected' ? [[index, list.reason as unknown] as const] : [])));
  return { records: [...byId.values()], errors };
}

async function listInTime(backend: CatalogBackend, signal: AbortSignal): Promise<ModelRecord[]> {
  const limit = AbortSignal.timeout(listMs);
  const patience = AbortSignal.any([signal, limit]);
  try {
    return await waitUnlessAborted(backend.list(patience), patience);
  } catch (error) {
    throw limit.aborted ? new DOMException(`No answer within ${listMs / 1_000} s`, 'TimeoutError') : error;
  }
}

async function describeAtAny(backends: readonly CatalogBackend[], name: string, signal: AbortSignal): Promise<JsonObject> {
  const [backend, ...others] = backends;
  try {
    return (await backend?.describe?.(name, signal)) ?? {};
  } catch (error) {
    signal.throwIfAborted();
    if (others.length === 0) throw error;
    return describeAtAny(others, name, signal);
  }
}

async function loadedAtAll(backends: readonly CatalogBackend[], signal: AbortSignal): Promise<{ name: string; entry: JsonObject }[]> {
  const loaded = await Promise.all(backends.map(async (backend) => (await backend.loaded?.(signal).catch(() => [])) ?? []));
  const byName = new Map(loaded.flat().map((one) => [one.name, one]));
  return [...byName.values()];
}
