import { setImmediate as nextTick } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import { GatewayError, invalidField, unknownId } from '../core/errors.ts';
import type { Origin, Registry, ToolServerRecord } from '../core/stores/registry.ts';
import type { ToolServerInspector, ToolServerReport } from '../core/tools/tool-server-report.ts';
import { toDocumentUrl, withoutSlashesAtEnd } from '../shared/text/document-url.ts';
import { isJsonObject, ownValue, type JsonObject } from '../shared/json/json.ts';
import { redactUrl, restoreUrl } from '../shared/secrets/secret-urls.ts';
import { droppedSecrets, keepSecrets, mergeConnection, rejectRedactedSecrets } from './merge-connection.ts';
import { parallelLoads } from './tool-server-reports.ts';
import { withoutShownOnly } from './tool-server-wire.ts';

/** Every chat iterates over all of them. */
const maxToolServers = 1_000;

interface ToolServerAdminOptions {
  registry: Registry;
  inspector: Pick<ToolServerInspector, 'verify'>;
  /** `title`: the title of the server's document; `taken`: ids that are in use. @throws GatewayError `invalid_request` with `param` */
  parseConnection: (value: unknown, origin: Origin, ids?: { title?: string | undefined; taken?: ReadonlySet<string> }) => ToolServerRecord;
  /** Derived ids are unique. `titles`: the titles of the entries' documents, by index. */
  parseConnections: (values: unknown, origin: Origin, ids: { titles: ReadonlyMap<number, string> }) => ToolServerRecord[];
}

export interface ChangedToolServer {
  record: ToolServerRecord;
  /** Secrets that were dropped because the new URL has another origin. */
  dropped: string[];
}

/**
 * Administration of registered tool servers. The id of a new connection without one is derived from the title of its document,
 * which is loaded for this. Every function may reject with GatewayError `storage_unavailable`, those with a signal also with its reason.
 */
export interface ToolServerAdmin {
  list(): Promise<readonly ToolServerRecord[]>;
  /** @throws GatewayError `not_found` */
  require(id: string): Promise<ToolServerRecord>;
  /** Inspects a connection without storing it. Omitted secrets are taken from a stored connection to the same document. */
  verify(value: unknown, signal: AbortSignal): Promise<ToolServerReport>;
  /** @throws GatewayError `conflict` */
  create(value: unknown, signal: AbortSignal): Promise<ToolServerRecord>;
  /** @throws GatewayError `not_found`, `read_only` */
  change(id: string, value: unknown): Promise<ChangedToolServer>;
  /** Replaces all stored connections; returns all that exist afterwards. @throws GatewayError `read_only` for a change to one of the configuration. */
  replace(values: unknown, signal: AbortSignal): Promise<ChangedToolServer[]>;
  /** @throws GatewayError `not_found`, `read_only` */
  delete(id: string): Promise<void>;
}

export function createToolServerAdmin(options: ToolServerAdminOptions): ToolServerAdmin {
  return new RegisteredToolServers(options);
}

class RegisteredToolServers implements ToolServerAdmin {
  readonly #options: ToolServerAdminOptions;
  /** Serializes changes, so that each merge sees the result of the previous one. */
  readonly #inTurn = pLimit(1);

  constructor(options: ToolServerAdminOptions) {
    this.#options = options;
  }

  // All are needed, because the list may be sent back to replace everything.
  async list(): Promise<readonly ToolServerRecord[]> {
    return this.#options.registry.listToolServers('all');
  }

