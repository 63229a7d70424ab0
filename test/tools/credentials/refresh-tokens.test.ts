import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { CredentialStore, OAuthCredential } from '../../../src/core/sign-in/credentials.ts';
import { GatewayError } from '../../../src/core/errors.ts';
import { createTokenRefresher, oauthLeaseMs } from '../../../src/tools/credentials/refresh-tokens.ts';
import type { TokenRefresher } from '../../../src/tools/credentials/refresh-tokens.ts';
import { createSharedTokens } from '../../../src/tools/credentials/shared-tokens.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { testSignIn } from '../../storage/credential-store-contract.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { oauthRecord } from './oauth-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

const newFolder = temporaryFolders();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

const record = oauthRecord('http://mail.test');
const ada = 'key/ada';

interface World {
  clock: { time: number };
  /** As an authorization server answers: a new token, a refusal, or a failure. */
  answer: (credential: OAuthCredential) => Promise<OAuthCredential | 'refused'>;
  refreshed: string[];
  revoked: string[];
  store: CredentialStore;
  /** Of another process. */
  refresher: () => TokenRefresher;
  stored: () => Promise<OAuthCredential | undefined>;
}

function world(): World {
  const file = join(newFolder(), 'toolwharf.db');
  const open = (): CredentialStore => {
    const { credentials, database } = openStores({ file, secret: 'secret' });
    closing.push(() => database.close());
    return credentials;
  };
  const store = open();
  const seen: World = {
    clock: { time: 1_000 },
    answer: async (credential) => tokenOf(`${credential.accessToken}+`, seen.clock.time + 3_600_000),
    refreshed: [],
    revoked: [],
    store,
    refresher: () =>
      createTokenRefresher({
        store: open(),
        now: () => seen.clock.time,
        usable: (_record, found) => (found?.credential.kind === 'oauth' ? found.credential : undefined),
        oauth: {
          revoke: async ({ accessToken }) => void seen.revoked.push(accessToken),
          refresh(_record, credential) {
            seen.refreshed.push(credential.refreshToken ?? '');
            return seen.answer(credential);
          },
        },
      }),
    async stored() {
      const found = (await store.find(ada, 'mail'))?.credential;
      return found?.kind === 'oauth' ? found : undefined;
    },
  };
  return seen;
}

const tokenOf = (accessToken: string, expires: number): OAuthCredential =>
  testSignIn(accessToken, { refreshToken: `refresh ${accessToken}`, expires, refreshFrom: expires - 30_000 });
const tokensOf = (found: readonly (OAuthCredential | undefined)[]): unknown[] => found.map((credential) => credential?.accessToken);

