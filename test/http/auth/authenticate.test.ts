import { describe, expect, it } from 'vitest';
import type { KeyRecord, Registry } from '../../../src/core/stores/registry.ts';
import { createAuthenticator } from '../../../src/http/auth/authenticate.ts';
import type { AuthenticatorOptions, Credentials } from '../../../src/http/auth/authenticate.ts';
import { createKeyText, derivePepper, hashKey } from '../../../src/admin/derive-key-hash.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';

const fixedKey = 'sk-tw-correct';
const pepper = derivePepper('a secret of this test');
const local = { host: 'localhost' };

function authenticatorOf(options: Partial<AuthenticatorOptions> = {}) {
  const made = createAuthenticator({
    registry: memoryRegistry(),
    adminKey: undefined,
    isLoopback: true,
    pepper,
    now: () => 0,
    personTokens: { verify: () => Promise.reject(new Error('no key of these tests has people')) },
    ...options,
  });
  return {
    ...made,
    requireCaller: async (request: Credentials) => made.requireCaller(request),
    findByToken: (token: string) => made.findByToken(token, { headers: {} }),
  };
}

function recordOf(key: string, fields: Partial<KeyRecord> = {}): KeyRecord {
  return { id: 'key_1', name: 'one', role: 'user', hash: hashKey(key, pepper), createdAt: 0, ...fields };
}

function bearer(key: string, method = 'GET') {
  return { method, headers: { ...local, authorization: `Bearer ${key}` } };
}

/** A store that can be switched off, and that counts what is read. */
function fragile(registry: Registry = memoryRegistry()) {
  const state = { isBroken: false, reads: 0 };
  const read = <Value>(value: () => Promise<Value>): Promise<Value> => {
    state.reads += 1;
    return state.isBroken ? Promise.reject(new Error('disk I/O error in /secret/path')) : value();
  };
  return {
    state,
    registry: {
      ...registry,
      countKeys: () => read(() => registry.countKeys()),
      findKeyByHash: (hash: string) => read(() => registry.findKeyByHash(hash)),
    },
  };
}

describe('with the fixed key', () => {
  const { requireCaller, findOpenCaller, isOpen } = authenticatorOf({ adminKey: fixedKey });

  it.each([
    ['a bearer token', { authorization: `Bearer ${fixedKey}` }],
    ['a bearer token in lower case', { authorization: `bearer ${fixedKey}` }],
    ['x-api-key', { 'x-api-key': fixedKey }],
    ['Basic with the key as password', { authorization: `Basic ${Buffer.from(`anyone:${fixedKey}`).toString('base64')}` }],
  ])('%s is the administrator', async (_carrier, headers) => {
    expect(await requireCaller({ method: 'POST', headers })).toMatchObject({ role: 'admin', isOpen: false });
  });

  it.each([
    ['no key', {}],
    ['an empty bearer', { authorization: 'Bearer' }],
    ['a wrong key', { authorization: 'Bearer sk-tw-wrong' }],
    ['a part of the key', { authorization: `Bearer ${fixedKey.slice(0, -1)}` }],
    ['a very long key', { authorization: `Bearer ${'x'.repeat(8_000)}` }],
    ['an empty x-api-key', { 'x-api-key': '' }],
  ])('%s is refused with a cure', async (_case, headers) => {
    await expect(requireCaller({ method: 'GET', headers })).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  it.each([
    ['no key', {}, /^No API key was sent\. .* page Keys/],
    ['a key without Bearer', { authorization: fixedKey }, /The word "Bearer" and a space must be before the key/],
    ['another scheme', { authorization: `Token ${fixedKey}` }, /The word "Bearer"/],
    ['an empty bearer', { authorization: 'Bearer ' }, /There is no key in it/],
    ['the header of another program', { 'api-key': fixedKey }, /^The header "api-key" is not read here\. Send the key as/],
  ])('%s is told apart', async (_case, headers, message) => {
    const refused = Promise.resolve(requireCaller({ method: 'GET', headers }));
    await expect(refused).rejects.toMatchObject({ message: expect.stringMatching(message) });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining(fixedKey) });
  });

  it('nobody comes in through the open door', async () => {
    expect(await isOpen()).toBe(false);
    expect(await findOpenCaller({ method: 'GET', headers: local })).toBeUndefined();
  });
});

