import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { directSend } from '../../_support/direct-send.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { mcpHttpServer } from '../../_support/mcp-http-server.ts';
import type { McpHttpServer } from '../../_support/mcp-http-server.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import type { OutboundRequest } from '../../../src/core/outbound.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';
import { documentOf, selects } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { mcpRecord } from '../../tools/mcp/mcp-fixture.ts';
import { toolOf } from '../../tools/mcp/scripted-peer.ts';
import { call, lastResults } from '../approvals/approval-fixture.ts';
import type { Asked } from '../approvals/approval-fixture.ts';
import { asks, connect, connectingGateway, resume } from './connecting-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

/** A gateway before an MCP server that answers nobody without the key. */
async function wikiGateway(turns: ScriptStep[][], status = 401): Promise<{ gateway: Gateway; wiki: McpHttpServer }> {
  const wiki = await mcpHttpServer([toolOf('search'), toolOf('read')], {
    refusal: ({ authorization }) => (authorization === 'Bearer CANARY-key' ? undefined : status),
  });
  const fields = { name: 'Wiki', description: 'What the company knows', authType: 'bearer', isPerUser: true } as const;
  const record = mcpRecord({ id: 'wiki', url: wiki.url, ...fields });
  return { gateway: await connectingGateway(turns, {}, [], { servers: [record], send: directSend }), wiki };
}

const toolsAsked = ({ model }: Gateway): string[][] => model.requests.map(({ tools }) => tools.map(({ name }) => name));
const textOf = (asked: Asked): string | null | undefined => asked.choices[0]?.message.content;

