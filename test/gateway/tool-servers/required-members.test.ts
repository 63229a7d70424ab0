import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { askPlainly, call } from '../approvals/approval-fixture.ts';
import { gatewayOf, selects, serverOf } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const text = { type: 'string' };
const tags: JsonObject = { type: 'array', items: text };
const note: JsonObject = { type: 'object', required: ['title'], properties: { title: text, tags } };
const file = { type: 'string', format: 'binary' };
const query = { name: 'dry', in: 'query', schema: { type: 'boolean' } };

function operation(content: JsonObject, required?: boolean): JsonObject {
  return { operationId: 'save', parameters: [query], requestBody: { content, ...(required !== undefined && { required }) }, responses: {} };
}
const documentOf = (openapi: string, post: JsonObject): JsonObject => ({
  openapi,
  info: { title: 'Notes', version: '1' },
  paths: { '/notes': { post } },
  components: { schemas: { Titled: { type: 'object', required: ['title'], properties: { title: text } } } },
});
const json = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });

async function notes(document: JsonObject, ...turns: ReturnType<typeof says>[]): Promise<Gateway> {
  const gateway = await gatewayOf({ turns, servers: [serverOf('notes', document)], answers: { 'http://notes.test/notes': { ok: true } } });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

async function invoked(document: JsonObject, args: JsonObject): Promise<{ sent: unknown[]; read: string }> {
  const gateway = await notes(document);
  const { body } = await call(gateway, 'POST /api/tools/save/invoke', { payload: { arguments: args } });
  return { sent: gateway.sent.map((request) => request.body?.toString()), read: body };
}

const refusal = 'title: is required together with tags';
const allOf = {
  allOf: [{ $ref: '#/components/schemas/Titled' }, { allOf: [{ type: 'object', properties: { tags } }] }],
};

it.each<[string, JsonObject]>([
  ['OpenAPI 3.0', documentOf('3.0.3', operation(json(note)))],
  ['OpenAPI 3.1', documentOf('3.1.0', operation(json({ ...note, type: ['object', 'null'] })))],
  ['required: false', documentOf('3.1.0', operation(json(note), false))],
  ['nested allOf', documentOf('3.0.3', operation(json(allOf)))],
  ['a form', documentOf('3.0.3', operation({ 'application/x-www-form-urlencoded': { schema: note } }))],
  ['multipart', documentOf('3.0.3', operation({ 'multipart/form-data': { schema: note } }))],
])('requires what a body requires as soon as one of its members is given: %s', async (_, document) => {
  const { sent, read } = await invoked(document, { tags: ['a'], dry: true });
  expect(read).toContain(refusal);
  expect(sent).toEqual([]);
  expect((await invoked(document, { tags: ['a'], title: null })).sent).toEqual([]);
  expect((await invoked(document, { title: 'x', tags: ['a'] })).sent).toHaveLength(1);
  expect((await invoked(document, { dry: true })).sent).toEqual([undefined]);
  expect((await invoked(document, {})).sent).toEqual([undefined]);
});

it('tells the model, and requires nothing of a call without a body', async () => {
  await using gateway = await gatewayOf({
    turns: [says('Hello.')],
    servers: [serverOf('notes', documentOf('3.0.3', operation(json(note))))],
  });
  await gateway.ask();
  const [offered] = gateway.model.requests[0]?.tools ?? [];
  expect(offered?.description).toContain('Required with a body: title.');
  expect(offered?.parameters['required']).toEqual([]);
});

it('fills in the default of a member that becomes required', async () => {
  const schema = { type: 'object', required: ['kind', 'title'], properties: { kind: { type: 'string', default: 'plain' }, title: text } };
  const document = documentOf('3.1.0', operation(json(schema)));
  expect((await invoked(document, { title: 'x' })).sent).toEqual(['{"kind":"plain","title":"x"}']);
  expect((await invoked(document, {})).sent).toEqual([undefined]);
});

it('chooses the media type whose required members are given', async () => {
  const form = { type: 'object', required: ['file'], properties: { file, caption: text } };
  const document = documentOf('3.1.0', operation({ ...json(note), 'multipart/form-data': { schema: form } }));
  expect((await invoked(document, { title: 'x' })).sent).toEqual(['{"title":"x"}']);
  expect((await invoked(document, { caption: 'x' })).read).toContain('file: is required together with caption');
  expect((await invoked(document, { caption: 'x', file: 'y' })).sent).toHaveLength(1);
  expect((await invoked(document, { caption: 'x', title: 'y' })).read).toContain('cannot be sent together');
});

it('counts members that the body allows without naming them', async () => {
  const document = documentOf('3.1.0', operation(json({ ...note, additionalProperties: true })));
  const { sent, read } = await invoked(document, { color: 'red' });
  expect(read).toContain('title: is required together with color');
  expect(sent).toEqual([]);
});

const react = (args: JsonObject) => says(`Thought: I know.\nAction: save\nAction Input: ${JSON.stringify(args)}`);
const args = { tags: ['a'] };
const ways: Record<string, (document: JsonObject) => Promise<{ gateway: Gateway; read: string }>> = {
  native: (document) => chat(document, 'native', [calls(['save', args])]),
  default: (document) => chat(document, 'default', [selects(['save', args]), selects(['save', args])]),
  react: (document) => chat(document, 'react', [react(args)]),
  '/mcp': async (document) => {
    const gateway = await notes(document);
    const client = new Client({ name: 'tester', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${await listen(gateway.app)}/mcp`)));
    onTestFinished(() => client.close());
    return { gateway, read: JSON.stringify(await client.callTool({ name: 'save', arguments: args })) };
  },
};

async function chat(document: JsonObject, mode: string, turns: ReturnType<typeof says>[]): Promise<{ gateway: Gateway; read: string }> {
  const gateway = await notes(document, ...turns, says('Final Answer: Done.'));
  await askPlainly(gateway, { params: { function_calling: mode } });
  return { gateway, read: JSON.stringify(gateway.model.requests.slice(1)) };
}

it.each(Object.entries(ways))('is checked in every mode, before anything is sent: %s', async (_, way) => {
  const { gateway, read } = await way(documentOf('3.1.0', operation(json(note))));
  expect(gateway.sent).toEqual([]);
  expect(read).toContain(refusal);
});

it('does not ask anybody to approve a call without such a member', async () => {
  await using gateway = await gatewayOf({
    turns: [calls(['save', args]), says('Done.')],
    servers: [serverOf('notes', documentOf('3.1.0', operation(json(note))), { extra: { config: { needs_approval: true } } })],
  });
  const seen = await gateway.ask();
  expect(seen.eventsOf('approval.request')).toEqual([]);
  expect(JSON.stringify(gateway.model.requests.at(-1))).toContain(refusal);
});