describe('with stored keys', () => {
  const key = createKeyText();

  it('a key has 256 random bits, and its hash tells nothing without the pepper', () => {
    expect(key).toMatch(/^sk-tw-[\w-]{43}$/);
    expect(createKeyText()).not.toBe(key);
    expect(hashKey(key, pepper)).toMatch(/^[0-9a-f]{64}$/);
    expect(hashKey(key, derivePepper('another secret'))).not.toBe(hashKey(key, pepper));
  });

  it('the caller is what the record says', async () => {
    const registry = memoryRegistry();
    await registry.createKey(recordOf(key, { models: ['a'], tools: ['server:time'] }));
    const authenticator = authenticatorOf({ registry });
    const caller = { id: 'key_1', name: 'one', role: 'user', isOpen: false, models: ['a'], tools: ['server:time'] };
    expect(await authenticator.requireCaller(bearer(key, 'POST'))).toEqual(caller);
    expect(await authenticator.findByToken(key)).toEqual(caller);
    expect(await authenticator.findByToken(hashKey(key, pepper)), 'the stored hash is no key').toBeUndefined();
  });

  it('an unknown and an expired key get the same answer', async () => {
    const registry = memoryRegistry();
    let time = 999;
    await registry.createKey(recordOf(key, { expiresAt: 1_000 }));
    const { requireCaller, isOpen } = authenticatorOf({ registry, now: () => time });
    expect(await requireCaller(bearer(key))).toMatchObject({ id: 'key_1' });
    time = 1_000;
    const [expired, unknown] = await Promise.all(
      [key, createKeyText()].map((sent) => requireCaller(bearer(sent)).catch((error: unknown) => error)),
    );
    expect(expired).toMatchObject({ status: 401 });
    expect(expired).toEqual(unknown);
    expect(await isOpen(), 'a key that ran out does not open the door').toBe(false);
  });

  it('the first key ends the open door at once, and the last deletion opens it again', async () => {
    const registry = memoryRegistry();
    const authenticator = authenticatorOf({ registry });
    expect(await authenticator.requireCaller({ method: 'GET', headers: local })).toMatchObject({ isOpen: true });
    await registry.createKey(recordOf(key));
    authenticator.forget();
    await expect(authenticator.requireCaller({ method: 'GET', headers: local })).rejects.toMatchObject({ status: 401 });
    expect(await authenticator.findOpenCaller({ method: 'GET', headers: local })).toBeUndefined();
    await registry.deleteKey('key_1');
    authenticator.forget();
    expect(await authenticator.isOpen()).toBe(true);
  });

  it('on a public address the door is never open', async () => {
    const { isOpen, requireCaller } = authenticatorOf({ isLoopback: false });
    expect(await isOpen()).toBe(false);
    await expect(requireCaller({ method: 'GET', headers: local })).rejects.toMatchObject({ status: 401 });
  });

  it('a key is read once, and anew after a change or a while', async () => {
    const { registry, state } = fragile();
    let time = 0;
    await registry.createKey(recordOf(key));
    const authenticator = authenticatorOf({ registry, isLoopback: false, now: () => time });
    for (let index = 0; index < 5; index += 1) await authenticator.findByToken(key);
    expect(state.reads).toBe(1);
    await registry.deleteKey('key_1');
    authenticator.forget();
    expect(await authenticator.findByToken(key)).toBeUndefined();
    await registry.createKey(recordOf(key));
    await authenticator.findByToken(key);
    time = 60_000;
    await registry.deleteKey('key_1');
    expect(await authenticator.findByToken(key), 'deleted by another process').toBeUndefined();
  });

  it('what was being read while a key was deleted is not remembered', async () => {
    const registry = memoryRegistry();
    await registry.createKey(recordOf(key));
    const gate = Promise.withResolvers<void>();
    let isFirst = true;
    const slow: Registry = {
      ...registry,
      async findKeyByHash(hash) {
        const record = await registry.findKeyByHash(hash);
        if (isFirst) await gate.promise;
        isFirst = false;
        return record;
      },
    };
    const authenticator = authenticatorOf({ registry: slow, isLoopback: false });
    const early = authenticator.findByToken(key);
    await registry.deleteKey('key_1');
    authenticator.forget();
    gate.resolve();
    await early;
    expect(await authenticator.findByToken(key)).toBeUndefined();
  });
});

