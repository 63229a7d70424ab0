import type { Duplex } from 'node:stream';
import { acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { startTimeServer } from '../../src/demo/time-server.ts';
import { authorizationServer, passwordOf } from '../_support/authorization-server.ts';
import { backendOf } from '../_support/build-app.ts';
import { closePages, describeInChromium, findFaultsInAllLooks, looks, openPage } from '../_support/chromium.ts';
import { freshGateway } from '../_support/fresh-gateway.ts';
import type { FreshGateway } from '../_support/fresh-gateway.ts';
import { mcpHttpServer } from '../_support/mcp-http-server.ts';
import type { McpHttpServer } from '../_support/mcp-http-server.ts';
import { protectedApi, protectedMcpServer } from '../_support/protected-servers.ts';
import { calls, says, ScriptedModel } from '../_support/scripted-model.ts';
import { askingModel } from '../gateway/sign-in/sign-in-fixture.ts';
import { textResult, toolOf } from '../tools/mcp/scripted-peer.ts';

afterAll(closePages);

type RequestedSchema = Parameters<typeof inputRequired.elicit>[0]['requestedSchema'];

/** An MCP server whose function `book` shows this form and returns its values. */
function askingServer(requestedSchema: RequestedSchema): Promise<McpHttpServer> {
  return mcpHttpServer([toolOf('book')], {
    onCall(_name, _args, { mcpReq }) {
      const reply = mcpReq.inputResponses?.['form'];
      if (reply === undefined)
        return inputRequired({ inputRequests: { form: inputRequired.elicit({ message: 'How shall it be?', requestedSchema }) } });
      return textResult(JSON.stringify(acceptedContent(mcpReq.inputResponses, 'form') ?? reply));
    },
  });
}

async function gatewayAsking(requestedSchema: RequestedSchema): Promise<{ gateway: FreshGateway; model: ScriptedModel }> {
  const server = await askingServer(requestedSchema);
  const model = new ScriptedModel(calls(['book', {}]), says('Booked.'));
  const connections = JSON.stringify([{ id: 'desk', type: 'mcp', url: server.url }]);
  return { model, gateway: await freshGateway({ TOOL_SERVER_CONNECTIONS: connections }, { backends: [backendOf(model)] }) };
}

async function ask(page: Page): Promise<void> {
  await page.getByLabel('Your question').fill('Book it');
  await page.keyboard.press('Enter');
}

/** The function's result, as the model read it. */
function resultIn({ requests }: ScriptedModel): unknown {
  return JSON.parse(String(requests.at(-1)?.messages.at(-1)?.content));
}

const everyKind: RequestedSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Your name', description: 'As in your passport', minLength: 2, maxLength: 20 },
    email: { type: 'string', title: 'Mail', format: 'email' },
    site: { type: 'string', title: 'Site', format: 'uri' },
    day: { type: 'string', title: 'Day', format: 'date' },
    at: { type: 'string', title: 'Moment', format: 'date-time' },
    guests: { type: 'integer', title: 'Guests', minimum: 1, maximum: 4, default: 2 },
    budget: { type: 'number', title: 'Budget', minimum: 0.5 },
    breakfast: { type: 'boolean', title: 'Breakfast' },
    late: { type: 'boolean', title: 'Late arrival', default: true },
    bed: { type: 'string', title: 'Bed', enum: ['double', 'twin'] },
    view: {
      type: 'string',
      title: 'View',
      oneOf: [
        { const: 'sea', title: 'To the sea' },
        { const: 'hill', title: 'To the hills' },
      ],
    },
    old: { type: 'string', title: 'Floor', enum: ['1', '2'], enumNames: ['Ground floor', 'First floor'] },
    extras: { type: 'array', title: 'Extras', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['towel', 'robe', 'slippers'] } },
    meals: {
      type: 'array',
      title: 'Meals',
      items: {
        anyOf: [
          { const: 'l', title: 'Lunch' },
          { const: 'd', title: 'Dinner' },
        ],
      },
    },
    note: { type: 'string', title: 'Note' },
  },
  required: ['name', 'guests', 'breakfast', 'bed', 'extras', 'meals'],
};

