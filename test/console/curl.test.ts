import { execFileSync } from 'node:child_process';
import { assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toCurl } from '../../src/console/pages/tool-servers/curl.ts';

/** The arguments, and the input, that the command gives a program with the name of curl. */
function run(command: string, environment: Record<string, string> = {}): { args: string[]; input: string } {
  const program = `curl() { for each; do printf '%s\\0' "$each"; done; case "$*" in *@-) printf '<'; cat;; esac; }\n${command}`;
  const [args = '', input = ''] = execFileSync('sh', ['-c', program], { env: { PATH: process.env['PATH'] ?? '', ...environment } })
    .toString()
    .split('\0<');
  return { args: args.split('\0').filter((each, index, all) => index < all.length - 1 || each !== ''), input };
}

describe('the request as a command', () => {
  it('is what was sent', () => {
    const command = toCurl({
      method: 'POST',
      url: 'http://maps.test/route?q=[1,2]&city=it%27s',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: '{"city":"it\'s $HOME"}',
    });
    expect(run(command).args).toEqual([
      '--globoff',
      'http://maps.test/route?q=[1,2]&city=it%27s',
      '--header',
      'accept: application/json',
      '--header',
      'content-type: application/json',
      '--data-raw',
      '{"city":"it\'s $HOME"}',
    ]);
  });

  it('has variables in the place of credentials, and names them', () => {
    const command = toCurl({
      url: 'http://maps.test/route?api%20key=[secret]&a=b',
      headers: { authorization: 'Bearer [secret]', 'x-tenant': '[secret]' },
    });
    expect(command).toContain('SECRET_API_20KEY, SECRET_AUTHORIZATION, SECRET_X_TENANT first');
    const secrets = { SECRET_API_20KEY: 'a k', SECRET_AUTHORIZATION: "it's *", SECRET_X_TENANT: '$(id)' };
    expect(run(command, secrets).args).toEqual([
      '--globoff',
      'http://maps.test/route?api%20key=a k&a=b',
      '--header',
      "authorization: Bearer it's *",
      '--header',
      'x-tenant: $(id)',
    ]);
  });

  it.each<[string, Parameters<typeof toCurl>[0], string[]]>([
    ['GET', {}, ['--globoff', 'u']],
    ['HEAD', {}, ['--globoff', '--head', 'u']],
    ['POST', {}, ['--globoff', '--request', 'POST', 'u']],
    ['POST', { body: 'x' }, ['--globoff', 'u', '--header', 'Content-Type:', '--data-raw', 'x']],
    ['GET', { body: '@x' }, ['--globoff', '--request', 'GET', 'u', '--header', 'Content-Type:', '--data-raw', '@x']],
    ['GET', { headers: { 'x-empty': '' } }, ['--globoff', 'u', '--header', 'x-empty;']],
    ["P;'", {}, ['--globoff', '--request', "P;'", 'u']],
  ])('has the method %s with %j', (method, rest, expected) => {
    expect(run(toCurl({ method, url: 'u', ...rest })).args).toEqual(expected);
  });

  it('sends bytes through a pipe, and says where a body is longer', () => {
    const png = toCurl({
      method: 'PUT',
      url: 'u',
      body: Buffer.from('\u0089PNG \0', 'latin1').toString('base64'),
      body_encoding: 'base64',
    });
    expect(run(png.replace('cat', 'base64')).args).toEqual([
      '--globoff',
      '--request',
      'PUT',
      'u',
      '--header',
      'Content-Type:',
      '--data-binary',
      '@-',
    ]);
    expect(run(toCurl({ method: 'POST', url: 'u', body: 'a\0b' })).input).toBe('a\0b');
    expect(toCurl({ method: 'POST', url: 'u', body: 'x', truncated: true })).toMatch(/^# The body is incomplete/);
  });

  it('stays whole, whatever stands in its parts', () => {
    const text = string({ unit: constantFrom("'", '"', '$', '`', '\\', '\n', '!', ' ', '*', 'a', '\u00e9', '[', ']', '&', ';') });
    assert(
      property(text, text, text, (url, value, body) => {
        const { args } = run(toCurl({ method: 'POST', url: `u${url}`, headers: { 'x-a': value, 'content-type': 'c' }, body: `b${body}` }));
        expect(args).toEqual([
          '--globoff',
          `u${url}`,
          '--header',
          value === '' ? 'x-a;' : `x-a: ${value}`,
          '--header',
          'content-type: c',
          '--data-raw',
          `b${body}`,
        ]);
      }),
      { numRuns: 25 },
    );
  });
});
