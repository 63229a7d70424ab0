import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOutbound } from '../../../src/policy/outbound/outbound-request.ts';
import { documentWith, scriptedSend } from '../../tools/scripted-send.ts';
import { adminApp } from './tool-server-fixture.ts';

/** A tool server that writes what it was sent into its document, and fails at what else is asked. */
const server = createServer((request, response) => {
  const sent = JSON.stringify([request.headers, request.url]);
  if (request.url?.startsWith('/openapi.json') === true) {
    const document = documentWith('route');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...document, info: { title: sent, version: '1', [sent]: sent }, [sent]: sent }));
    return;
  }
  response.statusCode = 500;
  response.end(sent);
});
let url = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

const canaries = [
  'canary-bearer-0001',
  'canary-user-0002',
  'canary-password-0003',
  'canary-header-0004',
  'canary-query-0005',
  'canary-own-0006',
];
const shown = (text: string): string[] =>
  [...canaries, Buffer.from('canary-user-0002:canary-password-0003').toString('base64')].filter((canary) => text.includes(canary));

describe('secrets of tool servers', () => {
  it.each([
    ['bearer', { auth_type: 'bearer', key: canaries[0] }],
    ['basic', { auth_type: 'basic', key: `${canaries[1]}:${canaries[2]}` }],
    ['header', { auth_type: 'header', auth_name: 'x-token', key: canaries[3] }],
    ['query', { auth_type: 'query', auth_name: 'token', key: canaries[4] }],
  ])('with auth_type "%s" are in no answer and no line of the log', async (_type, credential) => {
    const outbound = createOutbound({ egress: { mode: 'public', allow: [] } });
    const script = { ...scriptedSend(), send: outbound.send };
    await using app = await adminApp({ script });
    const entry = { id: 'maps', url, ...credential, headers: { 'x-own': canaries[5] } };
    const list = { TOOL_SERVER_CONNECTIONS: [{ ...entry, info: { id: 'maps' } }] };
    const broken = { ...entry, config: { timeout_ms: 'soon' } };
    const unreachable = { ...entry, id: 'down', url: 'http://127.0.0.1:1' };
    const answers = [
      await app.ask('POST', '/api/tool-servers', entry),
      await app.ask('POST', '/api/tool-servers', entry),
      await app.ask('POST', '/api/tool-servers', broken),
      await app.ask('POST', '/api/tool-servers', unreachable),
      await app.ask('POST', '/api/tool-servers/verify', entry),
      await app.ask('POST', '/api/tool-servers/verify', broken),
      await app.ask('POST', '/api/tool-servers/verify', unreachable),
      await app.ask('PATCH', '/api/tool-servers/maps', { key: entry.key, headers: entry.headers }),
      await app.ask('PATCH', '/api/tool-servers/maps', broken),
      await app.ask('POST', '/api/tool-servers/maps/refresh'),
      await app.ask('GET', '/api/tool-servers/maps'),
      await app.ask('GET', '/api/tool-servers'),
      await app.ask('GET', '/api/tools'),
      await app.ask('POST', '/api/tools/maps/route/invoke', {}),
      await app.ask('PUT', '/api/tool-servers', [entry, broken]),
      await app.ask('PUT', '/api/tool-servers', [entry]),
      await app.ask('POST', '/api/v1/configs/tool_servers', list),
      await app.ask('GET', '/api/v1/configs/tool_servers'),
      await app.ask('POST', '/api/v1/configs/tool_servers/verify', entry),
      await app.ask('POST', '/api/v1/configs/tool_servers/verify', unreachable),
      await app.ask('DELETE', '/api/tool-servers/maps'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([
      201, 409, 400, 201, 200, 400, 200, 200, 400, 200, 200, 200, 200, 200, 400, 200, 200, 200, 200, 400, 200,
    ]);
    // The server did get them: what is checked below is that they stayed between the two.
    expect(answers[0]?.body.report.info.title).toContain('[secret]');
    expect(answers.flatMap(({ text }) => shown(text))).toEqual([]);
    expect(shown(app.logLines.join('\n'))).toEqual([]);
    await outbound.close();
  });
});

/** Repeats what it was sent wherever a document and an answer have a place for it. */
const echoing = createServer((request, response) => {
  const sent = JSON.stringify([request.headers, request.url]);
  if (request.url?.startsWith('/openapi.json') === true) {
    const schema = { type: 'string', title: sent, description: sent, default: sent, examples: [sent], enum: [sent, 'a'] };
    const operation = (operationId: string): object => ({
      operationId,
      summary: sent,
      description: sent,
      tags: [sent],
      parameters: [{ name: 'q', in: 'query', description: sent, example: sent, schema }],
      requestBody: { description: sent, content: { 'application/json': { schema: { $ref: '#/components/schemas/Body' } } } },
      responses: { 200: { description: sent } },
    });
    const head = { openapi: '3.1.0', info: { title: sent, description: sent, version: sent }, tags: [{ name: sent, description: sent }] };
    const paths = {
      '/binary': { post: operation('binary') },
      '/text': { post: operation('text') },
      '/odd': { post: operation(`odd ${sent}`) },
    };
    const components = { schemas: { Body: { type: 'object', properties: { [sent]: schema, plain: schema } } } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...head, paths, components }));
    return;
  }
  const isBinary = request.url?.startsWith('/binary') === true;
  response.setHeader('content-type', isBinary ? 'image/png' : 'text/plain');
  response.setHeader('content-disposition', `attachment; filename="${request.headers.authorization ?? 'x'}.png"`);
  response.end(isBinary ? Buffer.concat([Buffer.from([0, 255]), Buffer.from(sent)]) : sent);
});

