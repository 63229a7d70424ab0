import { inputRequired } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { GatewayError } from '../../src/core/errors.ts';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, openPage } from '../_support/chromium.ts';
import { findForeignMarkup } from '../_support/find-markup.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import { mcpHttpServer } from '../_support/mcp-http-server.ts';
import { calls, ScriptedModel } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';
import { toolOf } from '../tools/mcp/scripted-peer.ts';
import { hostileTexts } from './hostile-texts.ts';

afterAll(closePages);

const text = Object.values(hostileTexts).join('\n\n');
const name = '<img src=x onerror=alert(1)>\u202Egnp';
const hostile = { [name]: text, nested: { [name]: [name, { [name]: name }] }, list: [name, text] };
const rows = [
  { [name]: name, b: '<svg onload=alert(1)>' },
  { [name]: 'javascript:alert(1)', b: '![p](https://evil.example/p.png)' },
];
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>').toString('base64');
const inputSchema = {
  type: 'object' as const,
  properties: {
    [name]: { type: 'string', title: name, description: text, enum: [name, text] },
    list: { type: 'array', title: name, items: { type: 'string', enum: [name, text] } },
  },
};
const requestedSchema = {
  type: 'object' as const,
  properties: { a: { type: 'string' as const, title: name, description: text, enum: [name, 'b'], default: name } },
};

/** A tool server whose definitions, results, errors and forms are hostile. */
function startServer() {
  const tools = ['show', 'table', 'picture', 'fail', 'ask', 'pay'].map((tool) => toolOf(tool, { description: text, inputSchema }));
  return mcpHttpServer(tools, {
    onCall(tool, _args, { mcpReq }) {
      if (tool === 'table') return { content: [{ type: 'text', text: JSON.stringify({ rows }) }] };
      if (tool === 'fail') return { content: [{ type: 'text', text }], isError: true };
      if (tool === 'picture')
        return {
          content: [
            { type: 'image', data: svg, mimeType: 'image/svg+xml' },
            { type: 'image', data: svg, mimeType: 'image/png' },
            { type: 'resource_link', uri: 'javascript:alert(1)', name },
            { type: 'resource', resource: { uri: `https://evil.example/${name}`, mimeType: 'text/html', text } },
          ],
        };
      if (tool === 'ask' && mcpReq.inputResponses === undefined)
        return inputRequired({ inputRequests: { form: inputRequired.elicit({ message: text, requestedSchema }) } });
      return { content: [{ type: 'text', text: JSON.stringify(hostile) }] };
    },
  });
}

const spec = {
  openapi: '3.1.0',
  info: { title: name, version: name },
  paths: { '/whoami': { get: { operationId: 'whoami', summary: text, responses: { 200: { description: text } } } } },
};

async function expectNothingButText(page: Page, place: string): Promise<void> {
  expect([place, await findForeignMarkup(page)]).toEqual([place, []]);
}

/** Opens everything that is collapsed. */
async function unfold(page: Page): Promise<void> {
  for (let turn = 0; turn < 40; turn++) {
    const folded = page.locator('main details:not([open]) > summary').first();
    if ((await folded.count()) === 0) return;
    await folded.click();
  }
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your question').fill(question);
  await page.keyboard.press('Enter');
}

describeInChromium('hostile text in a chat', () => {
  it('is only ever text, on every page, from every source, and streamed one character at a time', async () => {
    const desk = await startServer();
    const pieces = Array.from({ length: text.length }, (_, index) => text.slice(index, index + 1));
    const stream = pieces.flatMap((piece): ScriptStep[] => [{ type: 'text', text: piece }]);
    const thoughts = pieces.flatMap((piece): ScriptStep[] => [{ type: 'reasoning', text: piece }]);
    const wanted = calls(
      [name, hostile],
      ['show', hostile],
      ['table', {}],
      ['picture', {}],
      ['fail', {}],
      ['whoami', {}],
      ['ask', {}],
      ['pay', hostile],
    );
    const model = new ScriptedModel(
      [...thoughts, ...stream, ...wanted],
      [...stream, { type: 'finish', reason: 'stop' }],
      [new GatewayError('upstream_error', text)],
    );
    const connections = [
      { id: 'desk', type: 'mcp', url: desk.url, info: { name }, config: { needs_approval: ['pay'] } },
      { id: 'mail', url: 'http://127.0.0.1:9', spec, auth_type: 'bearer', per_user: true, info: { name, description: text } },
    ];
    await using gateway = await freshGateway(
      { TOOL_SERVER_CONNECTIONS: JSON.stringify(connections) },
      { backends: [backendOf(model, [name])] },
    );
    await using it = await openPage(gateway.url, { path: `/#key=${gateway.app.startKey ?? ''}` });
    const { page } = it;
    await expectNothingButText(page, 'welcome');
    await page.getByRole('button', { name: 'Tools and options' }).click();
    await page.getByLabel('Only these').click();
    await expectNothingButText(page, 'options');
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Tools and options' }).click();
    await page.getByLabel('Default tools').click();
    await page.getByRole('button', { name: 'Close' }).click();

    await ask(page, text);
    const question = page.getByLabel('Your input is needed');
    await question.getByRole('button', { name: 'Continue without signing in' }).waitFor();
    await expectNothingButText(page, 'a sign-in');
    await question.getByRole('button', { name: 'Continue without signing in' }).click();
    await question.getByRole('button', { name: 'Skip' }).waitFor();
    await expectNothingButText(page, 'a form');
    await question.getByRole('button', { name: 'Skip' }).click();
    await question.getByRole('button', { name: 'Edit arguments' }).waitFor();
    await expectNothingButText(page, 'an approval');
    // Characters that reverse the direction of text are shown by their code point instead.
    expect(await question.innerText()).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/);
    expect(await question.innerText()).toContain('U+202E');
    await question.getByRole('button', { name: 'Edit arguments' }).click();
    await expectNothingButText(page, 'arguments that are changed');
    await question.getByRole('button', { name: 'Approve' }).click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    await unfold(page);
    await expectNothingButText(page, 'an answer');
    expect(await page.locator('.call').count()).toBe(8);
    expect((await page.locator('.call').allInnerTexts()).join()).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/);
    expect(await page.locator('.call table').count()).toBe(1);
    for (const source of await page.locator('.chat-sources .chip').all()) {
      await source.click();
      await page.getByRole('dialog').waitFor();
      await expectNothingButText(page, 'a source');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await ask(page, name);
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await expectNothingButText(page, 'an error');

    await page.goto(`${gateway.url}/console/runs`);
    await page.locator('tbody a').first().waitFor();
    await expectNothingButText(page, 'runs');
    await page.locator('tbody a').last().click();
    await page.locator('.run-step').first().waitFor();
    for (const step of await page.locator('.run-step').all()) {
      await step.click();
      await page.getByRole('dialog').waitFor();
      await expectNothingButText(page, 'a run');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    for (const path of ['tool-servers', 'tool-servers/desk', 'tool-servers/mail', 'accounts', 'presets', 'usage']) {
      await page.goto(`${gateway.url}/console/${path}`);
      await it.settled();
      await expectNothingButText(page, path);
    }
    expect(it.faults).toEqual([]);
    expect(it.foreign).toEqual([]);
  });
});