  // From the list, which includes records whose secrets cannot be decrypted: they can still be changed and get new secrets.
  async require(id: string): Promise<ToolServerRecord> {
    const isWanted = (candidate: ToolServerRecord): boolean => candidate.id === id;
    const record =
      (await this.#options.registry.listToolServers()).find(isWanted) ??
      (await this.#options.registry.listToolServers('all')).find(isWanted);
    if (record === undefined) throw unknownId('tool server', id, 'GET /api/tool-servers');
    return record;
  }

  async verify(value: unknown, signal: AbortSignal): Promise<ToolServerReport> {
    const same = isJsonObject(value) ? new KnownRecords(await this.#options.registry.listToolServers()).withSameDocument(value) : [];
    if (!isJsonObject(value) || same[0] === undefined)
      return this.#options.inspector.verify(this.#options.parseConnection(value, 'database'), signal);
    const before = same.find(({ id }) => id === idOf(value)) ?? same[0];
    return this.#options.inspector.verify(this.#options.parseConnection(keepSecrets(before, value), 'database'), signal);
  }

  async create(value: unknown, signal: AbortSignal): Promise<ToolServerRecord> {
    const title = await this.#titleFor(value, new KnownRecords(await this.#options.registry.listToolServers()), signal);
    return this.#inTurn(async () => {
      rejectRedactedSecrets(value);
      const known = await this.#options.registry.listToolServers('all');
      const taken = new Set(known.map(({ id }) => id));
      const record = this.#options.parseConnection(withoutShownOnly(value), 'database', { title, taken });
      const [same] = isJsonObject(value) && idOf(value) === undefined ? new KnownRecords(known).withSameDocument(value) : [];
      if (same !== undefined) {
        const cure = `Change that one with PATCH /api/tool-servers/${same.id}, or give this connection an "id" of its own.`;
        throw new GatewayError('conflict', `The tool server "${same.id}" leads to the same document. ${cure}`);
      }
      if (known.some(({ id, origin }) => id === record.id && (origin === 'database' || origin === 'bundled'))) {
        const cure = `Change it with PATCH /api/tool-servers/${record.id}, or choose another id.`;
        throw new GatewayError('conflict', `There is already a tool server "${record.id}". ${cure}`);
      }
      if (known.length >= maxToolServers)
        throw new GatewayError('conflict', `There are ${maxToolServers} tool servers already; delete some first.`);
      await this.#options.registry.createToolServer(record);
      return this.require(record.id);
    });
  }

  change(id: string, value: unknown): Promise<ChangedToolServer> {
    return this.#inTurn(async () => {
      const before = await this.require(id);
      if (!isJsonObject(value)) throw new GatewayError('invalid_request', 'The body must be a JSON object with the fields to change.');
      if (value['id'] !== undefined && value['id'] !== id)
        throw invalidField('id', 'cannot be changed; create another connection instead.');
      const changed = { ...this.#options.parseConnection(mergeConnection(before, value), 'database'), id };
      await this.#options.registry.changeToolServer(changed);
      return { record: await this.require(id), dropped: droppedSecrets(before, changed) };
    });
  }

