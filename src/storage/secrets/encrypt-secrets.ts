import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
/** Of the form of the text; another algorithm gets another one. */
const version = 'v1:';
/** NIST SP 800-38D, section 5.2.1.1: 96 bits for a random vector. */
const vectorBytes = 12;
const tagBytes = 16;
/** Separates each key from every other one that is made of the same secret (RFC 5869, section 3.2). */
const keyLabels = {
  tool_server: 'toolwharf stored tool server credentials v1',
  waiting_run: 'toolwharf stored waiting runs v1',
  chat_memory: 'toolwharf stored memory of chats v1',
} as const;

/** The field of a record that a secret is encrypted for: copied to another record or field, it cannot be decrypted. */
export interface SecretField {
  id: string;
  /** `key`, `header:<name>`, `part:<path>`, `run:…`, `answer:…`, or the kind of a note. */
  field: string;
}

export interface SecretCipher {
  encrypt(text: string, field: SecretField): string;
  /** Undefined when it was made with another secret, for another field, or was changed. */
  decrypt(encrypted: string, field: SecretField): string | undefined;
}

export function createSecretCipher(secret: string, kind: keyof typeof keyLabels = 'tool_server'): SecretCipher {
  const key = Buffer.from(hkdfSync('sha256', secret, '', keyLabels[kind], 32));
  /** JSON, so that no id and field run into each other. */
  const toBytes = ({ id, field }: SecretField): Buffer => Buffer.from(JSON.stringify([kind, id, field]));
  return {
    encrypt(text, field) {
      const vector = randomBytes(vectorBytes);
      const cipher = createCipheriv(algorithm, key, vector, { authTagLength: tagBytes }).setAAD(toBytes(field));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return version + Buffer.concat([vector, cipher.getAuthTag(), body]).toString('base64url');
    },
    decrypt(encrypted, field) {
      if (!encrypted.startsWith(version)) return undefined;
      const bytes = Buffer.from(encrypted.slice(version.length), 'base64url');
      if (bytes.length < vectorBytes + tagBytes) return undefined;
      const vector = bytes.subarray(0, vectorBytes);
      const tag = bytes.subarray(vectorBytes, vectorBytes + tagBytes);
      const decipher = createDecipheriv(algorithm, key, vector, { authTagLength: tagBytes }).setAAD(toBytes(field)).setAuthTag(tag);
      try {
        return Buffer.concat([decipher.update(bytes.subarray(vectorBytes + tagBytes)), decipher.final()]).toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}
