import { beforeEach, describe, expect, it } from 'vitest';
import type { Credential, CredentialStore, KeyCredential, OAuthCredential } from '../../src/core/sign-in/credentials.ts';

export function testCredential(secret: string, fields: Partial<KeyCredential> = {}): KeyCredential {
  return { kind: 'key', secret, binding: { origin: 'http://mail.test', authType: 'bearer' }, ...fields };
}

export function testSignIn(accessToken: string, fields: Partial<OAuthCredential> = {}): OAuthCredential {
  return {
    kind: 'oauth',
    signInId: 'sign-in',
    accessToken,
    client: { id: 'client', method: 'none' },
    tokenEndpoint: 'http://accounts.test/token',
    binding: { origin: 'http://mail.test', authType: 'oauth', issuer: 'http://accounts.test' },
    ...fields,
  };
}

export const secretOf = (credential: Credential | undefined): string | undefined =>
  credential?.kind === 'oauth' ? credential.accessToken : credential?.secret;

/** What every store of credentials does, wherever it keeps them. */
export function describeCredentialStore(name: string, createStore: () => CredentialStore): void {
  describe(`credentials in ${name}`, () => {
    let store: CredentialStore;
    beforeEach(() => {
      store = createStore();
    });
    const revisionOf = async (caller: string): Promise<string> => (await store.find(caller, 'mail'))?.revision ?? 'none';
    const secretsOf = async (...callers: string[]): Promise<unknown[]> =>
      Promise.all(callers.map(async (caller) => secretOf((await store.find(caller, 'mail'))?.credential)));

    it('gives what was kept, the later of two, to its caller and for its server alone', async () => {
      const whole = testSignIn("it's ünïcode\u2028", { refreshToken: 'r', scopes: ['read'], expires: 5, ended: 'expired', resource: 'x' });
      await store.save('key/ada', 'mail', testCredential('first'));
      await store.save('key/ada', 'mail', whole);
      expect((await store.find('key/ada', 'mail'))?.credential).toEqual(whole);
      expect(await store.find('key/ada', 'constructor')).toBeUndefined();
      expect(await secretsOf('key', 'key/eve', 'key/ad', 'constructor')).toEqual([undefined, undefined, undefined, undefined]);
    });

    it('lists those of a caller', async () => {
      await store.save('key/ada', 'mail', testCredential('a'));
      await store.save('key/ada', 'files', testCredential('b'));
      await store.save('key/eve', 'mail', testCredential('c'));
      expect(await store.listOf('key/ada')).toEqual(
        new Map([
          ['mail', testCredential('a')],
          ['files', testCredential('b')],
        ]),
      );
      expect(await store.listOf('key')).toEqual(new Map());
    });

    it('replaces only the version that was read, and knows one that was kept meanwhile for another', async () => {
      await store.save('key/ada', 'mail', testSignIn('first'));
      const first = await revisionOf('key/ada');
      expect(await store.replace('key/ada', 'mail', { revision: first, credential: testSignIn('second') })).toBe(true);
      expect(await store.replace('key/ada', 'mail', { revision: first, credential: testSignIn('late') })).toBe(false);
      expect(await secretsOf('key/ada')).toEqual(['second']);
      const second = await revisionOf('key/ada');
      await store.delete('key/ada', 'mail');
      await store.save('key/ada', 'mail', testSignIn('second'));
      expect(await store.replace('key/ada', 'mail', { revision: second, credential: testSignIn('late') })).toBe(false);
      expect(await store.replace('key/eve', 'mail', { revision: second, credential: testSignIn('late') })).toBe(false);
      expect(await secretsOf('key/ada', 'key/eve')).toEqual(['second', undefined]);
    });

    it('leases a version to one at a time, until it is given back, replaced or too old', async () => {
      await store.save('key/ada', 'mail', testSignIn('first'));
      const revision = await revisionOf('key/ada');
      const claim = (now: number, until: number): Promise<boolean> => store.claim('key/ada', 'mail', { revision, now, until });
      expect([await claim(1, 10), await claim(2, 12), await claim(10, 20)]).toEqual([true, false, true]);
      await store.release('key/ada', 'mail', { revision, until: 10 });
      expect(await claim(11, 21)).toBe(false);
      await store.release('key/ada', 'mail', { revision, until: 20 });
      expect(await claim(12, 22)).toBe(true);
      await store.replace('key/ada', 'mail', { revision, credential: testSignIn('second') });
      expect(await claim(30, 40)).toBe(false);
      expect(await store.claim('key/ada', 'mail', { revision: await revisionOf('key/ada'), now: 13, until: 23 })).toBe(true);
      await store.save('key/ada', 'mail', testSignIn('third'));
      expect(await store.claim('key/ada', 'mail', { revision: await revisionOf('key/ada'), now: 14, until: 24 })).toBe(true);
      expect(await store.claim('key/eve', 'mail', { revision, now: 50, until: 60 })).toBe(false);
    });

    it('forgets one, and gives it back', async () => {
      for (const caller of ['key/ada', 'key/eve']) await store.save(caller, 'mail', testCredential(caller));
      expect([await store.delete('key/ada', 'mail'), await store.delete('key/ada', 'mail')]).toEqual([
        testCredential('key/ada'),
        undefined,
      ]);
      expect(await secretsOf('key/ada', 'key/eve')).toEqual([undefined, 'key/eve']);
    });

    it('forgets with a key what its people have, and nothing of a key with a longer name', async () => {
      const callers = ['key', 'key/ada', 'key/eve', 'key2'];
      for (const caller of callers) await store.save(caller, 'mail', testCredential(caller));
      expect([await store.deleteAllOf('key/eve'), await store.deleteAllOf('nobody')]).toEqual([[testCredential('key/eve')], []]);
      expect(await secretsOf(...callers)).toEqual(['key', 'key/ada', undefined, 'key2']);
      await store.deleteAllOf('key');
      expect(await secretsOf(...callers)).toEqual([undefined, undefined, undefined, 'key2']);
    });

    it('forgets those of everybody for a server', async () => {
      for (const caller of ['key/ada', 'other']) await store.save(caller, 'mail', testCredential(caller));
      await store.save('other', 'files', testCredential('files'));
      const deleted = await store.deleteOfServers(['mail', 'never was']);
      expect(deleted).toEqual(expect.arrayContaining([testCredential('key/ada'), testCredential('other')]));
      expect([deleted.length, await store.deleteOfServers([])]).toEqual([2, []]);
      expect(await secretsOf('key/ada', 'other')).toEqual([undefined, undefined]);
      expect(await store.find('other', 'files')).toBeDefined();
    });
  });
}
