import { isDeepStrictEqual } from 'node:util';
import { originOf, toDocumentUrl } from '../shared/document-url.ts';
import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../shared/json.ts';
import { isJsonObject, ownValue } from '../shared/json.ts';
import type { Registry, ToolServerRecord } from '../core/registry.ts';
import { restoreUrl } from '../shared/secrets/secret-urls.ts';
import { droppedSecrets, keepSecrets, mergeConnection } from './merge-connection.ts';
import { rejectRedactedSecrets } from './reject-redacted-secrets.ts';
import { withoutShownOnly } from './tool-server-wire.ts';

/** Every chat looks at all of them. */
const maxToolServers = 1_000;

/** How connections are read; what they give has the origin `database`. @throws GatewayError `invalid_request` with `param`. */
export interface ConnectionParser {
  parseConnection: (value: unknown, idSource?: { title?: string | undefined; taken?: ReadonlySet<string> }) => ToolServerRecord;
  /** Ids that are derived are made different from each other. `titles`: of the entries' documents, by index. */
  parseConnections: (values: unknown, titles?: ReadonlyMap<number, string>) => ToolServerRecord[];
}

export interface ChangedToolServer {
  record: ToolServerRecord;
  /** Secrets that were given for the origin which the connection led to before, and were not taken over to the new one. */
  dropped: string[];
}

/** The registered tool servers under the rules of their administration. Every function may reject with GatewayError `storage_unavailable`. */
export interface ToolServerAdmin {
  list(): Promise<ToolServerRecord[]>;
  /** @throws GatewayError `not_found` */
  require(id: string): Promise<ToolServerRecord>;
  /** A connection that is not kept; the secrets of the one that leads to the same place fill in for those left out. */
  parse(value: unknown): Promise<ToolServerRecord>;
  /** An enabled connection that has no id of its own and leads to no known server: its id is to come from its document's title. */
  findUnnamed(value: unknown): Promise<ToolServerRecord | undefined>;
  /** `title`: of its document, for a connection without an id. @throws GatewayError `conflict` */
  create(value: unknown, title?: string): Promise<ToolServerRecord>;
  /** @throws GatewayError `not_found`, `read_only` */
  change(id: string, value: unknown): Promise<ChangedToolServer>;
  /** Replaces all that can be replaced; gives everything there is afterwards. @throws GatewayError `read_only` for a change to a fixed one. */
  replace(values: unknown, titles?: ReadonlyMap<number, string>): Promise<ChangedToolServer[]>;
  /** @throws GatewayError `not_found`, `read_only` */
  delete(id: string): Promise<void>;
}

export function createToolServerAdmin(registry: Registry, { parseConnection, parseConnections }: ConnectionParser): ToolServerAdmin {
  let last: Promise<unknown> = Promise.resolve();

  /** One change after the other: a merge must see what the merge before it wrote. */
  function inTurn<Value>(change: () => Promise<Value>): Promise<Value> {
    const turn = last.then(change);
    last = turn.catch(() => undefined);
    return turn;
  }

  // By way of the list: it also holds records whose secrets the store cannot read, which can be given new ones.
  async function requireRecord(id: string): Promise<ToolServerRecord> {
    const isWanted = (candidate: ToolServerRecord): boolean => candidate.id === id;
    const record = (await registry.listToolServers()).find(isWanted) ?? (await registry.listToolServers('all')).find(isWanted);
    if (record === undefined) throw new GatewayError('not_found', `There is no tool server "${id.slice(0, 100)}".`);
    return record;
  }

  return {
    // A part of them may be sent back as the whole.
    list: () => registry.listToolServers('all'),
    require: requireRecord,
    async parse(value) {
      if (!isJsonObject(value)) return parseConnection(value);
      const atPlace = findAtPlace(value, await registry.listToolServers());
      const before = findById(value, atPlace)[0] ?? atPlace[0];
      return parseConnection(before === undefined ? value : keepSecrets(before, value));
    },

    async findUnnamed(value) {
      if (!isJsonObject(value) || idOf(value) !== undefined) return undefined;
      if (findAtPlace(value, await registry.listToolServers()).length > 0) return undefined;
      const record = parsedOrUndefined(() => parseConnection(withoutShownOnly(value)));
      return record?.isEnabled === true ? record : undefined;
    },

    create: (value, title) =>
      inTurn(async () => {
        rejectRedactedSecrets(value);
        const known = await registry.listToolServers('all');
        const record = parseConnection(withoutShownOnly(value), { title, taken: new Set(known.map(({ id }) => id)) });
        const [same] = isJsonObject(value) && idOf(value) === undefined ? findAtPlace(value, known) : [];
        if (same !== undefined) {
          const cure = 'Change that one (PATCH), or give this connection an "id" of its own.';
          throw new GatewayError('conflict', `The tool server "${same.id}" leads to the same document. ${cure}`);
        }
        if (known.length >= maxToolServers)
          throw new GatewayError('conflict', `There are ${maxToolServers} tool servers already; delete some first.`);
        await registry.createToolServer(record);
        return requireRecord(record.id);
      }),

    change: (id, value) =>
      inTurn(async () => {
        const before = await requireRecord(id);
        if (!isJsonObject(value)) throw new GatewayError('invalid_request', 'The body must be a JSON object with the fields to change.');
        if (value['id'] !== undefined && value['id'] !== id)
          throw new GatewayError('invalid_request', 'id: cannot be changed; create another connection instead.', { param: 'id' });
        const changed = { ...parseConnection(mergeConnection(before, value)), id };
        await registry.changeToolServer(changed);
        return { record: await requireRecord(id), dropped: droppedAt(before, changed) };
      }),

    replace: (values, titles) =>
      inTurn(async () => {
        const records = await registry.listToolServers('all');
        const wanted = parseConnections(withSecretsOf(records, values), titles);
        for (const record of wanted) requireUnchanged(record, records);
        await registry.replaceToolServers(wanted);
        return (await registry.listToolServers('all')).map((record) => {
          const before = records.find(({ id }) => id === record.id);
          return { record, dropped: before === undefined ? [] : droppedAt(before, record) };
        });
      }),

    delete: (id) => inTurn(() => registry.deleteToolServer(id)),
  };
}

