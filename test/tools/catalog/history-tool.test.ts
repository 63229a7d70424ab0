import { describe, expect, it, onTestFinished } from 'vitest';
import type { ChatMessage } from '../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { parseChatBody } from '../../../src/http/dialects/chat-completions/parse-chat-body.ts';
import { createHistoryTool } from '../../../src/tools/catalog/history-tool.ts';
import { connectedTools } from '../../_support/connected-tools.ts';
import type { ToolSource } from '../../../src/tools/definitions/tool-source.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';

const neverSends = () => Promise.reject(new Error('not sent'));
const adminKey = 'sk-tw-fixed-administrator';

async function openGateway({ turns, isStoring = true }: { turns: ScriptStep[][]; isStoring?: boolean }) {
  const model = new ScriptedModel(...turns);
  const environment = { TOOLWHARF_ADMIN_KEY: adminKey, STORE_CHATS: String(isStoring), TOOLWHARF_DEMO: 'false' };
  const app = await testApp(environment, { backends: [backendOf(model)], now: () => Date.parse('2030-05-01T10:00:00Z') });
  onTestFinished(() => app.close());
  async function send(method: 'GET' | 'POST', url: string, { key = adminKey, payload }: { key?: string; payload?: object } = {}) {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await app.server.inject({ method, url, headers, ...(payload !== undefined && { payload }) });
    return { status: answer.statusCode, body: answer.json<JsonObject>() };
  }
  const ask = (content: string, { key, ...fields }: { key?: string } & JsonObject = {}) =>
    send('POST', '/v1/chat/completions', {
      payload: { model: 'model', messages: [{ role: 'user', content }], ...fields },
      ...(key !== undefined && { key }),
    });
  async function makeKey(fields: JsonObject = {}): Promise<string> {
    const { body } = await send('POST', '/api/keys', { payload: { name: 'some', role: 'user', ...fields } });
    return String(body['key']);
  }
  const offered = (): string[][] => model.requests.map(({ tools }) => tools.map(({ name }) => name));
  return { model, send, ask, makeKey, offered };
}

/** What the model read of its call. */
function resultIn(messages: readonly ChatMessage[] | undefined): JsonObject {
  const result = messages?.findLast(({ role }) => role === 'tool');
  return JSON.parse(typeof result?.content === 'string' ? result.content : '{}') as JsonObject;
}

const long = `${'Many words before it. '.repeat(20)}The blue kettle stands on the upper shelf.${' And many words after it.'.repeat(20)}`;

describe('search_chats', () => {
  it('gives a model short excerpts of the caller’s stored chats, in a later chat [S0-26]', async () => {
    const { ask, model } = await openGateway({
      turns: [says(long), says('Bread.'), calls(['search_chats', { query: 'blue kettle' }]), says('On the upper shelf.')],
    });
    const { body } = await ask('  Where is it?\nI looked everywhere.', { store: true });
    await ask('What did I buy?', { store: true });
    await ask('Where did you say the kettle is?');
    const { chats } = resultIn(model.requests.at(-1)?.messages) as { chats: JsonObject[] };
    expect(chats).toEqual([{ id: body['id'], time: '2030-05-01T10:00:00.000Z', title: 'Where is it?', excerpt: expect.any(String) }]);
    const excerpt = String(chats[0]?.['excerpt']);
    expect(excerpt).toContain('The blue kettle stands on the upper shelf.');
    expect(excerpt.length).toBeLessThan(250);
  });

  it('never finds another caller’s chats, an administrator’s included [S0-26]', async () => {
    const search = { query: 'kettle', limit: 20 };
    const { ask, model, makeKey } = await openGateway({
      turns: [
        says('The kettle of the administrator.'),
        says('The kettle of Ada.'),
        says('Not stored: the kettle.'),
        calls(['search_chats', search]),
        says('a'),
        calls(['search_chats', search]),
        says('b'),
      ],
    });
    const [ada, bob] = [await makeKey(), await makeKey()];
    await ask('kettle?', { store: true });
    const { body } = await ask('kettle?', { store: true, key: ada });
    await ask('kettle?', { key: bob });
    await ask('Look it up', { key: ada });
    expect(resultIn(model.requests.at(-1)?.messages)).toMatchObject({ chats: [{ id: body['id'] }] });
    await ask('Look it up', { key: bob });
    expect(resultIn(model.requests.at(-1)?.messages)).toEqual({ chats: [] });
  });

  it('is a default where chats are stored, and elsewhere not known', async () => {
    const storing = await openGateway({ turns: [says('a'), says('b'), says('c'), says('d')] });
    await storing.ask('Hi');
    await storing.ask('Hi', { tool_ids: [] });
    await storing.ask('Hi', { tool_ids: ['function:search_chats'] });
    await storing.ask('Hi', { metadata: { task: 'title_generation' } });
    expect(storing.offered()).toEqual([['search_chats'], [], ['search_chats'], []]);
    expect((await storing.send('GET', '/api/tools')).body).toMatchObject({
      data: [{ id: 'function:search_chats', name: 'search_chats', kind: 'function' }],
    });

    const plain = await openGateway({ turns: [says('a')], isStoring: false });
    await plain.ask('Hi');
    expect(plain.offered()).toEqual([[]]);
    expect(await plain.ask('Hi', { tool_ids: ['function:search_chats'] })).toMatchObject({
      status: 400,
      body: { error: { code: 'unknown_tool_id' } },
    });
  });

  it('is there for a limited key only when the key names it', async () => {
    const { ask, makeKey, offered, send } = await openGateway({ turns: [says('a'), says('b')] });
    const without = await makeKey({ tools: [] });
    const named = await makeKey({ tools: ['function:search_chats'] });
    await ask('Hi', { key: without });
    await ask('Hi', { key: named });
    expect(offered()).toEqual([[], ['search_chats']]);
    expect(await ask('Hi', { key: without, tool_ids: ['function:search_chats'] })).toMatchObject({ status: 403 });
    expect((await send('GET', '/api/tools', { key: without })).body).toMatchObject({ data: [] });
  });

  it('is found beside functions of the process, which claim all entries of its kind', async () => {
    const history = createHistoryTool({ search: async () => [] });
    const others: ToolSource = {
      claims: (toolId) => toolId.startsWith('function:'),
      async supplyFor(toolIds) {
        if (toolIds?.length !== 0) throw new Error(`unknown: ${String(toolIds)}`);
        return { candidates: [], warnings: [] };
      },
      list: async () => [],
    };
    const tools = connectedTools({ send: neverSends, sources: [history, others] });
    onTestFinished(() => tools.close());
    const request = parseChatBody({
      model: 'model',
      messages: [{ role: 'user', content: 'Hi' }],
      tool_ids: ['function:search_chats'],
    }).request;
    const caller = { id: 'ada', role: 'user', isOpen: false } as const;
    const nowhere = { runId: 'r', caller, chatId: undefined, messageId: undefined, sessionId: undefined };
    const offer = await tools.catalog.offerFor(request, { ...nowhere, signal: new AbortController().signal });
    expect([...offer.tools.keys()]).toEqual(['search_chats']);
  });

  it('can be invoked on its own', async () => {
    const { ask, send } = await openGateway({ turns: [says('The kettle.')] });
    const { body } = await ask('Where?', { store: true });
    const invoked = await send('POST', '/api/tools/search_chats/invoke', { payload: { arguments: { query: 'kettles' } } });
    expect(invoked.body).toMatchObject({
      id: 'function:search_chats',
      result: { chats: [{ id: body['id'], title: 'Where?', excerpt: 'The kettle.' }] },
    });
  });
});