describe('a server that lists its functions only to people who have connected', () => {
  it('is offered as one function, and with its own in the same run once they have [credentials]', async () => {
    const { gateway, wiki } = await wikiGateway([calls(['connect_wiki', {}]), calls(['search', {}]), says('Found.')]);
    await using _closing = gateway;
    const { connect: wait } = await asks(gateway);
    expect(wait.servers).toMatchObject([{ server: 'wiki', name: 'Wiki' }]);
    const description = gateway.model.requests[0]?.tools[0]?.description ?? '';
    expect(description).toContain('What the company knows');
    await connect(gateway, 'wiki');
    expect(textOf((await resume(gateway, wait)).json<Asked>())).toBe('Found.');
    expect(toolsAsked(gateway)).toEqual([['connect_wiki'], ['search', 'read'], ['search', 'read']]);
    expect(wiki.calls).toEqual(['search']);
    expect(lastResults(gateway)[0]).toContain('"functions":["search","read"]');
  });

  it('is offered with its functions in the next request of the chat', async () => {
    const { gateway, wiki } = await wikiGateway([calls(['connect_wiki', {}]), calls(['search', {}]), says('Found.')]);
    await using _closing = gateway;
    const asked = await asks(gateway);
    await connect(gateway, 'wiki');
    const messages = [
      { role: 'user', content: 'Search' },
      { role: 'assistant', content: textOf(asked) },
      { role: 'user', content: 'done' },
    ];
    const next = await call(gateway, 'POST /v1/chat/completions', { payload: { model: 'model', messages } });
    expect(textOf(next.json<Asked>())).toBe('Found.');
    expect([toolsAsked(gateway)[1], wiki.calls]).toEqual([['search', 'read'], ['search']]);
  });

  it('is reported as one for those who have connected, and as one that refuses where its key is not right', async () => {
    const { gateway, wiki } = await wikiGateway([]);
    await using _closing = gateway;
    const refresh = await call(gateway, 'POST /api/tool-servers/wiki/refresh');
    expect(refresh.json()).toMatchObject({ ok: false, credential: 'own' });
    const wrong = { url: wiki.url, type: 'mcp', auth_type: 'bearer', key: 'not the key' };
    expect((await call(gateway, 'POST /api/tool-servers/verify', { payload: wrong })).json()).toMatchObject({ credential: 'refused' });
  });

  it('goes on by itself over a socket, and tells which functions are there now', async () => {
    const { gateway, wiki } = await wikiGateway([calls(['connect_wiki', {}]), calls(['search', {}]), says('Found.')]);
    await using _closing = gateway;
    const browser = await connectFakeBrowser({ url: await listen(gateway.app) });
    browser.send({ type: 'message', data: { content: 'Search', model: 'model' } });
    await browser.next('connect');
    await connect(gateway, 'wiki');
    expect((await browser.next('assistant_end')).data).toMatchObject({ content: 'Found.' });
    const update = browser.frames.find(({ data }) => data['type'] === 'config.update');
    expect(update?.data['data']).toMatchObject({ added: ['search', 'read'], removed: ['connect_wiki'] });
    expect(wiki.calls).toEqual(['search']);
    browser.terminate();
  });

  it('works with a selection by a prompt too', async () => {
    const { gateway, wiki } = await wikiGateway([selects(['connect_wiki', {}]), selects(['search', {}]), says('Found.')]);
    await using _closing = gateway;
    const { connect: wait } = await asks(gateway, { params: { function_calling: 'default' } });
    await connect(gateway, 'wiki');
    expect(textOf((await resume(gateway, wait)).json<Asked>())).toBe('Found.');
    expect(wiki.calls).toEqual(['search']);
  });

  it('keeps a chat that names one of its functions, and refuses unknown ones once connected', async () => {
    const { gateway } = await wikiGateway([calls(['connect_wiki', {}]), says('Fine.')]);
    await using _closing = gateway;
    const { connect: wait } = await asks(gateway, { tool_ids: ['server:wiki/search'] });
    await connect(gateway, 'wiki');
    await resume(gateway, wait);
    expect(toolsAsked(gateway)).toEqual([['connect_wiki'], ['search']]);
    const payload = { model: 'model', messages: [{ role: 'user', content: 'Hi' }], tool_ids: ['server:wiki/none'] };
    expect((await call(gateway, 'POST /v1/chat/completions', { payload })).statusCode).toBe(400);
  });

  const statesOf = async (gateway: Gateway): Promise<unknown> =>
    (await call(gateway, 'GET /api/credentials')).json<{ data: JsonObject[] }>().data.map(({ state }) => state);

  it('asks anew for a key that it refuses, over a socket and in an answer', async () => {
    const turns = [calls(['connect_wiki', {}]), calls(['search', {}]), says('Found.')];
    const { gateway, wiki } = await wikiGateway([...turns, ...turns]);
    await using _closing = gateway;
    const give = async (): Promise<void> => {
      const given = await call(gateway, 'PUT /api/credentials/wiki', { payload: { key: 'CANARY-wrong-key' } });
      expect(given.json()).toMatchObject({ state: 'connected' });
    };
    await give();
    const browser = await connectFakeBrowser({ url: await listen(gateway.app) });
    browser.send({ type: 'message', data: { content: 'Search', model: 'model' } });
    await browser.next('connect');
    expect(await statesOf(gateway)).toEqual(['missing']);
    await connect(gateway, 'wiki');
    expect((await browser.next('assistant_end')).data).toMatchObject({ content: 'Found.' });
    expect(await statesOf(gateway)).toEqual(['connected']);
    browser.terminate();

    await give();
    const { connect: wait } = await asks(gateway);
    expect((await resume(gateway, wait)).statusCode).toBe(409);
    await connect(gateway, 'wiki');
    expect(textOf((await resume(gateway, wait)).json<Asked>())).toBe('Found.');
    expect(wiki.calls).toEqual(['search', 'search']);
  });

  it('keeps a key that it takes, and that may not do this', async () => {
    const { gateway } = await wikiGateway([calls(['connect_wiki', {}])], 403);
    await using _closing = gateway;
    await call(gateway, 'PUT /api/credentials/wiki', { payload: { key: 'CANARY-wrong-key' } });
    await asks(gateway);
    expect(await statesOf(gateway)).toEqual(['connected']);
  });

  it('is listed and can be connected outside of a chat', async () => {
    const { gateway } = await wikiGateway([]);
    await using _closing = gateway;
    const listed = async (): Promise<unknown[]> =>
      (await call(gateway, 'GET /api/tools')).json<{ data: JsonObject[] }>().data.map(({ id }) => id);
    const invoke = async (): Promise<[number, JsonObject]> => {
      const response = await call(gateway, 'POST /api/tools/wiki/connect_wiki/invoke', { payload: {} });
      return [response.statusCode, response.json<JsonObject>()];
    };
    await waitFor(async () => expect(await listed()).toEqual(['wiki/connect_wiki']));
    expect(await invoke()).toMatchObject([409, { connect: { servers: [{ server: 'wiki' }] } }]);
    await connect(gateway, 'wiki');
    expect(await listed()).toEqual(['wiki/search', 'wiki/read']);
    expect(await invoke()).toMatchObject([200, { result: { connected: 'Wiki', functions: ['search', 'read'] } }]);
  });
});

