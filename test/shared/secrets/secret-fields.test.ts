import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import { redactUrl, secretsInUrl } from '../../../src/shared/secrets/secret-urls.ts';
import { redactSecretFields, restoreSecretFields } from '../../../src/shared/secrets/secret-fields.ts';
import { isSecretName } from '../../../src/shared/secrets/secret-names.ts';

it.each(
  'token Token access_token refreshToken id-token githubtoken tokens client_secret clientSecret SECRET password dbPassword passwd pwd pass passphrase api_key apiKey X-Api-Key apikey keys private_key_pem authorization Proxy-Authorization cookie Set-Cookie credentials jwt signature sig token_value api_key2 oauth_client_info webhook_secret pin auth'.split(
    ' ',
  ),
)('%s is the name of a secret', (name) => expect(isSecretName(name)).toBe(true));

it.each(
  'token_url token_endpoint auth_type oauth client_id public_key key_id keyboard monkey author mapping description compass secretary access_grants needs_approval scopes name 2'.split(
    ' ',
  ),
)('%s is not', (name) => expect(isSecretName(name)).toBe(false));

const pairs: [string, JsonObject, JsonValue][] = [
  ['by its name', { token: 'a', client_secret: 'b', note: 'c' }, { token: null, client_secret: null, note: 'c' }],
  ['within', { oauth: { client_id: 'i', client_secret: 's' } }, { oauth: { client_id: 'i', client_secret: null } }],
  [
    'all of it',
    { credentials: { user: 'u', list: ['a', 1, true] }, password: 12 },
    { credentials: { user: null, list: [null, null, true] }, password: null },
  ],
  [
    'in what carries them',
    { config: { headers: { 'x-own': 'v' }, env: { A: 'b' } } },
    { config: { headers: { 'x-own': null }, env: { A: null } } },
  ],
  [
    'in pairs',
    {
      extras: [
        { name: 'x-api-key', value: 'v' },
        { name: 'lang', value: 'de' },
      ],
    },
    {
      extras: [
        { name: 'x-api-key', value: null },
        { name: 'lang', value: 'de' },
      ],
    },
  ],
  [
    'in pairs of headers',
    { headers: [{ key: 'x-own', value: 'v', enabled: true }] },
    { headers: [{ key: 'x-own', value: null, enabled: true }] },
  ],
  [
    'by its look',
    { note: 'Bearer abcdefgh', other: 'key is sk-abcdefghijk', text: '{"client_secret":"x"}' },
    { note: null, other: null, text: null },
  ],
  [
    'within an address',
    { webhook: 'https://u:p@host/x?a=1&api_key=v#token=w', plain: 'https://host/?q=1' },
    { webhook: 'https://[secret]@host/x?a=1&api_key=[secret]#token=[secret]', plain: 'https://host/?q=1' },
  ],
  [
    'not a count, a switch or nothing',
    { max_tokens: 5, token: true, secret: '', password: null },
    { max_tokens: 5, token: true, secret: '', password: null },
  ],
];

/** What stands there twice, has moved, or has a name that is hidden itself. */
const twice: JsonObject[] = [
  { hooks: 'https://a.test/?token=1, https://b.test/?token=2&token=3, https://u:p@c.test https://v:q@d.test' },
  {
    list: [
      { name: 'x-key', value: '1' },
      { name: 'x-key', value: '2' },
      { name: 'https://u:p@host', token: '3' },
    ],
  },
  { list: [['a', { token: 1 }], ['a', { token: 2 }], 'sk-abcdefghijk', 'sk-lmnopqrstuv'] },
];

describe('a secret', () => {
  it.each(twice)('is itself again beside its like: %j', (fields) => {
    expect(restoreSecretFields(fields, redactSecretFields(fields))).toEqual(fields);
  });

  it('goes with its entry when a list is put into another order or shortened', () => {
    const mirrors = ['a', 'b', 'c'].map((host) => ({ url: `https://${host}.test`, token: `of ${host}` }));
    const [, second, third] = mirrors.map((entry) => ({ ...entry, token: null }));
    const sent = { mirrors: [third ?? null, second ?? null] };
    expect(restoreSecretFields({ mirrors }, sent)).toEqual({ mirrors: [mirrors[2], mirrors[1]] });
  });

  it.each(pairs)('is hidden %s', (_how, fields, shown) => expect(redactSecretFields(fields)).toEqual(shown));

  it.each(pairs)('is back when what is shown is sent: %s', (_how, fields) => {
    expect(restoreSecretFields(fields, redactSecretFields(fields))).toEqual(fields);
  });

  it('keeps the same object where there is none', () => {
    const fields = { a: [1, { b: 'c' }] };
    expect(redactSecretFields(fields)).toBe(fields);
  });

  it('is kept where it is left out beside others, found by name in lists, replaced where another is given', () => {
    const before = {
      client_secret: 'top',
      oauth: { id: 'i', client_secret: 's' },
      gone: { token: 't' },
      headers: [
        { name: 'a', value: '1' },
        { name: 'b', value: '2' },
      ],
      hook: 'https://host/old?key=k',
    };
    const sent = {
      oauth: { id: 'new' },
      headers: [
        { name: 'b', value: null },
        { name: 'c', value: null },
        { name: 'a', value: '9' },
      ],
      hook: 'https://host/new?v=2&key=[secret]',
    };
    expect(restoreSecretFields(before, sent)).toEqual({
      client_secret: 'top',
      oauth: { id: 'new', client_secret: 's' },
      headers: [
        { name: 'b', value: '2' },
        { name: 'c', value: null },
        { name: 'a', value: '9' },
      ],
      hook: 'https://host/new?v=2&key=k',
    });
    expect(restoreSecretFields(before, { client_secret: '', oauth: null, headers: [] })).toEqual({
      client_secret: '',
      oauth: null,
      headers: [],
    });
  });
});

it('an address of any length and form is masked in time that grows with it', () => {
  expect(redactUrl('openapi.json?x=1&API%5FKEY=v')).toBe('openapi.json?x=1&API%5FKEY=[secret]');
  expect(redactUrl('?%E0%A4%A=1&token=v')).toBe('?%E0%A4%A=1&token=[secret]');
  expect(secretsInUrl('https://u:p@h/?key=v&a=b')).toEqual(['u:p', 'v']);
  const long = `${'?a'.repeat(200_000)}=${'://'.repeat(100_000)}@`;
  expect(redactUrl(long)).toBe(long);
});
