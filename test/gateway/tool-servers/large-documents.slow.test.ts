import { describe, expect, it } from 'vitest';
import type { ToolServerReport } from '../../../src/core/tools/tool-server-report.ts';
import { compileSchema } from '../../../src/validation/compile-schema.ts';
import { backendOf, testApp, type TestApp } from '../../_support/build-app.ts';
import { describeUnless } from '../../_support/missing.ts';
import { corpusFiles, openCorpusDocument } from '../../_support/openapi-corpus.ts';
import { largeDocument } from '../../_support/large-document.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { watchBuiltSchemas } from '../../_support/watch-built-schemas.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';

const url = 'http://cloud.test';
const small = {
  openapi: '3.1.0',
  info: { title: 'Small', version: '1' },
  paths: { '/ping': { get: { operationId: 'ping', responses: {} } } },
};
const script = scriptedSend({
  [`${url}/openapi.json`]: largeDocument(),
  'http://small.test/openapi.json': small,
  'http://small.test/ping': { pong: true },
});
const sizes = /large|many|characters|schemas/;

const both = [
  { url, info: { id: 'cloud' } },
  { url: 'http://small.test', info: { id: 'small' } },
];

/** A gateway with both servers. Their list has no schemas. */
async function gatewayWithBoth(model = new ScriptedModel()): Promise<TestApp> {
  const app = await testApp({}, { backends: [backendOf(model)], send: script.send });
  const response = await app.server.inject({ method: 'PUT', url: '/api/tool-servers', payload: both });
  const { data } = response.json<{ data: { report: ToolServerReport }[] }>();
  expect(data.map(({ report }) => report.functions.length)).toEqual([1_000, 1]);
  return app;
}

describe('a document of 1,000 operations, some of which have more than 25,000 tokens', () => {
  it('is registered with all of them, and the report has their whole schemas', async () => {
    const built = watchBuiltSchemas();
    await using app = await gatewayWithBoth();
    expect(built).toEqual([]);
    const report = (await app.server.inject({ method: 'POST', url: '/api/tool-servers/cloud/refresh' })).json<ToolServerReport>();
    expect(report).toMatchObject({ ok: true, omitted: [], renamed: [] });
    expect(report.functions).toHaveLength(1_000);
    const large = report.functions.filter(({ tokens }) => tokens > 25_000);
    expect(large).toHaveLength(200);
    const [create] = large;
    expect(create?.name).toMatch(/^create/);
    const text = JSON.stringify({
      type: 'function',
      function: { name: create?.name, description: create?.description, parameters: create?.parameters },
    });
    expect(create?.tokens).toBe(Math.ceil(text.length / 4));
    // The last of 120 parts, which lead from one to the next, is described.
    expect(text).toContain('field119_9');
    expect(compileSchema(create?.parameters ?? {})).toBeDefined();
    const listed = (await app.server.inject({ url: '/api/tools' })).json<{ data: { id: string }[] }>();
    expect(listed.data.filter(({ id }) => id.startsWith('cloud/'))).toHaveLength(1_000);
  });

  it('costs a chat nothing that does not use it', async () => {
    const model = new ScriptedModel(calls(['ping', {}]), says('Pong.'));
    await using app = await gatewayWithBoth(model);
    const built = watchBuiltSchemas();
    const payload = { model: 'model', messages: [{ role: 'user', content: 'Ping!' }], tool_ids: ['server:small'] };
    const response = await app.server.inject({ method: 'POST', url: '/v1/chat/completions', payload });
    expect(response.json()).toMatchObject({ choices: [{ message: { content: 'Pong.' } }] });
    expect(built).toEqual(['ping']);
  });

  it('costs a chat no more than the functions that it is offered', async () => {
    const model = new ScriptedModel(says('Hello.'), says('Hello again.'));
    await using app = await gatewayWithBoth(model);
    const built = watchBuiltSchemas();
    const ask = (content: string) =>
      app.server.inject({
        method: 'POST',
        url: '/v1/chat/completions',
        payload: { model: 'model', messages: [{ role: 'user', content }] },
      });
    expect((await ask('Read the status of Kind7, please.')).statusCode).toBe(200);
    const offered = model.requests[0]?.tools.map(({ name }) => name) ?? [];
    expect(offered).toContain('readStatusOfKind7');
    expect(offered.length).toBeLessThanOrEqual(41);
    // Each once, and no other.
    expect(built.filter((name) => !offered.includes(name))).toEqual([]);
    expect(new Set(built).size).toBe(built.length);
    const before = built.length;
    expect((await ask('Read the status of Kind7, please.')).statusCode).toBe(200);
    expect(built).toHaveLength(before);
  });

  it('may come with a request', async () => {
    const model = new ScriptedModel(calls(['readKind99', { name: 'a' }]), says('Read.'));
    await using app = await testApp(
      {},
      { backends: [backendOf(model)], send: scriptedSend({ [`${url}/kinds/99/a`]: { name: 'a' } }).send },
    );
    const payload = {
      model: 'model',
      messages: [{ role: 'user', content: 'Read the thing of Kind99.' }],
      tool_servers: [{ url, openapi: largeDocument() }],
    };
    const response = await app.server.inject({ method: 'POST', url: '/v1/chat/completions', payload });
    const body = response.json<{ warnings?: { message: string }[]; choices: unknown[] }>();
    expect(body).toMatchObject({ choices: [{ message: { content: 'Read.' } }] });
    expect(body.warnings?.map(({ message }) => message).join()).toContain('of 1000 functions are offered');
  });
});

const missing = corpusFiles().includes('github-rest.json') ? undefined : 'OPENAPI_CORPUS has no github-rest.json';
describeUnless(missing, 'the largest real document', () => {
  it('has every operation as a function, or omits it for a reason other than size', async () => {
    const { operations, omitted } = (await openCorpusDocument('github-rest.json')).conversion;
    expect(operations.length).toBeGreaterThan(1_000);
    expect(omitted.filter(({ reason }) => sizes.test(reason))).toEqual([]);
  });
});
