import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, testApp } from '../../_support/build-app.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { ScriptedModel } from '../../_support/scripted-model.ts';
import { startUpstream, type UpstreamServer } from '../../_support/upstream-server.ts';
import { gatewayOf, serverOf } from '../gateway.ts';
import { call } from '../approvals/approval-fixture.ts';

const documentFor = (content: JsonObject): JsonObject => ({
  openapi: '3.1.0',
  info: { title: 'Files', version: '1' },
  paths: { '/files': { post: { operationId: 'save', requestBody: { required: true, content }, responses: {} } } },
});
const jsonOf = (picture: JsonObject): JsonObject => ({ 'application/json': { schema: { type: 'object', properties: { picture } } } });
const png = 'iVBORw0KGgo=';

async function sentFor(document: JsonObject, args: JsonObject): Promise<{ sent: unknown; read: string }> {
  await using gateway = await gatewayOf({ servers: [serverOf('files', document)], answers: { 'http://files.test/files': { ok: true } } });
  const { body } = await call(gateway, 'POST /api/tools/save/invoke', { payload: { arguments: args } });
  const sent = gateway.sent[0]?.body;
  return { sent: typeof sent === 'string' && sent.startsWith('{') ? (JSON.parse(sent) as unknown) : sent, read: body };
}

it.each<[string, JsonObject, unknown, unknown]>([
  ['format: byte', { type: 'string', format: 'byte' }, `data:image/png;base64,${png}`, png],
  [
    'contentEncoding',
    { type: 'string', contentEncoding: 'base64', contentMediaType: 'image/png' },
    `data:image/png;name=a.png;base64,${png}`,
    png,
  ],
  ['a pattern of base64', { type: 'string', format: 'byte', pattern: '^[A-Za-z0-9+/]+={0,2}$' }, `data:;base64,${png}`, png],
  ['base64url', { type: 'string', contentEncoding: 'base64url' }, 'data:application/octet-stream;base64,+/8=', '-_8'],
  ['percent-encoding', { type: 'string', format: 'byte' }, 'data:text/plain,a%20b', 'YSBi'],
  ['bytes that may be null', { type: ['string', 'null'], format: 'byte' }, `data:image/png;base64,${png}`, png],
  [
    'a choice',
    {
      oneOf: [
        { type: 'string', format: 'byte' },
        { type: 'object', properties: { id: { type: 'integer' } } },
      ],
    },
    `data:image/png;base64,${png}`,
    png,
  ],
  ['a list', { type: 'array', items: { type: 'string', format: 'byte' } }, [`data:image/png;base64,${png}`], [png]],
  [
    'an object',
    { type: 'object', properties: { raw: { type: 'string', format: 'byte' } } },
    { raw: `data:image/png;base64,${png}` },
    { raw: png },
  ],
  ['base64 by itself', { type: 'string', format: 'byte' }, png, png],
  ['an address', { type: 'string', format: 'uri' }, `data:image/png;base64,${png}`, `data:image/png;base64,${png}`],
  [
    'bytes or an address',
    {
      oneOf: [
        { type: 'string', format: 'byte' },
        { type: 'string', format: 'uri' },
      ],
    },
    `data:image/png;base64,${png}`,
    `data:image/png;base64,${png}`,
  ],
  ['any text', { type: 'string' }, `data:image/png;base64,${png}`, `data:image/png;base64,${png}`],
])('sends a data: URI as the base64 that the schema wants: %s', async (_, schema, given, picture) => {
  expect((await sentFor(documentFor(jsonOf(schema)), { picture: given as never })).sent).toEqual({ picture });
});

it('sends the bytes of a data: URI where the body is binary', async () => {
  const { sent } = await sentFor(documentFor({ 'image/png': { schema: { type: 'string', format: 'binary' } } }), {
    body: `data:image/png;base64,${png}`,
  });
  expect(Buffer.from(sent as Uint8Array).toString('base64')).toBe(png);
});

