import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
/** Version of the stored format; must change with the algorithm. */
const version = 'v1:';
/** 96 bits, as NIST SP 800-38D recommends for initialization vectors (section 5.2.1.1). */
const vectorBytes = 12;
const tagBytes = 16;
/** HKDF `info`, which makes the keys derived from one secret independent (RFC 5869, section 3.2). */
const keyLabels = {
  tool_server: 'toolwharf stored tool server credentials v1',
  backend: 'toolwharf stored backend credentials v1',
  waiting_run: 'toolwharf stored waiting runs v1',
  chat_memory: 'toolwharf stored memory of chats v1',
  stored_response: 'toolwharf stored responses v1',
  credential: 'toolwharf credentials of people v1',
  oauth_client: 'toolwharf registrations with authorization servers v1',
  sign_in: 'toolwharf sign-ins of people v1',
  thought: 'toolwharf thoughts that clients return v1',
  login: 'toolwharf logins at the console v1',
  grant: 'toolwharf grants to programs v1',
} as const;

/** The field to which a ciphertext is bound: copied to another record or field, it cannot be decrypted. */
export interface SecretField {
  id: string;
  /** `key`, `header:<name>`, `users:secret`, `part:<path>`, `run:…`, `answer:…`, `response`, `credential:<server>`, a redirect address, `begun`, `pending`, caller and server of a sign-in, the ids of a grant's record, `thought`, or the kind of a note. */
  field: string;
}

export interface SecretCipher {
  encrypt(text: string, field: SecretField): string;
  /** Undefined if the text was encrypted with another secret or for another field, or was changed. */
  decrypt(encrypted: string, field: SecretField): string | undefined;
}

export function createSecretCipher(secret: string, kind: keyof typeof keyLabels = 'tool_server'): SecretCipher {
  const key = Buffer.from(hkdfSync('sha256', secret, '', keyLabels[kind], 32));
  /** Additional authenticated data. JSON, so that different ids and fields never concatenate to the same bytes. */
  const toAad = ({ id, field }: SecretField): Buffer => Buffer.from(JSON.stringify([kind, id, field]));
  return {
    encrypt(text, field) {
      const vector = randomBytes(vectorBytes);
      const cipher = createCipheriv(algorithm, key, vector, { authTagLength: tagBytes }).setAAD(toAad(field));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return version + Buffer.concat([vector, cipher.getAuthTag(), body]).toString('base64url');
    },
    decrypt(encrypted, field) {
      if (!encrypted.startsWith(version)) return undefined;
      const bytes = Buffer.from(encrypted.slice(version.length), 'base64url');
      if (bytes.length < vectorBytes + tagBytes) return undefined;
      const vector = bytes.subarray(0, vectorBytes);
      const tag = bytes.subarray(vectorBytes, vectorBytes + tagBytes);
      const decipher = createDecipheriv(algorithm, key, vector, { authTagLength: tagBytes }).setAAD(toAad(field)).setAuthTag(tag);
      try {
        return Buffer.concat([decipher.update(bytes.subarray(vectorBytes + tagBytes)), decipher.final()]).toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}