describe('with a store that cannot be read', () => {
  it('the fixed key works, every other one has to wait, and a request without one is told so', async () => {
    const { registry, state } = fragile();
    const authenticator = authenticatorOf({ registry, adminKey: fixedKey });
    state.isBroken = true;
    expect(await authenticator.requireCaller(bearer(fixedKey))).toMatchObject({ role: 'admin' });
    await expect(authenticator.requireCaller(bearer('sk-tw-any'))).rejects.toMatchObject({ status: 503, code: 'storage_unavailable' });
    await expect(authenticator.requireCaller({ method: 'GET', headers: local })).rejects.toMatchObject({ status: 401 });
  });

  it('the door is not open, and the reason stays inside', async () => {
    const { registry, state } = fragile();
    const authenticator = authenticatorOf({ registry });
    state.isBroken = true;
    const error: unknown = await authenticator.requireCaller({ method: 'GET', headers: local }).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: 'storage_unavailable', retryAfter: '5' });
    expect((error as Error).message).not.toContain('/secret/path');
    await expect(authenticator.findOpenCaller({ method: 'GET', headers: local })).rejects.toMatchObject({ status: 503 });
    state.isBroken = false;
    expect(await authenticator.isOpen()).toBe(true);
  });
});

describe('open on this machine', () => {
  const { requireCaller } = authenticatorOf();

  it.each(['localhost', 'localhost:8080', '127.0.0.1:8080', '127.1', '2130706433', '[::1]:8080'])(
    'the host %s is this machine',
    async (host) => {
      expect(await requireCaller({ method: 'POST', headers: { host } })).toMatchObject({ isOpen: true });
    },
  );

  it('a key that an SDK insists on sending does no harm', async () => {
    expect(await requireCaller(bearer('anything', 'POST'))).toMatchObject({ isOpen: true });
  });

  it.each(['evil.example', '192.168.1.5:8080', 'localhost.evil.example', '', '0.0.0.0', 'localhost@evil.example'])(
    'the host %s is refused',
    async (host) => {
      await expect(requireCaller({ method: 'GET', headers: { host } })).rejects.toMatchObject({ status: 403 });
    },
  );

  it.each(
    'forwarded via x-forwarded x-forwarded-for x-forwarded-host x-forwarded-proto x-original-forwarded-for x-real-ip x-client-ip x-cluster-client-ip true-client-ip cf-connecting-ip cf-ray fly-client-ip fastly-client-ip x-envoy-external-address x-azure-clientip tailscale-user-login'.split(
      ' ',
    ),
  )('behind a proxy (%s) a key is needed', async (name) => {
    await expect(requireCaller({ method: 'GET', headers: { ...local, [name]: '127.0.0.1' } })).rejects.toMatchObject({ status: 401 });
  });

  it.each(['https://evil.example', 'null', 'http://localhost:9999', 'http://localhost.evil.example'])(
    'a page of %s may neither change nor read anything',
    async (origin) => {
      const headers = { host: 'localhost:8080', origin };
      await expect(requireCaller({ method: 'POST', headers })).rejects.toMatchObject({ status: 403 });
      await expect(requireCaller({ method: 'GET', headers })).rejects.toMatchObject({ status: 403 });
    },
  );

  it('a page of this gateway may', async () => {
    const headers = { host: 'localhost:8080', origin: 'http://localhost:8080' };
    expect(await requireCaller({ method: 'POST', headers })).toMatchObject({ isOpen: true });
  });
});
