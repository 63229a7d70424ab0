import type { BackendConfig } from '../../../core/models/backend-config.ts';
import { deepFreeze } from '../../../shared/json/deep-freeze.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';
import { selectFirst, type Script } from '../database.ts';
import type { RowContent } from './stored-row.ts';

/** What is stored unencrypted. */
type StoredBackend = Omit<BackendConfig, 'key' | 'headers' | 'unreadableSecrets'>;

/** Ciphertexts by field: `key`, `header:<name>`. */
type EncryptedSecrets = Record<string, string>;

const headerField = 'header:';

/** A secret that cannot be decrypted is missing, and named in `unreadableSecrets`. @throws SyntaxError or TypeError for a row that another program wrote */
export function readBackendRow({ id, record, secrets }: RowContent, cipher: SecretCipher): BackendConfig {
  const headers: Record<string, string> = {};
  const unreadable: string[] = [];
  let key: string | undefined;
  for (const [field, encrypted] of Object.entries(JSON.parse(secrets) as EncryptedSecrets)) {
    const secret = cipher.decrypt(encrypted, { id, field });
    if (secret === undefined) unreadable.push(describeField(field));
    else if (field === 'key') key = secret;
    else headers[field.slice(headerField.length)] = secret;
  }
  const stored = JSON.parse(record) as StoredBackend;
  return deepFreeze({
    ...stored,
    headers,
    ...(key !== undefined && { key }),
    ...(unreadable.length > 0 && { unreadableSecrets: unreadable }),
  });
}

/** Secrets in `unreadableSecrets` stay as they are stored: they are readable again once the right secret is configured. */
export function toBackendRow(backend: BackendConfig, before: RowContent | undefined, cipher: SecretCipher): RowContent {
  const { name: id } = backend;
  const { key, headers, unreadableSecrets = [], ...shown } = backend;
  const given = Object.entries(headers).map(([name, value]): [string, string] => [headerField + name, value]);
  if (key !== undefined) given.push(['key', key]);
  const stored = before === undefined ? [] : Object.entries(JSON.parse(before.secrets) as EncryptedSecrets);
  const secrets: EncryptedSecrets = Object.fromEntries([
    ...stored.filter(([field]) => unreadableSecrets.includes(describeField(field))),
    ...given.map(([field, secret]) => [field, cipher.encrypt(secret, { id, field })]),
  ]);
  return { id, record: JSON.stringify(shown satisfies StoredBackend), secrets: JSON.stringify(secrets) };
}

/** As answers name it: `key`, `headers.x-token`. */
function describeField(field: string): string {
  return field.replace(headerField, 'headers.');
}

export function findBackendRow(id: string): Script<RowContent | undefined> {
  return selectFirst<RowContent>('SELECT id, record, secrets FROM backends WHERE id = ?', id);
}