describeInChromium('a form that a function shows', () => {
  it('has a field for every type of MCP elicitation, and returns values of these types', async () => {
    const { gateway, model } = await gatewayAsking(everyKind);
    await using _gateway = gateway;
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page);
    const form = page.getByLabel('Your input is needed');
    await form.getByText('The tool server "desk" asks').waitFor();
    await form.getByText('How shall it be?').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);

    await form.getByLabel('Your name').fill('Ada');
    await form.getByLabel('Mail').fill('ada@example.org');
    await form.getByLabel('Site').fill('https://example.org/');
    await form.getByLabel('Day').fill('2026-03-01');
    await form.getByLabel('Moment').fill('2026-03-01T09:30');
    await form.getByLabel('Budget').fill('99.5');
    await form.getByLabel('Late arrival').uncheck();
    await form.getByLabel('Bed').selectOption('twin');
    await form.getByLabel('View').selectOption('To the sea');
    await form.getByLabel('Floor').selectOption('First floor');
    await form.getByLabel('towel').check();
    await form.getByLabel('robe').check();
    await form.getByRole('button', { name: 'Submit', exact: true }).click();
    await page.getByText('Booked.').waitFor();
    expect(resultIn(model)).toEqual({
      name: 'Ada',
      email: 'ada@example.org',
      site: 'https://example.org/',
      day: '2026-03-01',
      at: '2026-03-01T09:30:00.000Z',
      guests: 2,
      budget: 99.5,
      breakfast: false,
      late: false,
      bed: 'twin',
      view: 'sea',
      old: '2',
      extras: ['towel', 'robe'],
      meals: [],
    });
    expect(it.faults).toEqual([]);
  });

  const wrong: [what: string, fill: (page: Page) => Promise<void>, field: string][] = [
    ['a required text that is missing', (page) => page.getByLabel('Your name').fill(''), 'Your name'],
    ['a text that is too short', (page) => page.getByLabel('Your name').fill('A'), 'Your name'],
    ['a text that is too long', (page) => page.getByLabel('Your name').fill('A'.repeat(21)), 'Your name'],
    ['no address of mail', (page) => page.getByLabel('Mail').fill('ada'), 'Mail'],
    ['no address of the web', (page) => page.getByLabel('Site').fill('example'), 'Site'],
    ['a number that is too large', (page) => page.getByLabel('Guests').fill('5'), 'Guests'],
    ['a number that is too small', (page) => page.getByLabel('Budget').fill('0'), 'Budget'],
    ['a fraction for an integer', (page) => page.getByLabel('Guests').fill('1.5'), 'Guests'],
    ['nothing chosen where something must be', async (page) => void (await page.getByLabel('Bed').selectOption('')), 'Bed'],
    ['too few choices', (page) => page.getByLabel('towel').uncheck(), 'towel'],
    [
      'too many choices',
      async (page) => {
        await page.getByLabel('robe').check();
        await page.getByLabel('slippers').check();
      },
      'towel',
    ],
  ];

  it('is not sent with an invalid value, and the field says what is wrong', async () => {
    const { gateway, model } = await gatewayAsking(everyKind);
    await using _gateway = gateway;
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page);
    const form = page.getByLabel('Your input is needed');
    const answer = form.getByRole('button', { name: 'Submit', exact: true });
    for (const [what, fill, field] of wrong) {
      await form.getByLabel('Your name').fill('Ada');
      await form.getByLabel('Mail').fill('');
      await form.getByLabel('Site').fill('');
      await form.getByLabel('Guests').fill('2');
      await form.getByLabel('Budget').fill('1');
      await form.getByLabel('Bed').selectOption('twin');
      await form.getByLabel('towel').check();
      await form.getByLabel('robe').uncheck();
      await form.getByLabel('slippers').uncheck();
      const isValid = (): Promise<boolean> => form.locator('form').evaluate((element: HTMLFormElement) => element.checkValidity());
      expect([what, await isValid()]).toEqual([what, true]);
      await fill(page);
      await answer.click();
      const focused = await page.evaluate(() => {
        const { labels, validationMessage } = document.activeElement as HTMLInputElement;
        return { label: labels?.[0]?.innerText.replace(/ \*$/, ''), isExplained: validationMessage !== '' };
      });
      expect([what, focused]).toEqual([what, { label: field, isExplained: true }]);
    }
    expect(model.requests).toHaveLength(1);
  });

  it('can be skipped, and the model is told so', async () => {
    const { gateway, model } = await gatewayAsking(everyKind);
    await using _gateway = gateway;
    await using it = await openPage(gateway.url);
    await ask(it.page);
    await it.page.getByRole('button', { name: 'Skip' }).click();
    await it.page.getByText('Booked.').waitFor();
    expect(resultIn(model)).toMatchObject({ action: 'decline' });
  });

  it('without fields is accepted by its button', async () => {
    const { gateway, model } = await gatewayAsking({ type: 'object', properties: {} });
    await using _gateway = gateway;
    await using it = await openPage(gateway.url);
    await ask(it.page);
    await it.page.getByRole('button', { name: 'Submit', exact: true }).click();
    await it.page.getByText('Booked.').waitFor();
    expect(resultIn(model)).toEqual({});
  });

  it('disappears when the answer is stopped', async () => {
    const { gateway } = await gatewayAsking(everyKind);
    await using _gateway = gateway;
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page);
    await page.getByLabel('Your input is needed').waitFor();
    await page.getByRole('button', { name: 'Stop (Esc)' }).click();
    await page.locator('.chat-answer', { hasText: 'Stopped.' }).waitFor();
    expect(await page.getByLabel('Your input is needed').count()).toBe(0);
  });
});

