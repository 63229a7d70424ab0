import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { originOf } from '../../shared/document-url.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import { deepFreeze } from '../../shared/deep-freeze.ts';
import type { SecretCipher } from '../secrets/encrypt-secrets.ts';
import { isPartUntouched, joinSecretParts, nameOfPart, splitSecretParts } from '../secrets/secret-parts.ts';
import type { StoredRecord } from '../secrets/secret-parts.ts';

/** In `extra` of a listed record: the fields whose stored secret cannot be read, e.g. `["key", "headers.x-token", "oauth"]`. Never stored. */
const unreadableSecretsMark = 'unreadable_secrets';

/** A tool server as the database keeps it: `record` is JSON without secrets, `secrets` is JSON of sealed ones. */
export interface ToolServerRow {
  id: string;
  record: string;
  /** `{"key"?: sealed, "headers": {name: sealed}, "parts"?: {place: sealed}}` */
  secrets: string;
}

interface SealedSecrets {
  key?: string;
  headers: Record<string, string>;
  /** Of fields that the gateway has no word for, and of the path; by the JSON of their place. */
  parts: Record<string, string>;
}

export interface ReadToolServer {
  /** Frozen. */
  record: ToolServerRecord;
  /** Empty when all is well. */
  unreadable: readonly string[];
}

/** @throws SyntaxError for a row that somebody else wrote. */
export function readToolServerRow(row: ToolServerRow, cipher: SecretCipher): ReadToolServer {
  const read = JSON.parse(row.record) as StoredRecord;
  const sealed = parseSecrets(row.secrets);
  const key = sealed.key === undefined ? undefined : cipher.decrypt(sealed.key, { id: row.id, field: 'key' });
  const opened = Object.entries(sealed.headers).map(([name, text]) => ({ name, value: openHeader(cipher, row.id, [name, text]) }));
  const parts = Object.entries(sealed.parts).map(([name, text]) => ({ name, value: openPart(cipher, row.id, [name, text]) }));
  const stored = joinSecretParts(read, new Map(parts.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))));
  const unreadable = [
    ...(sealed.key !== undefined && key === undefined ? ['key'] : []),
    ...opened.flatMap(({ name, value }) => (value === undefined ? [`headers.${name}`] : [])),
    ...parts.flatMap(({ name, value }) => (value === undefined ? [nameOfPart(name)] : [])),
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
  const { shown, secrets: parts } = splitSecretParts({ ...rest, extra });
  // What nobody can read now must not go to another origin once it can be read again.
  const lender = before !== undefined && isSameOrigin(JSON.parse(before.record) as StoredRecord, record) ? before : undefined;
  const old: SealedSecrets = lender === undefined ? { headers: {}, parts: {} } : parseSecrets(lender.secrets);
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
  const sealedParts = [...parts].map(([name, value]) => [name, seal(value, `part:${name}`, ownText(old.parts, name))]);
  const stored = before === undefined ? shown : (JSON.parse(before.record) as StoredRecord);
  const keptParts = Object.entries(old.parts).filter(
    (entry) => !parts.has(entry[0]) && openPart(cipher, record.id, entry) === undefined && isPartUntouched(shown, entry[0], stored),
  );
  const secrets = {
    ...(sealedKey !== undefined && { key: sealedKey }),
    headers: Object.fromEntries([...given, ...kept]) as Record<string, string>,
    ...(sealedParts.length + keptParts.length > 0 && {
      parts: Object.fromEntries([...sealedParts, ...keptParts]) as Record<string, string>,
    }),
  };
  return { id: record.id, record: JSON.stringify(shown), secrets: JSON.stringify(secrets) };
}

function isSameOrigin(one: StoredRecord, other: StoredRecord): boolean {
  return originOf(one.url) === originOf(other.url);
}

function openPart(cipher: SecretCipher, id: string, [name, sealed]: [string, string]): string | undefined {
  return cipher.decrypt(sealed, { id, field: `part:${name}` });
}

function openHeader(cipher: SecretCipher, id: string, [name, sealed]: [string, string]): string | undefined {
  return cipher.decrypt(sealed, { id, field: `header:${name}` });
}

function parseSecrets(text: string): SealedSecrets {
  const parsed: unknown = JSON.parse(text);
  const secrets: JsonObject = isJsonObject(parsed) ? parsed : {};
  const key = ownValue(secrets, 'key');
  return { headers: textsIn(secrets, 'headers'), parts: textsIn(secrets, 'parts'), ...(typeof key === 'string' && { key }) };
}

function textsIn(secrets: JsonObject, name: string): Record<string, string> {
  const texts = ownValue(secrets, name);
  return (isJsonObject(texts) ? texts : {}) as Record<string, string>;
}

function ownText(texts: Record<string, string>, name: string): string | undefined {
  return Object.hasOwn(texts, name) ? texts[name] : undefined;
}
