import { describe, expect, test } from 'vitest';
import { createAuthenticator } from '../../src/http/authenticate.ts';

const key = 'sk-tw-correct';

describe('with a key', () => {
  const { requireCaller, findOpenCaller, isOpen } = createAuthenticator({ adminKey: key });

  test.each([
    ['a bearer token', { authorization: `Bearer ${key}` }],
    ['a bearer token in lower case', { authorization: `bearer ${key}` }],
    ['x-api-key', { 'x-api-key': key }],
    ['Basic with the key as password', { authorization: `Basic ${Buffer.from(`anyone:${key}`).toString('base64')}` }],
  ])('%s is the administrator', (_carrier, headers) => {
    expect(requireCaller({ method: 'POST', headers })).toMatchObject({ role: 'admin', isOpen: false });
  });

  test.each([
    ['no key', {}],
    ['an empty bearer', { authorization: 'Bearer' }],
    ['a wrong key', { authorization: 'Bearer sk-tw-wrong' }],
    ['a part of the key', { authorization: `Bearer ${key.slice(0, -1)}` }],
    ['a very long key', { authorization: `Bearer ${'x'.repeat(8_000)}` }],
    ['an empty x-api-key', { 'x-api-key': '' }],
  ])('%s is refused with a cure', (_case, headers) => {
    expect(() => requireCaller({ method: 'GET', headers })).toThrow(expect.objectContaining({ status: 401, code: 'invalid_api_key' }));
  });

  test('nobody comes in through the open door', () => {
    expect(isOpen).toBe(false);
    expect(findOpenCaller({ method: 'GET', headers: { host: 'localhost' } })).toBeUndefined();
  });
});

describe('open on this machine', () => {
  const { requireCaller } = createAuthenticator({ adminKey: undefined });

  test.each(['localhost', 'localhost:8080', '127.0.0.1:8080', '127.1', '2130706433', '[::1]:8080'])(
    'the host %s is this machine',
    (host) => {
      expect(requireCaller({ method: 'POST', headers: { host } })).toMatchObject({ isOpen: true });
    },
  );

  test('a key that an SDK insists on sending does no harm', () => {
    expect(requireCaller({ method: 'POST', headers: { host: 'localhost', authorization: 'Bearer anything' } })).toMatchObject({
      isOpen: true,
    });
  });

  test.each(['evil.example', '192.168.1.5:8080', 'localhost.evil.example', '', '0.0.0.0', 'localhost@evil.example'])(
    'the host %s is refused',
    (host) => {
      expect(() => requireCaller({ method: 'GET', headers: { host } })).toThrow(expect.objectContaining({ status: 403 }));
    },
  );

  test.each(['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'cf-connecting-ip'])(
    'behind a proxy (%s) a key is needed',
    (name) => {
      expect(() => requireCaller({ method: 'GET', headers: { host: 'localhost', [name]: '127.0.0.1' } })).toThrow(
        expect.objectContaining({ status: 401 }),
      );
    },
  );

  test.each(['https://evil.example', 'null', 'http://localhost:9999', 'http://localhost.evil.example'])(
    'a page of %s may not change anything',
    (origin) => {
      expect(() => requireCaller({ method: 'POST', headers: { host: 'localhost:8080', origin } })).toThrow(
        expect.objectContaining({ status: 403 }),
      );
      expect(requireCaller({ method: 'GET', headers: { host: 'localhost:8080', origin } })).toMatchObject({ isOpen: true });
    },
  );

  test('a page of this gateway may', () => {
    expect(requireCaller({ method: 'POST', headers: { host: 'localhost:8080', origin: 'http://localhost:8080' } })).toMatchObject({
      isOpen: true,
    });
  });
});
