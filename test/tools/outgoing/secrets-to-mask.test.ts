import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { createSecretMask } from '../../../src/shared/secrets/secret-mask.ts';
import { maskOfCredentials, sessionSecrets } from '../../../src/tools/outgoing/secrets-to-mask.ts';

const { text } = createSecretMask(sessionSecrets(true));
const head = 'eyJhbGciOiJFZERTQSIs';

it('a session token is hidden, also behind an escape', () => {
  expect(text(`Bearer%20${head}abc.claims-1.signature_2 and`)).toBe('Bearer%20[secret] and');
});

it.each([head.repeat(200_000), `${head.repeat(25)}.${'a'.repeat(8_000)}`.repeat(480)])(
  'a text of many beginnings of one is read once',
  (hostile) => {
    // Work that grew with the square of the text would run into the time limit of the test.
    expect(text(hostile)).not.toBe('');
  },
);

describe('of the headers that a connection adds, results show', () => {
  const long = 'HEADER-0123456789';
  const shownBy = (headers: Record<string, string>, config: JsonObject = {}, forwarded?: Record<string, string>) => {
    const mask = maskOfCredentials({ authType: 'none', headers, extra: { config } }, forwarded);
    return (text: string) => mask.text(text);
  };

  it.each<[what: string, headers: Record<string, string>, config?: JsonObject]>([
    ['a short value', { 'x-internal': 'fifteen-letters' }],
    ['a media type', { 'x-content-type': 'application/vnd.example+json', accept: 'application/vnd.example+json' }],
    ['a version', { 'x-api-version': '2026-11-28T00:00:00Z' }],
    ['languages', { 'accept-language': 'de-DE,de;q=0.9,en;q=0.8', 'x-language': 'de-DE,de;q=0.9,en;q=0.8' }],
    ['what the operator says is public', { 'X-Tenant': long }, { public_headers: ['x-tenant'] }],
    ['an id of the run', { 'x-chat': '{{CHAT_ID}}', 'x-who': '{{USER_NAME}}' }],
  ])('%s', (_what, headers, config) => {
    const text = Object.values(headers).join(' ');
    expect(shownBy(headers, config)(text)).toBe(text);
  });

  it.each<[what: string, headers: Record<string, string>, config?: JsonObject]>([
    ['a long value of any name', { 'x-internal': long }],
    ['one behind a scheme', { 'x-internal': `Token ${long}` }],
    ['what stands beside an id of the run', { 'x-internal': `${long} {{USER_ID}}` }],
    ['what is named like a credential, though it is listed', { 'x-token': long, 'x-auth-version': long }, { public_headers: ['x-token'] }],
  ])('not %s', (_what, headers, config) => {
    expect(shownBy(headers, config)(`a ${long} b`)).toBe('a [secret] b');
    expect(shownBy(headers, config)(`a ${encodeURIComponent(btoa(long))} b`)).not.toContain(btoa(long).slice(0, 10));
  });

  it('the words of a long value', () => {
    const shown = shownBy({ 'x-note': 'The accounting department of Example' });
    expect(shown('accounting, department')).toBe('accounting, department');
    expect(shown('[The accounting department of Example]')).toBe('[[secret]]');
  });

  it('what the caller sent, unless it is named like a credential', () => {
    const shown = shownBy({}, {}, { 'x-mail': 'ada.lovelace@example.org', 'x-token': 'token-of-ada' });
    expect(shown('ada.lovelace@example.org token-of-ada')).toBe('ada.lovelace@example.org [secret]');
  });
});