/** What is wrong with it is told by whoever creates it. */
function parsedOrUndefined(parse: () => ToolServerRecord): ToolServerRecord | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

function droppedAt(before: ToolServerRecord, after: ToolServerRecord): string[] {
  return originOf(before.url) === originOf(after.url) ? [] : droppedSecrets(before, after);
}

/**
 * Each entry of a new list with the secrets of the record it stands for: the one of its id, else one that leads to the same place. A record
 * lends its secrets once, first to its id: two entries for one address are two connections.
 */
function withSecretsOf(records: readonly ToolServerRecord[], values: unknown): unknown {
  if (!Array.isArray(values)) return values;
  const entries = values.map((value: unknown) => withoutShownOnly(value));
  const left = new Set(records);
  const before = new Map<unknown, ToolServerRecord>();
  for (const find of [findById, findAtPlace]) {
    for (const entry of entries) {
      const [found] = isJsonObject(entry) && !before.has(entry) ? find(entry, [...left]) : [];
      if (found === undefined) continue;
      left.delete(found);
      before.set(entry, found);
    }
  }
  return entries.map((entry, index) => {
    const record = before.get(entry);
    if (record === undefined || !isJsonObject(entry)) {
      rejectRedactedSecrets(values[index]);
      return entry;
    }
    const kept = keepSecrets(record, entry);
    return idOf(entry) === undefined ? { ...kept, id: record.id } : kept;
  });
}

function findById(entry: JsonObject, records: readonly ToolServerRecord[]): ToolServerRecord[] {
  const wanted = idOf(entry);
  return records.filter(({ id }) => id === wanted);
}

/** A list that was read, changed and sent back names the fixed ones too. */
function requireUnchanged(record: ToolServerRecord, records: readonly ToolServerRecord[]): void {
  const fixed = records.find(({ id, origin }) => id === record.id && (origin === 'environment' || origin === 'file'));
  if (fixed === undefined || isDeepStrictEqual(asWritten(record, fixed), asWritten(fixed, fixed))) return;
  const place = fixed.origin === 'file' ? 'the configuration file (tool_servers)' : 'the environment (TOOL_SERVER_CONNECTIONS)';
  throw new GatewayError('read_only', `Tool server "${fixed.id}" comes from ${place}; change it there and restart the gateway.`);
}

/** Without what nobody writes: where it comes from, what it was called before, and the process, which is never shown. */
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

function findAtPlace(entry: JsonObject, records: readonly ToolServerRecord[]): ToolServerRecord[] {
  if (typeof entry['url'] !== 'string') return [];
  const { url, path } = toDocumentUrl(entry['url'].trim(), typeof entry['path'] === 'string' ? entry['path'].trim() : undefined);
  return records.filter((record) => placeOf(record.url, record.path) === placeOf(url, restoreUrl(record.path, path)));
}

/** Slashes between address and path carry no meaning. */
function placeOf(url: string, path: string): string {
  return `${url.trim().replace(/\/+$/, '')} ${path.trim().replace(/^\/+/, '')}`;
}