type Call = Parameters<typeof calls>[number];

function convertTo(zone: string): Call {
  return ['convert_time_convert_time_post', { timestamp: '2026-11-24T09:00:00', from_tz: 'UTC', to_tz: zone }];
}

/** A gateway with a time server whose calls all require approval. The model makes these calls in one turn. */
function gatewayApproving(...wanted: Call[]): Promise<FreshGateway & { model: ScriptedModel }> {
  return gatewayApprovingFor(new ScriptedModel(calls(...wanted), says('It is done.')));
}

async function gatewayApprovingFor(model: ScriptedModel): Promise<FreshGateway & { model: ScriptedModel }> {
  const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
  const connections = JSON.stringify([{ id: 'clock', url: time.url, config: { needs_approval: true } }]);
  const { app, url, ...gateway } = await freshGateway({ TOOL_SERVER_CONNECTIONS: connections }, { backends: [backendOf(model)] });
  return {
    app,
    url,
    model,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await time.close();
    },
  };
}

describeInChromium('a call that requires approval', () => {
  it('is rejected, not approved, by Enter in the message to the model', async () => {
    await using gateway = await gatewayApproving(convertTo('Asia/Tokyo'));
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page);
    await page.getByRole('button', { name: 'Reject…' }).click();
    await page.getByLabel('Message to the model').fill('It is the wrong zone.');
    await page.keyboard.press('Enter');
    await page.getByText('It is done.').waitFor();
    expect(await page.locator('.call .chip').allInnerTexts()).toEqual(['rejected']);
    expect(String(gateway.model.requests.at(-1)?.messages.at(-1)?.content)).toContain('It is the wrong zone.');
  });

  it('is not approved by the second half of a double click on the previous call', async () => {
    await using gateway = await gatewayApproving(convertTo('Asia/Tokyo'), convertTo('Europe/Paris'));
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page);
    const questions = page.getByLabel('Your input is needed');
    await questions.nth(1).waitFor();
    const allow = questions.getByRole('button', { name: 'Approve' });
    await allow.nth(1).dblclick();
    await page.locator('.call .chip', { hasText: 'approved' }).first().waitFor();
    expect(await questions.count()).toBe(1);
    await allow.click();
    await page.getByText('It is done.').waitFor();
  });

  it('stays pending when its page is reloaded or its connection drops, and can be approved then', async () => {
    await using gateway = await gatewayApproving(convertTo('Asia/Tokyo'));
    const sockets: Duplex[] = [];
    gateway.app.server.server.on('upgrade', (_request, socket) => sockets.push(socket));
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page);
    const question = page.getByLabel('Your input is needed');
    await question.waitFor();
    await page.reload();
    await question.waitFor();
    for (const socket of sockets) socket.destroy();
    await question.waitFor({ state: 'detached' });
    await question.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('It is done.').waitFor();
    expect(await page.locator('.call .chip').allInnerTexts()).toEqual(['approved']);
    expect(await question.count()).toBe(0);
  });

  it('is linked from every other page, and counted in the title of the tab', async () => {
    await using gateway = await gatewayApproving(convertTo('Asia/Tokyo'), convertTo('Europe/Paris'));
    await using it = await openPage(gateway.url, { reducedMotion: 'reduce' });
    const { page } = it;
    await page.getByRole('link', { name: 'Settings' }).waitFor();
    await ask(page);
    const questions = page.getByLabel('Your input is needed');
    await questions.nth(1).waitFor();
    await expect.poll(() => page.title()).toBe('(2) Book it – toolwharf');
    const mark = page.getByRole('link', { name: 'Input needed (2)' }).filter({ visible: true });
    expect(await mark.count()).toBe(0);
    for (const { viewport, colorScheme } of looks) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      if (viewport.width === 360) await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('link', { name: 'Presets' }).filter({ visible: true }).click();
      await page.getByRole('heading', { name: 'Presets', level: 1 }).waitFor();
      await expect.poll(() => page.title()).toBe('(2) Presets – toolwharf');
      await expect.poll(() => mark.count()).toBe(1);
      expect(await findFaultsInAllLooks(page)).toEqual([]);
      await page.setViewportSize(viewport);
      await mark.click();
      await questions.nth(1).waitFor();
    }
    await page.getByRole('link', { name: 'Presets' }).click();
    await page.getByRole('heading', { name: 'Presets', level: 1 }).waitFor();
    await mark.click();
    await questions.first().getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('link', { name: 'Presets' }).click();
    await page.getByRole('link', { name: 'Input needed' }).filter({ visible: true }).click();
    await questions.first().getByRole('button', { name: 'Approve' }).click();
    await page.getByText('It is done.').waitFor();
    await expect.poll(() => page.title()).toBe('Book it – toolwharf');
    expect(it.faults).toEqual([]);
  });

  it('is announced when it comes up while another page is open', async () => {
    const more = Promise.withResolvers<void>();
    const model = new ScriptedModel([more.promise, ...calls(convertTo('Asia/Tokyo'))], says('It is done.'));
    await using gateway = await gatewayApprovingFor(model);
    await using it = await openPage(gateway.url);
    const { page } = it;
    await ask(page);
    await page.getByRole('button', { name: 'Stop (Esc)' }).waitFor();
    await page.getByRole('link', { name: 'Presets' }).click();
    await page.getByRole('heading', { name: 'Presets', level: 1 }).waitFor();
    more.resolve();
    await page.getByRole('status').getByText('Your input is needed.').waitFor({ state: 'attached' });
    await page.getByRole('link', { name: 'Input needed' }).filter({ visible: true }).click();
    await page.getByLabel('Your input is needed').getByRole('button', { name: 'Approve' }).click();
    await page.getByText('It is done.').waitFor();
  });

  it('leaves the chat and the stop button visible, even as one of four', async () => {
    const zones = ['Asia/Tokyo', 'Europe/Paris', 'Africa/Accra', 'America/Lima'];
    for (const { viewport } of looks.filter(({ colorScheme }) => colorScheme === 'light')) {
      await using gateway = await gatewayApproving(...zones.map(convertTo));
      await using it = await openPage(gateway.url, { viewport });
      const { page } = it;
      await ask(page);
      await page.getByLabel('Your input is needed').nth(3).waitFor();
      const chat = await page.locator('.chat-scroll').boundingBox();
      expect(chat?.height).toBeGreaterThan(100);
      const stop = await page.getByRole('button', { name: 'Stop (Esc)' }).boundingBox();
      expect((stop?.y ?? 0) + (stop?.height ?? 0)).toBeLessThan(viewport.height);
      expect(await findFaultsInAllLooks(page)).toEqual([]);
    }
  });
});

