import { randomUUID } from 'node:crypto';
import type { KeyRecord } from '../../../core/stores/registry.ts';
import type { SecretCipher } from '../../secrets/encrypt-secrets.ts';

const userSecret = 'users:secret';

/** The secret that tokens of people are signed with is encrypted; all else of a key is no secret. */
export function writeKey(record: KeyRecord, cipher: SecretCipher): string {
  const { people } = record;
  if (people?.from !== 'jwt' || people.secret === undefined) return JSON.stringify(record);
  const secret = cipher.encrypt(people.secret, { id: record.id, field: userSecret });
  return JSON.stringify({ ...record, people: { ...people, secret } });
}

/** A secret that cannot be decrypted becomes one that signs nothing, so that the key lets nobody in. */
export function readKey(text: string, cipher: SecretCipher): KeyRecord {
  const record = JSON.parse(text) as KeyRecord;
  const { people } = record;
  if (people?.from !== 'jwt' || people.secret === undefined) return record;
  const secret = cipher.decrypt(people.secret, { id: record.id, field: userSecret }) ?? randomUUID();
  return { ...record, people: { ...people, secret } };
}
