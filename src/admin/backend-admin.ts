import pLimit from 'p-limit';
import { GatewayError, invalidField, unknownId } from '../core/errors.ts';
import type { BackendConfig, BackendOrigin } from '../core/models/backend-config.ts';
import type { BackendVerification, ModelFacts } from '../core/models/backend-report.ts';
import { isJsonObject, type JsonObject } from '../shared/json/json.ts';
import type { MaybePromise } from '../shared/async/maybe-promise.ts';
import { toBackendWire, withoutShownOnly, type BackendState } from './backend-wire.ts';
import { droppedSecrets, mergeBackend } from './merge-backend.ts';

interface BackendAdminOptions {
  entries: {
    list(): MaybePromise<readonly BackendConfig[]>;
    create(backend: BackendConfig): Promise<void>;
    change(backend: BackendConfig): Promise<void>;
    delete(name: string): Promise<void>;
    requireStored(name: string): Promise<BackendConfig>;
  };
  /** `taken`: ids from which one without an id has to differ. @throws GatewayError `invalid_request` with `param` */
  parse: (value: unknown, origin: BackendOrigin, taken: ReadonlySet<string>) => BackendConfig;
  /** What the backends answered last, of all in the catalog. */
  states: () => Promise<(BackendState & { name: string })[]>;
  /** What the last list of a backend says about its models. */
  factsOf: (name: string) => Promise<readonly ModelFacts[]>;
  verify: (backend: BackendConfig, signal: AbortSignal) => Promise<BackendVerification>;
}

/** Administration of backends. Entries are returned as endpoints show them. Every function may reject with GatewayError `storage_unavailable`. */
export interface BackendAdmin {
  list(): Promise<JsonObject[]>;
  /** @throws GatewayError `not_found` */
  read(id: string): Promise<JsonObject>;
  /** @throws GatewayError `invalid_request`, `conflict` */
  create(value: unknown): Promise<JsonObject>;
  /** @throws GatewayError `invalid_request`, `not_found`, `read_only` */
  change(id: string, value: unknown): Promise<JsonObject>;
  /** @throws GatewayError `not_found`, `read_only` */
  delete(id: string): Promise<void>;
  /** Asks each server for its models now. @throws GatewayError `not_found` */
  verify(id: string, signal: AbortSignal): Promise<BackendVerification>;
  /** The same for an entry, which is not stored. @throws GatewayError `invalid_request` */
  verifyEntry(value: unknown, signal: AbortSignal): Promise<BackendVerification>;
}

export function createBackendAdmin({ entries, parse, states, factsOf, verify }: BackendAdminOptions): BackendAdmin {
  /** Serializes changes, so that each merge sees the result of the previous one. */
  const inTurn = pLimit(1);

  async function find(id: string): Promise<BackendConfig> {
    const found = (await entries.list()).find(({ name }) => name === id);
    if (found === undefined) throw unknownId('backend', id, 'GET /api/backends');
    return found;
  }

  async function show(id: string): Promise<JsonObject> {
    const reports = await states();
    return toBackendWire(
      await find(id),
      reports.find(({ name }) => name === id),
    );
  }

  return {
    async list() {
      const reports = new Map((await states()).map((report) => [report.name, report]));
      return (await entries.list()).map((backend) => toBackendWire(backend, reports.get(backend.name)));
    },
    read: async (id) => ({ ...(await show(id)), model_details: (await factsOf(id)).map((facts) => ({ ...facts })) }),
    create: (value) =>
      inTurn(async () => {
        const known = await entries.list();
        const taken = new Set(known.filter(({ isExplicit }) => isExplicit).map(({ name }) => name));
        const backend = parse(withoutShownOnly(value), 'api', taken);
        await entries.create(backend);
        return show(backend.name);
      }),
    change: (id, value) =>
      inTurn(async () => {
        const before = await entries.requireStored(id);
        if (!isJsonObject(value)) throw new GatewayError('invalid_request', 'The body must be a JSON object with the fields to change.');
        const change = withoutShownOnly(value) as JsonObject;
        if ((change['id'] ?? id) !== id || (change['name'] ?? id) !== id)
          throw invalidField('id', 'cannot be changed; create another backend instead.');
        const { entry, unreadable } = mergeBackend(before, change);
        const parsed = parse(entry, 'api', new Set());
        const changed = { ...parsed, ...(unreadable.length > 0 && { unreadableSecrets: unreadable }) };
        await entries.change(changed);
        return withDropped(await show(id), droppedSecrets(before, changed));
      }),
    delete: (id) => inTurn(() => entries.delete(id)),
    verify: async (id, signal) => verify(await find(id), signal),
    verifyEntry: async (value, signal) => verify(parse(withoutShownOnly(value), 'api', new Set()), signal),
  };
}

function withDropped(shown: JsonObject, dropped: readonly string[]): JsonObject {
  if (dropped.length === 0) return shown;
  const warning = `The backend has another origin now, so secrets for the previous one were dropped: ${dropped.join(', ')}. Send them again if they are meant for the new one.`;
  return { ...shown, warnings: [warning] };
}