/** Also what is written in base64 within it. */
function unfolded(text: string): string {
  const encoded = text.match(/[A-Za-z0-9+/]{16,}/g) ?? [];
  return [text, ...encoded.map((part) => Buffer.from(part, 'base64').toString('latin1'))].join('\n');
}

describe('what a tool server repeats of the credentials it was sent', () => {
  beforeAll(async () => new Promise<void>((resolve) => echoing.listen(0, '127.0.0.1', resolve)));
  afterAll(() => echoing.close());

  it.each([
    ['bearer', { auth_type: 'bearer', key: canaries[0] }],
    ['basic', { auth_type: 'basic', key: `${canaries[1]}:${canaries[2]}` }],
    ['header', { auth_type: 'header', auth_name: 'x-token', key: canaries[3] }],
    ['query', { auth_type: 'query', auth_name: 'token', key: canaries[4] }],
  ])('is in no function, no result and no file (%s)', async (_type, credential) => {
    const outbound = createOutbound({ egress: { mode: 'public', allow: [] } });
    await using app = await adminApp({ script: { ...scriptedSend(), send: outbound.send } });
    const place = `http://127.0.0.1:${(echoing.address() as AddressInfo).port}`;
    const entry = { id: 'echo', url: place, ...credential, headers: { 'x-own-key': canaries[5] } };
    const created = await app.ask('POST', '/api/tool-servers', entry);
    expect(created.body.report).toMatchObject({ ok: true, info: { title: expect.stringContaining('[secret]') } });
    const listed = await app.ask('GET', '/api/tools');
    expect(listed.body.data).toHaveLength(3);
    expect(listed.text).toContain('[secret]');
    const binary = await app.ask('POST', '/api/tools/echo/binary/invoke', { arguments: {} });
    const text = await app.ask('POST', '/api/tools/echo/text/invoke', { arguments: {} });
    expect(text.text).toContain('[secret]');
    const all = [created, listed, binary, text, await app.ask('GET', '/api/tool-servers/echo')].map((answer) => unfolded(answer.text));
    expect(all.flatMap(shown)).toEqual([]);
    expect(shown(app.logLines.join('\n'))).toEqual([]);
    await outbound.close();
  });
});
