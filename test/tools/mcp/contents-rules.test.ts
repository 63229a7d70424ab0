import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { isWithheld } from '../../../src/tools/mcp/contents/contents-rules.ts';
import { mcpRecord } from './mcp-fixture.ts';

const isRead = (uri: string, functionFilter: string[]): boolean => !isWithheld('resources', uri, mcpRecord({ functionFilter }));

describe('a blocked resource', () => {
  it.each([
    'file:///docs/secret.txt',
    'file:///docs/../docs/secret.txt',
    'file:///docs/./secret.txt',
    'file:///docs/x/%2e%2e/secret.txt',
    'file:///docs/x/..%2fsecret.txt',
    'file:///docs/x/..%5Csecret.txt',
    'file:///docs//secret.txt',
    'file://///docs/secret.txt',
    'file:\\\\\\docs\\secret.txt',
    'FILE:///docs/secret.txt',
    'file:///Docs/SECRET.txt',
    'file:/docs/secret.txt',
    'file:docs/secret.txt',
    'file://localhost/docs/secret.txt',
    'file://127.0.0.1/docs/secret.txt',
    'file:///docs/secret.txt?',
    'file:///docs/secret.txt?version=1',
    'file:///docs/secret.txt#x',
    'file:///docs/secret.txt/',
    'file:///docs/secret.txt.',
    'file:///docs/secret.txt%20',
    'file:///docs/%73ecret.txt',
    'file:///docs/%2573ecret.txt',
    'file:///docs/se%63ret.t%78t?{',
    'file:///docs/secret%2Etxt',
    ' file:///docs/secret.txt',
    'file:///docs/secret.txt\t',
    'file:///docs/sec\nret.txt',
    'file:///docs/ｓecret.txt',
    '/docs/secret.txt',
    'docs/secret.txt',
  ])('is blocked as %j', (uri) => {
    expect(isRead(uri, ['!file:///docs/secret.txt'])).toBe(false);
  });

  it.each([
    'file:///docs/public.txt',
    'file:///docs/secret.txt.bak',
    'file:///other/secret.txt',
    'file:///docs/secret',
    'file:///secret.txt',
    'https://example.com/docs/secret.txt',
    'notes://docs/secret.txt',
    'file:///docs/%E9',
  ])('blocks no other one: %j', (uri) => {
    expect(isRead(uri, ['!file:///docs/secret.txt'])).toBe(true);
  });

  it('is blocked however its characters are encoded, and wherever dots stand in its path', () => {
    const spelled = fc
      .array(
        fc.constantFrom<(char: string) => string>(
          (char) => char,
          encoded,
          (char) => encoded(char).replace('%', '%25'),
          (char) => char.toUpperCase(),
        ),
        {
          minLength: 10,
          maxLength: 10,
        },
      )
      .map((ways) => Array.from('secret.txt', (char, index) => (ways[index] ?? String)(char)).join(''));
    const detour = fc.array(fc.constantFrom('./', 'x/../', '/', '%2e/', 'x/%2E./'), { maxLength: 4 }).map((steps) => steps.join(''));
    fc.assert(
      fc.property(spelled, detour, (name, steps) => {
        expect(isRead(`file:///docs/${steps}${name}`, ['!file:///docs/secret.txt'])).toBe(false);
      }),
    );
  });

  it.each([
    ['https://example.com/a', 'HTTPS://user@Example.com:443/b/../a?x=1', false],
    ['https://example.com/a', 'https://example.com:8443/a', true],
    ['https://example.com/a', 'https://example.org/a', true],
    ['https://example.com/a?id=1', 'https://example.com/a?x=2&id=%31', false],
    ['https://example.com/a?id=1', 'https://example.com/a?id=2', true],
    ['notes://secret', 'notes:///secret', false],
    ['notes://secret', 'notes:secret', false],
    ['notes://secret', 'notes://public', true],
  ])('compares %j and %j as servers do', (blocked, uri, isLetThrough) => {
    expect(isRead(uri, [`!${blocked}`])).toBe(isLetThrough);
  });

  it.each([
    ['file:///private/{name}', 'file:///private/a', false],
    ['file:///private/{name}', 'file:///docs/../private/a', false],
    ['file:///private/{+path}', 'FILE:/private/a/b', false],
    ['search://private{?q}', 'search://Private?q=1', false],
    ['file:///private/{name}', 'file:///docs/a', true],
  ])('by a template %j covers %j', (template, uri, isLetThrough) => {
    expect(isRead(uri, [`!${template}`])).toBe(isLetThrough);
  });
});

describe('an allowed template', () => {
  it.each([
    ['file:///docs/{name}', 'file:///docs/a.txt', true],
    ['file:///docs/{+path}', 'file:///docs/a/b.txt', true],
    ['file:///docs/{+path}', 'file:///docs/../etc/passwd', false],
    ['file:///docs/{name}', 'file:///docs/..%2f..%2fetc%2fpasswd', false],
    ['search://words{?q}', 'search://words?q=1', true],
  ])('%j lets %j through only where servers read it so', (template, uri, isLetThrough) => {
    expect(isRead(uri, [template])).toBe(isLetThrough);
  });
});

it('names of prompts are compared exactly', () => {
  const record = mcpRecord({ functionFilter: ['!Weekly/report'] });
  expect(isWithheld('prompts', 'Weekly/report', record)).toBe(true);
  expect(isWithheld('prompts', 'weekly/report', record)).toBe(false);
});

function encoded(char: string): string {
  return `%${char.charCodeAt(0).toString(16)}`;
}

// A pattern for the end of a name begins anew at each dot, which takes minutes.
it('a URI of many dots is read once', () => {
  expect(isRead(`file:///docs/${'.'.repeat(300_000)}x`, ['!file:///docs/secret.txt', '!file:///docs/{name}/x'])).toBe(true);
});

it('a URI is brought into its comparable form once for all rules, and each rule once for all URIs', () => {
  const normalize = vi.spyOn(String.prototype, 'normalize');
  const rules = Array.from({ length: 20 }, (_, index) => `!file:///docs/secret-${index}.txt`);
  for (let index = 0; index < 10; index += 1) expect(isRead(`file:///docs/${index}.txt`, rules)).toBe(true);
  expect(normalize.mock.calls.length).toBeLessThanOrEqual(20 + 10);
  normalize.mockRestore();
});
