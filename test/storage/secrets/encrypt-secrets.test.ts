import { describe, expect, it } from 'vitest';
import { createSecretCipher } from '../../../src/storage/secrets/encrypt-secrets.ts';

describe('a sealed secret', () => {
  const cipher = createSecretCipher('one');
  const place = { id: 'mail', field: 'key' };

  it.each(['', 'k', 'ünïcode 🔑', 'x'.repeat(10_000)])('opens to what it was (%#)', (text) => {
    expect(cipher.decrypt(cipher.encrypt(text, place), place)).toBe(text);
    expect(createSecretCipher('one').decrypt(cipher.encrypt(text, place), place)).toBe(text);
  });

  it('looks different every time', () => {
    expect(cipher.encrypt('k', place)).not.toBe(cipher.encrypt('k', place));
  });

  it('does not open elsewhere, with another secret, or after a change', () => {
    const sealed = cipher.encrypt('k', place);
    expect(cipher.decrypt(sealed, { ...place, id: 'maps' })).toBeUndefined();
    expect(cipher.decrypt(sealed, { ...place, field: 'header:key' })).toBeUndefined();
    expect(createSecretCipher('two').decrypt(sealed, place)).toBeUndefined();
    const body = Buffer.from(sealed.slice(3), 'base64url');
    for (let index = 0; index < body.length; index += 1) {
      const broken = Buffer.from(body);
      broken[index] = (broken[index] ?? 0) ^ 1;
      expect(cipher.decrypt(`v1:${broken.toString('base64url')}`, place)).toBeUndefined();
    }
  });

  it.each(['', 'v1:', 'v1:AAAA', 'v2:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'k'])(
    'is nothing when it is no sealed text (%j)',
    (text) => {
      expect(cipher.decrypt(text, place)).toBeUndefined();
    },
  );
});