describeInChromium('a sign-in for a tool', () => {
  it.each(['mcp', 'openapi'] as const)('opens in a new tab, and the same answer continues when it is complete (%s)', async (kind) => {
    const authorization = await authorizationServer();
    const server = kind === 'mcp' ? await protectedMcpServer(authorization) : await protectedApi(authorization);
    const connection = { id: 'mail', type: kind, url: server.url, auth_type: 'oauth', info: { name: 'Mail' } };
    await using gateway = await freshGateway(
      { TOOL_SERVER_CONNECTIONS: JSON.stringify([connection]) },
      { backends: [backendOf(askingModel)] },
    );
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByLabel('Your question').fill('Who am I?');
    await page.keyboard.press('Enter');
    const question = page.getByLabel('Your input is needed');
    await question.getByText('Sign in to Mail to continue').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    const opened = page.context().waitForEvent('page');
    await question.getByRole('link', { name: 'Sign in to Mail' }).click();
    const tab = await opened;
    await tab.getByRole('button').click();
    await tab.locator('input[name=account]').fill('ada');
    await tab.locator('input[name=password]').fill(passwordOf('ada'));
    await tab.getByRole('button').first().click();
    await tab.getByRole('button', { name: 'Yes' }).click();
    await tab.getByText('You can go back to your chat.').waitFor();
    await page.getByText(/I read: [^]*ada/).waitFor();
    await question.waitFor({ state: 'detached' });
    expect(await page.locator('.chat-answer').count()).toBe(1);
    expect(server.callers).toEqual(['ada']);
    expect(it.faults).toEqual([]);
  });

  it('can be declined, and the answer continues without it', async () => {
    const authorization = await authorizationServer();
    const server = await protectedApi(authorization);
    const connection = { id: 'mail', url: server.url, auth_type: 'oauth', info: { name: 'Mail' } };
    await using gateway = await freshGateway(
      { TOOL_SERVER_CONNECTIONS: JSON.stringify([connection]) },
      { backends: [backendOf(askingModel)] },
    );
    await using it = await openPage(gateway.url);
    const { page } = it;
    await page.getByLabel('Your question').fill('Who am I?');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Continue without signing in' }).click();
    await page.locator('.chat-answer .chat-foot').waitFor();
    expect(await page.locator('.call.failed').count()).toBe(1);
    expect(server.callers).toEqual([]);
  });
});
