import { describe, expect, it } from 'vitest';

import { OutboundError } from '../../../src/core/errors.ts';
import { checkHeaders, checkMethod, checkTimeLimit, parseDestination } from '../../../src/policy/outbound/check-request.ts';

function failureOf(work: () => unknown): OutboundError {
  try {
    work();
  } catch (error) {
    if (error instanceof OutboundError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('parseDestination', () => {
  it.each([
    'file:///etc/passwd',
    'ftp://example.com/',
    'data:text/plain,hello',
    'javascript:alert(1)',
    'ws://example.com/',
    'gopher://example.com/',
    'blob:http://example.com/x',
    '//example.com/',
    '/openapi.json',
    'example.com',
    'localhost:8000',
    'http://',
    'http://?x',
    'http://exa mple.com/',
    'http://[::1',
    'http://[fe80::1%25eth0]/',
    'http://example.com:99999/',
    'http://1.2.3.4.5/',
    '',
  ])('refuses %s', (url) => {
    expect(failureOf(() => parseDestination(url)).failure).toBe('invalid_request');
  });

  it.each(['http://user:hunter2@example.com/', 'http://hunter2@example.com/', 'http://:hunter2@example.com/'])(
    'refuses user information without repeating it: %s',
    (url) => {
      const error = failureOf(() => parseDestination(url));
      expect(error.failure).toBe('invalid_request');
      expect(error.message).not.toContain('hunter2');
    },
  );

  it.each([
    ['http://2130706433/', '127.0.0.1'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://１２７.０.０.１/', '127.0.0.1'],
    ['http://[::ffff:169.254.169.254]/', '[::ffff:a9fe:a9fe]'],
    ['http:\\\\example.com\\x', 'example.com'],
    ['ht\ntp://exa\tmple.com/', 'example.com'],
  ])('gives the one spelling of %s', (url, hostname) => {
    expect(parseDestination(url).hostname).toBe(hostname);
  });
});

describe('checkHeaders', () => {
  it('gives names in lower case and asks for no compression', () => {
    expect([...checkHeaders({ 'X-Api-Key': 'a\tb é', Accept: '' })]).toEqual([
      ['x-api-key', 'a\tb é'],
      ['accept', ''],
      ['accept-encoding', 'identity'],
    ]);
  });

  it('leaves the choice of an encoding to the caller', () => {
    expect([...checkHeaders({ 'Accept-Encoding': 'gzip' })]).toEqual([['accept-encoding', 'gzip']]);
  });

  it.each([
    'Host',
    'connection',
    'Content-Length',
    'transfer-encoding',
    'Keep-Alive',
    'upgrade',
    'TE',
    'Trailer',
    'Expect',
    'Proxy-Authorization',
  ])('refuses %s, which belongs to the connection', (name) => {
    const error = failureOf(() => checkHeaders({ [name]: '1' }));
    expect(error).toMatchObject({ failure: 'invalid_request', message: expect.stringContaining(name.toLowerCase()) });
  });

  it.each(['', ' x', 'x ', 'a:b', 'a b', 'a\r\nb', 'é', 'a\u0000', '(x)'])('refuses the name %j', (name) => {
    expect(failureOf(() => checkHeaders({ [name]: '1' })).failure).toBe('invalid_request');
  });

  it.each(['a\r\nx-evil: 1', 'a\nb', 'a\rb', 'a\u0000b', 'a\u007fb', 'a\u001bb', 'zł', '😀', '\ud800'])(
    'refuses the value %j and does not repeat it',
    (value) => {
      const error = failureOf(() => checkHeaders({ 'X-Token': `hunter2${value}` }));
      expect(error).toMatchObject({ failure: 'invalid_request', message: expect.stringContaining('x-token') });
      expect(error.message).not.toContain('hunter2');
    },
  );

  it('refuses one header under two spellings', () => {
    expect(failureOf(() => checkHeaders({ Authorization: 'a', authorization: 'b' })).failure).toBe('invalid_request');
  });

  it('takes "__proto__" for a name like any other', () => {
    expect(checkHeaders(JSON.parse('{"__proto__":"x"}')).get('__proto__')).toBe('x');
  });
});

describe('checkMethod', () => {
  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'QUERY'])('lets %s pass', (method) => {
    expect(checkMethod(method)).toBe(method);
  });

  it.each(['CONNECT', 'connect', 'TRACE', 'TRACK', '', 'GET /x HTTP/1.1\r\n', 'GE T', 'GÉT'])('refuses %j', (method) => {
    expect(failureOf(() => checkMethod(method)).failure).toBe('invalid_request');
  });
});

describe('checkTimeLimit', () => {
  it.each([0, -1, Number.POSITIVE_INFINITY, Number.NaN])('takes %s for a mistake', (limit) => {
    expect(() => checkTimeLimit(limit)).toThrow(RangeError);
  });

  it('keeps within what a timer can wait', () => {
    expect(checkTimeLimit(1e12)).toBe(2_147_483_647);
    expect(checkTimeLimit(250)).toBe(250);
  });
});
