import { isJsonObject, ownValue } from '../core/json.ts';
import type { JsonObject } from '../core/json.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import { deepFreeze } from './deep-freeze.ts';
import type { SecretCipher } from './encrypt-secrets.ts';

/** In `extra` of a listed record: the fields whose stored secret cannot be read, e.g. `["key", "headers.x-token"]`. Never stored. */
export const unreadableSecretsMark = 'unreadable_secrets';

/** A tool server as the database keeps it: `record` is JSON without secrets, `secrets` is JSON of sealed ones. */
export interface ToolServerRow {
  id: string;
  record: string;
  /** `{"key"?: sealed, "headers": {name: sealed}}` */
  secrets: string;
}

interface SealedSecrets {
  key?: string;
  headers: Record<string, string>;
}

export interface ReadToolServer {
  /** Frozen. */
  record: ToolServerRecord;
  /** Empty when all is well. */
  unreadable: readonly string[];
}

/** @throws SyntaxError for a row that somebody else wrote. */
export function readToolServerRow(row: ToolServerRow, cipher: SecretCipher): ReadToolServer {
  const stored = JSON.parse(row.record) as Omit<ToolServerRecord, 'key' | 'headers'>;
  const sealed = parseSecrets(row.secrets);
  const key = sealed.key === undefined ? undefined : cipher.decrypt(sealed.key, { id: row.id, field: 'key' });
  const opened = Object.entries(sealed.headers).map(([name, text]) => ({ name, value: openHeader(cipher, row.id, [name, text]) }));
  const unreadable = [
    ...(sealed.key !== undefined && key === undefined ? ['key'] : []),
    ...opened.flatMap(({ name, value }) => (value === undefined ? [`headers.${name}`] : [])),
  ];
  const record: ToolServerRecord = {
    ...stored,
    headers: Object.fromEntries(opened.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
    extra: unreadable.length === 0 ? stored.extra : { ...stored.extra, [unreadableSecretsMark]: unreadable },
    ...(key !== undefined && { key }),
  };
  return { record: deepFreeze(record), unreadable };
}

/**
 * A record as a row. Secrets that did not change keep their sealed text, so that an unchanged record stays an unchanged row.
 * Sealed ones that cannot be read are kept as they are unless the record brings a new value: with the right secret they open again.
 */
export function toToolServerRow(record: ToolServerRecord, before: ToolServerRow | undefined, cipher: SecretCipher): ToolServerRow {
  const { key, headers, ...rest } = record;
  const { [unreadableSecretsMark]: _mark, ...extra } = rest.extra;
  const old = before === undefined ? { headers: {} } : parseSecrets(before.secrets);
  const seal = (text: string, field: string, sealed: string | undefined): string =>
    sealed !== undefined && cipher.decrypt(sealed, { id: record.id, field }) === text
      ? sealed
      : cipher.encrypt(text, { id: record.id, field });

  const keptKey = old.key !== undefined && cipher.decrypt(old.key, { id: record.id, field: 'key' }) === undefined ? old.key : undefined;
  const sealedKey = key === undefined ? keptKey : seal(key, 'key', old.key);
  const given = Object.entries(headers).map(([name, value]) => [name, seal(value, `header:${name}`, ownText(old.headers, name))]);
  const givenNames = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const kept = Object.entries(old.headers).filter(
    (entry) => !givenNames.has(entry[0].toLowerCase()) && openHeader(cipher, record.id, entry) === undefined,
  );
  const secrets: SealedSecrets = {
    ...(sealedKey !== undefined && { key: sealedKey }),
    headers: Object.fromEntries([...given, ...kept]) as Record<string, string>,
  };
  return { id: record.id, record: JSON.stringify({ ...rest, extra }), secrets: JSON.stringify(secrets) };
}

function openHeader(cipher: SecretCipher, id: string, [name, sealed]: [string, string]): string | undefined {
  return cipher.decrypt(sealed, { id, field: `header:${name}` });
}

function parseSecrets(text: string): SealedSecrets {
  const parsed: unknown = JSON.parse(text);
  const secrets: JsonObject = isJsonObject(parsed) ? parsed : {};
  const key = ownValue(secrets, 'key');
  const headers = ownValue(secrets, 'headers');
  return { headers: (isJsonObject(headers) ? headers : {}) as Record<string, string>, ...(typeof key === 'string' && { key }) };
}

function ownText(texts: Record<string, string>, name: string): string | undefined {
  return Object.hasOwn(texts, name) ? texts[name] : undefined;
}
