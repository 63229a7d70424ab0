import { beforeEach, describe, expect, it } from 'vitest';
import type { Credential, CredentialStore } from '../../src/core/credentials.ts';

export function testCredential(secret: string, fields: Partial<Credential> = {}): Credential {
  return { kind: 'key', secret, binding: { origin: 'http://mail.test', authType: 'bearer' }, ...fields };
}

/** What every store of credentials does, wherever it keeps them. */
export function describeCredentialStore(name: string, createStore: () => CredentialStore): void {
  describe(`credentials in ${name}`, () => {
    let store: CredentialStore;
    beforeEach(() => {
      store = createStore();
    });
    const secretsOf = async (...callers: string[]): Promise<unknown[]> =>
      Promise.all(callers.map(async (caller) => (await store.find(caller, 'mail'))?.secret));

    it('gives what was kept, the later of two, to its caller and for its server alone', async () => {
      const whole = testCredential("it's ünïcode\u2028", {
        scopes: ['read'],
        expires: 5,
        binding: { origin: 'o', authType: 'a', issuer: 'i' },
      });
      await store.keep('key/ada', 'mail', testCredential('first'));
      await store.keep('key/ada', 'mail', whole);
      expect(await store.find('key/ada', 'mail')).toEqual(whole);
      expect(await store.find('key/ada', 'constructor')).toBeUndefined();
      expect(await secretsOf('key', 'key/eve', 'key/ad', 'constructor')).toEqual([undefined, undefined, undefined, undefined]);
    });

    it('lists those of a caller', async () => {
      await store.keep('key/ada', 'mail', testCredential('a'));
      await store.keep('key/ada', 'files', testCredential('b'));
      await store.keep('key/eve', 'mail', testCredential('c'));
      expect(await store.listOf('key/ada')).toEqual(
        new Map([
          ['mail', testCredential('a')],
          ['files', testCredential('b')],
        ]),
      );
      expect(await store.listOf('key')).toEqual(new Map());
    });

    it('forgets one, and says whether there was one', async () => {
      for (const caller of ['key/ada', 'key/eve']) await store.keep(caller, 'mail', testCredential(caller));
      expect([await store.forget('key/ada', 'mail'), await store.forget('key/ada', 'mail')]).toEqual([true, false]);
      expect(await secretsOf('key/ada', 'key/eve')).toEqual([undefined, 'key/eve']);
    });

    it('forgets with a key what its people have, and nothing of a key with a longer name', async () => {
      const callers = ['key', 'key/ada', 'key/eve', 'key2'];
      for (const caller of callers) await store.keep(caller, 'mail', testCredential(caller));
      await store.forgetAllOf('key/eve');
      await store.forgetAllOf('nobody');
      expect(await secretsOf(...callers)).toEqual(['key', 'key/ada', undefined, 'key2']);
      await store.forgetAllOf('key');
      expect(await secretsOf(...callers)).toEqual([undefined, undefined, undefined, 'key2']);
    });

    it('forgets those of everybody for a server', async () => {
      for (const caller of ['key/ada', 'other']) await store.keep(caller, 'mail', testCredential(caller));
      await store.keep('other', 'files', testCredential('files'));
      await store.forgetServers(['mail', 'never was']);
      await store.forgetServers([]);
      expect(await secretsOf('key/ada', 'other')).toEqual([undefined, undefined]);
      expect(await store.find('other', 'files')).toBeDefined();
    });
  });
}