describe('tokens', () => {
  it('are used as they are while they are good, and refreshed before they expire', async () => {
    const { store, refresher, clock, refreshed } = world();
    await store.save(ada, 'mail', tokenOf('first', 100_000));
    const one = refresher();
    expect(tokensOf([await one.fresh(ada, record), await one.fresh('key/eve', record)])).toEqual(['first', undefined]);
    clock.time = 70_000;
    expect(tokensOf([await one.fresh(ada, record)])).toEqual(['first+']);
    expect(refreshed).toEqual(['refresh first']);
  });

  it('are refreshed once for all who wait, in this process and in others', async () => {
    const seen = world();
    await seen.store.save(ada, 'mail', tokenOf('first', 100_000));
    seen.clock.time = 99_000;
    const usual = seen.answer;
    seen.answer = async (credential) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return usual(credential);
    };
    const [one, other] = [seen.refresher(), seen.refresher()];
    const found = await Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other).fresh(ada, record)));
    expect(new Set(tokensOf(found))).toEqual(new Set(['first+']));
    expect(seen.refreshed).toEqual(['refresh first']);
  });

  it('that the tool server refuses are refreshed once, and then count as missing', async () => {
    const { store, refresher, refreshed, stored } = world();
    await store.save(ada, 'mail', tokenOf('first', 100_000));
    const one = refresher();
    const renewed = await Promise.all(Array.from({ length: 5 }, () => one.fresh(ada, record, { key: 'first' })));
    expect(new Set(tokensOf(renewed))).toEqual(new Set(['first+']));
    expect(refreshed).toHaveLength(1);
    expect(await one.fresh(ada, record, { key: 'first+', isFinal: true })).toBeUndefined();
    expect(await one.fresh(ada, record)).toBeUndefined();
    expect([refreshed.length, (await stored())?.ended]).toEqual([1, 'missing']);
  });

  it('without a refresh token are used until they expire, and count as missing when they are refused', async () => {
    const { store, refresher, clock, stored } = world();
    const one = refresher();
    await store.save(ada, 'mail', testSignIn('only', { expires: 100_000, refreshFrom: 70_000 }));
    clock.time = 99_000;
    expect(tokensOf([await one.fresh(ada, record)])).toEqual(['only']);
    clock.time = 100_000;
    expect(await one.fresh(ada, record)).toBeUndefined();
    await store.save(ada, 'mail', testSignIn('other'));
    expect(tokensOf([await one.fresh(ada, record)])).toEqual(['other']);
    expect(await one.fresh(ada, record, { key: 'other' })).toBeUndefined();
    expect((await stored())?.ended).toBe('missing');
  });

  it('whose refresh is refused have expired, and are not tried again', async () => {
    const seen = world();
    await seen.store.save(ada, 'mail', tokenOf('first', 100_000));
    seen.clock.time = 99_000;
    seen.answer = async () => 'refused';
    const one = seen.refresher();
    expect([await one.fresh(ada, record), await one.fresh(ada, record)]).toEqual([undefined, undefined]);
    expect([seen.refreshed.length, (await seen.stored())?.ended]).toEqual([1, 'expired']);
  });

  it('stay as they are when the authorization server fails, and the next call tries again', async () => {
    const seen = world();
    await seen.store.save(ada, 'mail', tokenOf('first', 100_000));
    const usual = seen.answer;
    seen.answer = async () => {
      throw new GatewayError('upstream_unreachable', 'It is down.');
    };
    const one = seen.refresher();
    seen.clock.time = 80_000;
    expect(tokensOf([await one.fresh(ada, record)])).toEqual(['first']);
    seen.clock.time = 100_000;
    await expect(one.fresh(ada, record)).rejects.toThrow('It is down');
    await expect(one.fresh(ada, record, { key: 'first' })).rejects.toThrow('It is down');
    expect(await seen.stored()).toEqual(tokenOf('first', 100_000));
    seen.answer = usual;
    expect(tokensOf([await one.fresh(ada, record)])).toEqual(['first+']);
  });

  it('are refreshed by another process when the one that began has died', async () => {
    const { store, refresher, clock } = world();
    await store.save(ada, 'mail', tokenOf('first', 100_000));
    clock.time = 100_000;
    const { revision = '' } = (await store.find(ada, 'mail')) ?? {};
    await store.claim(ada, 'mail', { revision, now: clock.time, until: clock.time + oauthLeaseMs });
    const waiting = refresher().fresh(ada, record);
    clock.time += oauthLeaseMs;
    expect(tokensOf([await waiting])).toEqual(['first+']);
  });

  it('of a sign-in that was ended or replaced meanwhile are revoked, and nobody uses them', async () => {
    const seen = world();
    await seen.store.save(ada, 'mail', tokenOf('first', 100_000));
    seen.clock.time = 100_000;
    const usual = seen.answer;
    seen.answer = async (credential) => {
      await seen.store.delete(ada, 'mail');
      if (seen.revoked.length > 0) await seen.store.save(ada, 'mail', tokenOf('another account', 900_000));
      return usual(credential);
    };
    const one = seen.refresher();
    expect(await one.fresh(ada, record)).toBeUndefined();
    await waitFor(() => expect(seen.revoked).toEqual(['first+']));
    await seen.store.save(ada, 'mail', tokenOf('second', 100_000));
    expect(tokensOf([await one.fresh(ada, record)])).toEqual(['another account']);
    expect(seen.revoked).toEqual(['first+', 'second+']);
  });
});

describe('the token of the gateway itself', () => {
  it('is requested once for all, again before it expires, once more when it is refused, and anew for a changed connection', async () => {
    let requests = 0;
    let time = 0;
    const tokens = createSharedTokens(
      { ownToken: async () => ({ accessToken: `token ${(requests += 1)}`, refreshFrom: time + 70_000 }) },
      () => time,
    );
    const shared = oauthRecord('http://mail.test', { oauth: { clientId: 'a', clientSecret: 'b', grant: 'client_credentials' } });
    expect(await Promise.all([tokens.tokenFor(shared), tokens.tokenFor(structuredClone(shared))])).toEqual(['token 1', 'token 1']);
    time = 70_000;
    expect(await tokens.tokenFor(shared)).toBe('token 2');
    expect(await Promise.all([1, 2].map(() => tokens.tokenFor(shared, { key: 'token 2' })))).toEqual(['token 3', 'token 3']);
    await expect(tokens.tokenFor(shared, { key: 'token 3', isFinal: true })).rejects.toThrow('Check oauth.scopes');
    expect(await tokens.tokenFor({ ...shared, url: 'http://other.test' })).toBe('token 4');
  });

  it('is tried again after a failure', async () => {
    let requests = 0;
    const tokens = createSharedTokens(
      {
        async ownToken() {
          requests += 1;
          if (requests === 1) throw new GatewayError('upstream_unreachable', 'It is down.');
          return { accessToken: 'token' };
        },
      },
      () => 0,
    );
    await expect(tokens.tokenFor(record)).rejects.toThrow('It is down');
    expect(await tokens.tokenFor(record)).toBe('token');
  });
});