  async replace(values: unknown, signal: AbortSignal): Promise<ChangedToolServer[]> {
    requireFewEnough(values);
    const titles = await this.#titlesFor(values, signal);
    return this.#inTurn(async () => {
      const before = new KnownRecords(await this.#options.registry.listToolServers('all'));
      const completed = withSecretsOf(before, values);
      // Each step takes some ten milliseconds for a thousand connections.
      await nextTick();
      const wanted = this.#options.parseConnections(completed, 'database', { titles });
      await nextTick();
      for (const record of wanted) requireUnchanged(record, before.byId.get(record.id));
      await this.#options.registry.replaceToolServers(wanted);
      return (await this.#options.registry.listToolServers('all')).map((record) => {
        const same = before.byId.get(record.id);
        return { record, dropped: same === undefined ? [] : droppedSecrets(same, record) };
      });
    });
  }

  delete(id: string): Promise<void> {
    return this.#inTurn(() => this.#options.registry.deleteToolServer(id));
  }

  /** Undefined if no id has to be derived, and for an unreachable server, whose id is derived from its URL. */
  async #titleFor(value: unknown, known: KnownRecords, signal: AbortSignal): Promise<string | undefined> {
    if (!isJsonObject(value) || idOf(value) !== undefined || known.withSameDocument(value).length > 0) return undefined;
    const record = parsedOrUndefined(() => this.#options.parseConnection(withoutShownOnly(value), 'database'));
    if (record?.isEnabled !== true) return undefined;
    const title = (await this.#options.inspector.verify(record, signal)).info?.['title'];
    return typeof title === 'string' ? title : undefined;
  }

  async #titlesFor(values: unknown, signal: AbortSignal): Promise<Map<number, string>> {
    const load = pLimit(parallelLoads);
    const entries = Array.isArray(values) ? values : [];
    const known = new KnownRecords(await this.#options.registry.listToolServers());
    const titles = await Promise.all(entries.map((value: unknown) => load(() => this.#titleFor(value, known, signal))));
    return new Map(titles.flatMap((title, index) => (title === undefined ? [] : [[index, title] as const])));
  }
}

/** Before anything is done for each of them. @throws GatewayError `invalid_request` */
function requireFewEnough(values: unknown): void {
  if (Array.isArray(values) && values.length > maxToolServers)
    throw new GatewayError('invalid_request', `There may be at most ${maxToolServers} tool servers, and the list has ${values.length}.`);
}

/** Errors are ignored here; they are reported when the connection is created. */
function parsedOrUndefined(parse: () => ToolServerRecord): ToolServerRecord | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/**
 * Adds to each entry of a new list the secrets of the record that it replaces: the one with its id, else one with the same document. The secrets of a
 * record are used only once, preferably by id: two entries with one URL are two connections.
 */
function withSecretsOf(records: KnownRecords, values: unknown): unknown {
  if (!Array.isArray(values)) return values;
  const entries = values.map((value: unknown) => withoutShownOnly(value));
  const used = new Set<ToolServerRecord>();
  const before = new Map<unknown, ToolServerRecord>();
  const byId = (entry: JsonObject): ToolServerRecord[] => [records.byId.get(idOf(entry) ?? '')].filter((record) => record !== undefined);
  for (const find of [byId, (entry: JsonObject) => records.withSameDocument(entry)]) {
    for (const entry of entries) {
      const found = isJsonObject(entry) && !before.has(entry) ? find(entry).find((record) => !used.has(record)) : undefined;
      if (found === undefined) continue;
      used.add(found);
      before.set(entry, found);
    }
  }
  return entries.map((entry, index) => {
    const record = before.get(entry);
    if (record === undefined || !isJsonObject(entry)) {
      rejectRedactedSecrets(values[index]);
      return entry;
    }
    const completed = keepSecrets(record, entry);
    return idOf(entry) === undefined ? { ...completed, id: record.id } : completed;
  });
}

/** Connections of the configuration may be in the list, because clients send back what they read, but they must be unchanged. */
function requireUnchanged(record: ToolServerRecord, fixed: ToolServerRecord | undefined): void {
  if (fixed?.origin !== 'environment' && fixed?.origin !== 'file') return;
  if (isDeepStrictEqual(asWritten(record, fixed), asWritten(fixed, fixed))) return;
  const source = fixed.origin === 'file' ? 'the configuration file (tool_servers)' : 'the environment (TOOL_SERVER_CONNECTIONS)';
  throw new GatewayError('read_only', `Tool server "${fixed.id}" comes from ${source}; change it there and restart the gateway.`);
}

/** Without fields that clients never send: the origin, the wanted id, and the process, which is never shown. */
function asWritten(
  { wantedId: _wantedId, process: _process, ...record }: ToolServerRecord,
  { origin }: ToolServerRecord,
): ToolServerRecord {
  return { ...record, origin };
}

function idOf(entry: JsonObject): string | undefined {
  const info = ownValue(entry, 'info');
  const ids = [ownValue(entry, 'id'), isJsonObject(info) ? ownValue(info, 'id') : undefined];
  return ids.find((id): id is string => typeof id === 'string' && id !== '');
}

/** Records to be found by what a thousand entries of a list say about them. */
class KnownRecords {
  readonly byId: ReadonlyMap<string, ToolServerRecord>;
  readonly #byDocument: ReadonlyMap<string, ToolServerRecord[]>;

  constructor(records: readonly ToolServerRecord[]) {
    this.byId = new Map(records.map((record) => [record.id, record]));
    this.#byDocument = Map.groupBy(records, ({ url, path }) => documentOf(url, redactUrl(path)));
  }

  /** The path of the entry may hold secrets, or be redacted as answers show it. */
  withSameDocument(entry: JsonObject): ToolServerRecord[] {
    if (typeof entry['url'] !== 'string') return [];
    const { url, path } = toDocumentUrl(entry['url'].trim(), typeof entry['path'] === 'string' ? entry['path'].trim() : undefined);
    const alike = this.#byDocument.get(documentOf(url, redactUrl(path))) ?? [];
    return alike.filter((record) => documentOf('', record.path) === documentOf('', restoreUrl(record.path, path)));
  }
}

/** Slashes between URL and path are ignored. */
function documentOf(url: string, path: string): string {
  return `${withoutSlashesAtEnd(url.trim())} ${path.trim().replace(/^\/+/, '')}`;
}