it.each<[string, JsonObject, JsonObject, JsonObject]>([
  [
    'at the top',
    { type: 'object', properties: { note: { type: 'string' }, title: { type: 'string' } } },
    { title: 'x', note: null },
    { title: 'x' },
  ],
  [
    'within a choice',
    {
      type: 'object',
      properties: {
        shape: {
          oneOf: [
            { type: 'object', required: ['radius'], properties: { radius: { type: 'number' }, note: { type: 'string' } } },
            { type: 'object', required: ['side'], properties: { side: { type: 'number' }, note: { type: 'string' } } },
          ],
        },
      },
    },
    { shape: { side: 1, note: null } },
    { shape: { side: 1 } },
  ],
  [
    'within a choice by a discriminator',
    {
      type: 'object',
      properties: {
        shape: {
          oneOf: [
            {
              type: 'object',
              required: ['kind', 'radius'],
              properties: { kind: { const: 'circle' }, radius: { type: 'number' }, note: { type: 'string' } },
              additionalProperties: false,
            },
            {
              type: 'object',
              required: ['kind', 'side'],
              properties: { kind: { const: 'square' }, side: { type: 'number' }, note: { type: 'string' } },
              additionalProperties: false,
            },
          ],
        },
      },
    },
    { shape: { kind: 'square', side: 1, note: null } },
    { shape: { kind: 'square', side: 1 } },
  ],
  [
    'within a list of choices, in a choice',
    {
      type: 'object',
      properties: {
        shapes: {
          type: 'array',
          items: {
            oneOf: [
              {
                type: 'object',
                required: ['group'],
                properties: {
                  group: {
                    type: 'array',
                    items: {
                      oneOf: [
                        { type: 'object', required: ['a'], properties: { a: { type: 'string' }, b: { type: 'string' } } },
                        { type: 'string' },
                      ],
                    },
                  },
                },
              },
              { type: 'object', required: ['side'], properties: { side: { type: 'number' }, note: { type: 'string' } } },
            ],
          },
        },
      },
    },
    { shapes: [{ group: [{ a: 'x', b: null }, 'y'] }, { side: 1, note: null }] },
    { shapes: [{ group: [{ a: 'x' }, 'y'] }, { side: 1 }] },
  ],
  [
    'where the whole body is a choice',
    {
      oneOf: [
        { type: 'object', required: ['radius'], properties: { radius: { type: 'number' }, note: { type: 'string' } } },
        { type: 'object', required: ['side'], properties: { side: { type: 'number' } } },
      ],
    },
    { body: { radius: 1, note: null } },
    { radius: 1 },
  ],
  [
    'where null is a value',
    {
      type: 'object',
      properties: {
        shape: {
          oneOf: [{ type: 'object', required: ['radius'], properties: { radius: { type: 'number' }, note: { type: ['string', 'null'] } } }],
        },
      },
    },
    { shape: { radius: 1, note: null } },
    { shape: { radius: 1, note: null } },
  ],
])('leaves null for an optional text out: %s', async (_, schema, args, sent) => {
  const { sent: body, read } = await sentFor(documentFor({ 'application/json': { schema } }), args);
  expect([read.includes('error'), body]).toEqual([false, sent]);
});

/** Over a real connection: what a header holds depends on how it is read there. */
async function filesServer(
  answer: (body: string) => { headers: string; body: Uint8Array },
): Promise<{ server: UpstreamServer; invoke: (args: JsonObject) => Promise<string> }> {
  const server = await startUpstream((request) => {
    const { headers, body } = answer(request.body);
    return [Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${headers}content-length: ${body.byteLength}\r\n\r\n`), body])];
  });
  onTestFinished(() => server.close());
  const form = { 'multipart/form-data': { schema: { type: 'object', properties: { file: { type: 'string', format: 'binary' } } } } };
  const record = { ...serverOf('files', documentFor(form)), url: server.origin };
  const app = await testApp({}, { backends: [backendOf(new ScriptedModel())], registry: memoryRegistry([record]) });
  onTestFinished(() => app.close());
  const headers = { host: '127.0.0.1:8080' };
  return {
    server,
    invoke: async (args) =>
      (await app.server.inject({ method: 'POST', url: '/api/tools/save/invoke', headers, payload: { arguments: args } })).body,
  };
}

it('writes the names of files in UTF-8', async () => {
  const { server, invoke } = await filesServer(() => ({ headers: '', body: new Uint8Array() }));
  await invoke({ file: `data:image/png;name=r%C3%A4w%20"日本".png;base64,${png}` });
  expect(server.requests[0]?.body).toContain('Content-Disposition: form-data; name="file"; filename="räw 日本.png"\r\n');
});

it.each([
  ['raw UTF-8', 'attachment; filename="räw.bin"', 'räw.bin'],
  ['raw UTF-8 without quotes', 'attachment; filename=日本.bin', '日本.bin'],
  ['by RFC 8187', `attachment; filename="x.bin"; filename*=UTF-8''r%C3%A4w.bin`, 'räw.bin'],
])('reads the name of a file: %s', async (_, disposition, name) => {
  const body = new Uint8Array([0, 255]);
  const { invoke } = await filesServer(() => ({
    headers: `content-type: application/octet-stream\r\ncontent-disposition: ${disposition}\r\n`,
    body,
  }));
  expect(await invoke({})).toContain(`"name":"${name}"`);
});

it.each(['latin-1', 'latin_1', 'Latin1', 'ISO8859-1', 'iso_8859_1', 'cp1252', 'CP-1252', 'windows_1252', 'ansi'])(
  'reads the charset %s',
  async (charset) => {
    const { invoke } = await filesServer(() => ({
      headers: `content-type: text/plain; charset=${charset}\r\n`,
      body: new Uint8Array([0x72, 0xe4, 0x77]),
    }));
    expect(await invoke({})).toContain('"result":"räw"');
  },
);

it.each<[string, number[]]>([
  ['utf_8', [0xc3, 0xa4]],
  ['utf-8-sig', [0xef, 0xbb, 0xbf, 0xc3, 0xa4]],
  ['cp437-unknown', [0xc3, 0xa4]],
  ['latin-2', [0xe4]],
  ['latin_9', [0xe4]],
  ['cp1250', [0xe4]],
])('reads the charset %s too', async (charset, bytes) => {
  const { invoke } = await filesServer(() => ({
    headers: `content-type: text/plain; charset=${charset}\r\n`,
    body: new Uint8Array(bytes),
  }));
  expect(await invoke({})).toContain('"result":"ä"');
});