describe('an API that shows its document only to people who have connected', () => {
  const document = documentOf({ search: { type: 'object', properties: {} } });
  const record = toolServerRecord({ id: 'wiki', url: 'http://wiki.test', name: 'Wiki', authType: 'bearer', isPerUser: true });

  /** A gateway before it. `sent`: the paths that it was asked for, each with the key. */
  async function lockedGateway(turns: ScriptStep[][]): Promise<{ gateway: Gateway; sent: () => string[] }> {
    const answerTo = (body: JsonObject) => (request: OutboundRequest) =>
      Promise.resolve(
        request.headers?.['authorization'] === 'Bearer CANARY-key' ? jsonResponse(body) : jsonResponse({ detail: 'no' }, 401),
      );
    const answers = { 'http://wiki.test/openapi.json': answerTo(document), 'http://wiki.test/search': answerTo({ found: true }) };
    const gateway = await connectingGateway(turns, {}, [], { servers: [record], answers });
    return { gateway, sent: () => gateway.sent.map(({ url, headers }) => `${new URL(url).pathname} ${headers?.['authorization'] ?? '-'}`) };
  }

  it('is offered as one function, and with its own in the same run once they have', async () => {
    const { gateway, sent } = await lockedGateway([calls(['connect_wiki', {}]), calls(['search', {}]), says('Found.')]);
    await using _closing = gateway;
    const { connect: wait } = await asks(gateway);
    expect(wait.servers).toMatchObject([{ server: 'wiki', name: 'Wiki' }]);
    await connect(gateway, 'wiki');
    expect(textOf((await resume(gateway, wait)).json<Asked>())).toBe('Found.');
    expect(toolsAsked(gateway)).toEqual([['connect_wiki'], ['search'], ['search']]);
    expect(sent().filter((line) => !line.endsWith(' -'))).toEqual(['/openapi.json Bearer CANARY-key', '/search Bearer CANARY-key']);
  });

  it('is reported as one, and asks anew for a key that it rejects', async () => {
    const { gateway } = await lockedGateway([calls(['connect_wiki', {}])]);
    await using _closing = gateway;
    const state = async (): Promise<unknown> =>
      (await call(gateway, 'GET /api/credentials')).json<{ data: JsonObject[] }>().data[0]?.['state'];
    await call(gateway, 'PUT /api/credentials/wiki', { payload: { key: 'CANARY-wrong-key' } });
    await asks(gateway);
    expect(await state()).toBe('missing');
    const connection = { id: 'wiki', type: 'openapi', url: 'http://wiki.test', auth_type: 'bearer', per_user: true };
    const verified = await call(gateway, 'POST /api/tool-servers/verify', { payload: connection });
    expect(verified.json()).toMatchObject({ ok: false, credential: 'own' });
  });
});
