import { describe, expect, it, onTestFinished } from 'vitest';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';

interface Gateway {
  app: TestApp;
  url: string;
}

/** A gateway that listens, with one function of its own. */
async function gateway(name: string): Promise<Gateway> {
  const operation = { get: { operationId: `own_${name}`, responses: { 200: { description: 'Done' } } } };
  const spec = { openapi: '3.1.0', info: { title: name, version: '1' }, paths: { '/own': operation } };
  const toolServers = [parseToolServerConnection({ id: name, url: `http://${name}.test`, spec }, 'file')];
  const app = await testApp({ TOOLWHARF_DEMO: 'false' }, { config: { toolServers } });
  onTestFinished(() => app.close());
  return { app, url: await listen(app) };
}

interface Report {
  ok: boolean;
  error?: string;
  functions: { name: string }[];
  omitted: { operation: string; reason: string }[];
}

async function post({ app }: Gateway, url: string, payload?: object): Promise<Report & { report: Report }> {
  return (await app.server.inject({ method: 'POST', url, ...(payload && { payload }) })).json();
}

function register(at: Gateway, id: string, { url }: Gateway): Promise<{ report: Report }> {
  return post(at, '/api/tool-servers', { id, type: 'mcp', url: `${url}/mcp` });
}

async function namesOf({ app }: Gateway): Promise<string[]> {
  const { data } = (await app.server.inject({ method: 'GET', url: '/api/tools' })).json<{ data: { name: string }[] }>();
  return data.map(({ name }) => name);
}

describe('a gateway as a tool server', () => {
  it('is refused where it is this gateway itself, in words that say so', async () => {
    const own = await gateway('one');
    const { report } = await register(own, 'self', own);
    expect(report.ok).toBe(false);
    expect(JSON.stringify(report)).toContain('A gateway cannot be its own tool server');
    expect((await post(own, '/api/tool-servers/self/refresh')).ok).toBe(false);
    expect(await namesOf(own)).toEqual(['own_one']);
  });

  it('gives all that it has, what comes from others too, but none what came from there', async () => {
    const [one, two, three] = [await gateway('one'), await gateway('two'), await gateway('three')];
    await register(one, 'two', two);
    await register(two, 'three', three);
    await register(three, 'one', one);
    for (const _round of [1, 2, 3]) {
      await post(one, '/api/tool-servers/two/refresh');
      await post(two, '/api/tool-servers/three/refresh');
      await post(three, '/api/tool-servers/one/refresh');
    }
    for (const each of [one, two, three]) expect((await namesOf(each)).toSorted()).toEqual(['own_one', 'own_three', 'own_two']);
    const { omitted } = await post(one, '/api/tool-servers/two/refresh');
    expect(omitted).toEqual([{ operation: 'tools/call own_one', reason: 'it comes from this gateway itself, through another gateway' }]);
  });
});
