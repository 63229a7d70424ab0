import { originOf } from '../../../shared/text/document-url.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import { deepFreeze } from '../../../shared/json/deep-freeze.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import { describeField, isUntouchedPart, joinSecrets, splitSecrets, type StoredRecord } from '../../secrets/secret-parts.ts';
import { selectAll, selectFirst, type Script } from '../database.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';
import type { RowContent, StoredRow } from './stored-row.ts';

/** In `extra` of a listed record: the fields whose stored secret cannot be read, e.g. `["key", "headers.x-token", "oauth"]`. Never stored. */
const unreadableSecretsMark = 'unreadable_secrets';

/** `secrets` of a row. */
interface EncryptedSecrets {
  key?: string | undefined;
  headers: Record<string, string>;
  /** Secrets in `path`, and in fields that the gateway does not know; the key is the JSON of the path in the record. */
  parts?: Record<string, string> | undefined;
}

export interface ReadToolServer {
  /** Frozen. */
  record: ToolServerRecord;
  /** Fields whose secret cannot be decrypted. */
  unreadable: readonly string[];
}

/** @throws SyntaxError or TypeError for a row that another program wrote. */
export function readToolServerRow({ id, record: text, secrets }: RowContent, cipher: SecretCipher): ReadToolServer {
  const decrypted = new Map<string, string>();
  const unreadable: string[] = [];
  for (const [field, encrypted] of parseSecrets(secrets)) {
    const secret = cipher.decrypt(encrypted, { id, field });
    if (secret === undefined) unreadable.push(describeField(field));
    else decrypted.set(field, secret);
  }
  const record = joinSecrets(parseExactly(text) as StoredRecord, decrypted);
  if (unreadable.length > 0) record.extra = { ...record.extra, [unreadableSecretsMark]: unreadable };
  return { record: deepFreeze(record), unreadable };
}

/**
 * Converts a record to a row. Unchanged secrets keep their ciphertext, so that an unchanged record gives an unchanged row. Secrets that cannot be
 * decrypted are kept unless the record has a new value, because they are readable again once the right secret is configured.
 */
export function toToolServerRow(record: ToolServerRecord, before: RowContent | undefined, cipher: SecretCipher): RowContent {
  const { id } = record;
  const { [unreadableSecretsMark]: _mark, ...extra } = record.extra;
  const { shown, secrets } = splitSecrets({ ...record, extra });
  const encrypted = new Map<string, string>();
  const stored = before === undefined ? shown : (parseExactly(before.record) as StoredRecord);
  // An unreadable secret must not be sent to another origin once it is readable again.
  const isSameOrigin = originOf(stored.url) === originOf(record.url);
  const storedSecrets = before !== undefined && isSameOrigin ? parseSecrets(before.secrets) : new Map<string, string>();
  for (const [field, secret] of secrets) {
    const ciphertext = storedSecrets.get(field);
    const isUnchanged = ciphertext !== undefined && cipher.decrypt(ciphertext, { id, field }) === secret;
    encrypted.set(field, isUnchanged ? ciphertext : cipher.encrypt(secret, { id, field }));
  }
  const givenNames = new Set(Array.from(secrets.keys(), (field) => field.toLowerCase()));
  for (const [field, secret] of storedSecrets) {
    const isPart = field.startsWith('part:');
    const isReplaced = isPart ? secrets.has(field) || !isUntouchedPart(field, shown, stored) : givenNames.has(field.toLowerCase());
    if (!isReplaced && cipher.decrypt(secret, { id, field }) === undefined) encrypted.set(field, secret);
  }
  return { id, record: JSON.stringify(shown), secrets: formatSecrets(encrypted) };
}

/** Ciphertexts by `SecretField.field`. */
function parseSecrets(text: string): Map<string, string> {
  const { key, headers, parts = {} } = parseExactly(text) as EncryptedSecrets;
  return new Map([
    ...(key === undefined ? [] : [['key', key] as const]),
    ...Object.entries(headers).map(([name, secret]) => [`header:${name}`, secret] as const),
    ...Object.entries(parts).map(([name, secret]) => [`part:${name}`, secret] as const),
  ]);
}

function formatSecrets(secrets: ReadonlyMap<string, string>): string {
  const named = (prefix: string): Record<string, string> =>
    Object.fromEntries([...secrets].flatMap(([field, secret]) => (field.startsWith(prefix) ? [[field.slice(prefix.length), secret]] : [])));
  const parts = named('part:');
  const encrypted: EncryptedSecrets = {
    key: secrets.get('key'),
    headers: named('header:'),
    parts: Object.keys(parts).length === 0 ? undefined : parts,
  };
  return JSON.stringify(encrypted);
}

export function selectToolServers(): Script<StoredRow[]> {
  return selectAll<StoredRow>('SELECT id, position, record, secrets FROM tool_servers ORDER BY position');
}

export function findToolServerRow(id: string): Script<RowContent | undefined> {
  return selectFirst<RowContent>('SELECT id, record, secrets FROM tool_servers WHERE id = ?', id);
}
