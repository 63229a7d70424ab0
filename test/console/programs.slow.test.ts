import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { adminKey, askFor, connect, exchange, mcpStatus, programScene } from '../gateway/programs/program-fixture.ts';

afterAll(closePages);

describeInChromium('the page of connected programs', () => {
  it('shows a program with its last use, and disconnects it', async () => {
    const scene = await programScene();
    const { key } = await scene.keyFor();
    const { access_token: token } = await connect(scene, key);
    expect(await mcpStatus(scene, token)).toBe(200);
    await using opened = await openPage(scene.url, { path: `/console/programs#key=${key}` });
    const { page } = opened;
    const row = page.getByRole('row').filter({ hasText: 'A program' });
    await row.getByText('127.0.0.1').waitFor();
    await row.locator('time').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await row.getByRole('button', { name: 'Disconnect A program' }).click();
    await page.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await page.getByText('No program is connected').waitFor();
    expect(await mcpStatus(scene, token)).toBe(401);
  });
});

/** Where a program waits for its answer. */
async function listeningProgram(): Promise<{ redirect: string; received: Promise<URL> }> {
  const { promise: received, resolve } = Promise.withResolvers<URL>();
  const program = createServer((request, response) => {
    if (request.url?.startsWith('/callback') === true) resolve(new URL(request.url, 'http://program'));
    response.end('Back in the program');
  });
  await new Promise<void>((listening) => program.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void program.close());
  return { redirect: `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`, received };
}

describeInChromium('the page that asks whether a program may use the tools', () => {
  it('shows the host as its largest text, and leads back to the program', async () => {
    const scene = await programScene();
    const { redirect, received } = await listeningProgram();
    const { client_id: client } = await scene.register({ redirect_uris: [redirect] });
    const asked = new URL(askFor(scene.url, client, { redirect_uri: redirect }).url);
    await using opened = await openPage(scene.url, { path: `${asked.pathname}${asked.search}` });
    const { page } = opened;
    await page.getByRole('heading', { name: 'Allow access to your tools?' }).waitFor();
    const sizes = await page.evaluate(() =>
      [...document.querySelectorAll('h1, h2, p, dt, dd, button')].map(
        (one) => [one.textContent, parseFloat(getComputedStyle(one).fontSize)] as const,
      ),
    );
    const [largest] = sizes.toSorted(([, one], [, other]) => other - one);
    expect(largest?.[0]).toBe('127.0.0.1');
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await page.getByLabel('Your key for this gateway').fill(adminKey);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Back in the program').waitFor();
    expect((await received).searchParams.get('code')).not.toBeNull();
  });

  it('takes the key of the console that the browser has', async () => {
    const scene = await programScene();
    const { id, key } = await scene.keyFor();
    const { redirect, received } = await listeningProgram();
    const { client_id: client } = await scene.register({ redirect_uris: [redirect] });
    await using opened = await openPage(scene.url, { path: `/console/programs#key=${key}` });
    const { page } = opened;
    await page.getByText('No program is connected').waitFor();
    const asked = askFor(scene.url, client, { redirect_uri: redirect });
    await page.goto(asked.url);
    await page.getByRole('link', { name: 'Use the key of this browser’s console' }).click();
    const dialog = page.getByRole('dialog', { name: 'Allow access to your tools?' });
    await dialog.getByText('127.0.0.1', { exact: true }).waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Back in the program').waitFor();
    const code = (await received).searchParams.get('code') ?? '';
    expect((await exchange(scene, { client, code, verifier: asked.verifier, redirect_uri: redirect })).status).toBe(200);
    const { body } = await scene.call('GET /api/clients', key);
    expect(body['data']).toMatchObject([{ authorizations: [{ caller: id }] }]);
  });
});
