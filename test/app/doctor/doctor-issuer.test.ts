import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { examineInstallation } from '../../../src/cli/doctor.ts';
import type { Finding } from '../../../src/core/finding.ts';
import { handMadeOpenId, openIdClient } from '../../_support/hand-made-openid.ts';
import { audience, startTokenIssuer } from '../../_support/token-issuer.ts';

async function access(issuer: string, further: NodeJS.ProcessEnv = {}): Promise<Finding[]> {
  const folder = mkdtempSync(join(tmpdir(), 'toolwharf-doctor-issuer-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const quiet = { PORT: '0', TOOLWHARF_DATA_DIR: folder, OLLAMA_BASE_URLS: ';', TOOLWHARF_DEMO: 'true' };
  const environment = { ...quiet, OIDC_ISSUER: issuer, OIDC_AUDIENCE: audience, ...further };
  const sections = await examineInstallation(environment, { readFile: () => undefined, isContainer: false });
  return sections.find(({ title }) => title === 'Access')?.findings ?? [];
}

it('the issuer of tokens is asked for its keys, and what is wrong with it is named', async () => {
  await using issuer = await startTokenIssuer();
  expect(await access(issuer.url)).toEqual([
    { level: 'ok', text: expect.stringContaining(`A key or a token of ${issuer.url} is needed`) },
    { level: 'broken', text: expect.stringContaining('no keys'), cure: expect.any(String) },
  ]);
  await issuer.tokenFor('ada');
  expect(await access(issuer.url)).toContainEqual({ level: 'ok', text: expect.stringContaining('(1 key)') });
  // One slash more is another issuer.
  expect(await access(`${issuer.url}/`)).toContainEqual({
    level: 'broken',
    text: expect.stringContaining(`calls itself "${issuer.url}"`),
    cure: expect.stringContaining('OIDC_ISSUER'),
  });
  issuer.fail();
  expect(await access(issuer.url)).toContainEqual({ level: 'broken', text: expect.stringContaining('HTTP 500'), cure: expect.any(String) });
});

it('a client for signing in to the console is examined as well, and its redirect address named', async () => {
  const { issuer } = await handMadeOpenId(audience);
  const client = { OIDC_CLIENT_ID: openIdClient.id };
  expect(await access(issuer, { ...client, PUBLIC_URL: 'https://gateway.example' })).toContainEqual({
    level: 'ok',
    text: expect.stringContaining('if https://gateway.example/login/callback is its redirect address'),
  });
  expect(await access(issuer, client)).toContainEqual({
    level: 'warning',
    text: expect.stringContaining('only on this machine'),
    cure: expect.stringContaining('PUBLIC_URL'),
  });
  const plain = await handMadeOpenId(audience, { metadata: { code_challenge_methods_supported: ['plain'] } });
  expect(await access(plain.issuer, client)).toContainEqual({
    level: 'broken',
    text: expect.stringContaining('PKCE with S256'),
    cure: expect.stringContaining('OIDC_CLIENT_ID'),
  });
  const withoutTokens = await handMadeOpenId(audience, { metadata: { token_endpoint: 7 } });
  expect(await access(withoutTokens.issuer, client)).toContainEqual({
    level: 'broken',
    text: expect.stringContaining('no token endpoint'),
    cure: expect.any(String),
  });
  expect((await access(issuer)).some(({ text }) => text.includes('sign in'))).toBe(false);
});
