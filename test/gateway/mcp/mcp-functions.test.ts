import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { functionModule } from '../../_support/tools-folder.ts';
import { listen } from '../../_support/build-app.ts';
import { functionGateway } from '../functions/function-gateway.ts';

const filesModule = `import { defineTool, withFiles } from 'toolwharf';
import { z } from 'zod';
const make = (name, execute) => defineTool({ name, description: 'Makes ' + name, parameters: z.object({}), execute });
const bytes = Buffer.from('AAAA', 'base64');
export default [
  make('draw', () => withFiles('A chart', [{ type: 'image/png', data: bytes, name: 'chart.png' }])),
  make('speak', () => withFiles(undefined, [{ type: 'audio/wav', data: bytes }])),
  make('read', () => withFiles({ pages: 1 }, [{ type: 'text/markdown', data: '# Title', uri: 'notes://1' }])),
  make('wrong', () => withFiles('', [{ type: 'png', data: bytes }])),
];`;

const eras = [
  ['legacy', {}],
  ['modern', { versionNegotiation: { mode: 'auto' as const } }],
] as const;

async function clientOf(files: Record<string, string>, options: ConstructorParameters<typeof Client>[1] = {}): Promise<Client> {
  const gateway = await functionGateway(files);
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const client = new Client({ name: 'tester', version: '1' }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${await listen(gateway.app)}/mcp`)));
  onTestFinished(() => client.close());
  return client;
}

describe('functions of this process for MCP clients', () => {
  it.each<[name: string, content: unknown]>([
    [
      'draw',
      [
        { type: 'text', text: 'A chart' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ],
    ],
    ['speak', [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }]],
    [
      'read',
      [
        { type: 'text', text: '{\n  "pages": 1\n}' },
        { type: 'resource', resource: { uri: 'notes://1', mimeType: 'text/markdown', text: '# Title' } },
      ],
    ],
    ['wrong', [{ type: 'text', text: expect.stringMatching(/^tool_internal_error: /) }]],
  ])('%s gives files in the form that the protocol has for them', async (name, content) => {
    const client = await clientOf({ 'files.js': filesModule });
    expect((await client.callTool({ name, arguments: {} })).content).toEqual(content);
  });

  it('tell what they are doing: as progress to who asked for it, from zero on', async () => {
    const execute = 'async (_, { status, progress }) => { await progress(0, 2); await status("half"); await progress(2, 2); }';
    const client = await clientOf({ 'a.js': functionModule('work', { execute }) });
    const heard: object[] = [];
    await client.callTool({ name: 'work', arguments: {} }, { onprogress: (progress) => void heard.push(progress) });
    expect(heard).toEqual([
      { progress: 0, total: 2 },
      { progress: Number.EPSILON, message: 'half' },
      { progress: 2, total: 2 },
    ]);
  });

  it('tell an amount and its words as one, as MCP servers give them', async () => {
    const execute = `async (_, { status, progress }) => {
      for (const n of [1, 2]) await Promise.all([progress(n, 2), status('step ' + n)]);
      await Promise.all([progress(3), progress(4), status('two at once')]);
    }`;
    const client = await clientOf({ 'a.js': functionModule('work', { execute }) });
    const heard: object[] = [];
    await client.callTool({ name: 'work', arguments: {} }, { onprogress: (progress) => void heard.push(progress) });
    expect(heard).toEqual([
      { progress: 1, total: 2, message: 'step 1' },
      { progress: 2, total: 2, message: 'step 2' },
      { progress: 3 },
      { progress: 4, message: 'two at once' },
    ]);
  });

  it('tell it as log messages to a client that asked for no progress, and not to one that wants warnings alone', async () => {
    const client = await clientOf({ 'a.js': functionModule('work', { execute: 'async (_, { status }) => status("half")' }) });
    const heard: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params));
    await client.callTool({ name: 'work', arguments: {} });
    expect(heard).toEqual([{ level: 'info', logger: 'work', data: 'half' }]);
    await client.setLoggingLevel('warning');
    await client.callTool({ name: 'work', arguments: {} });
    expect(heard).toHaveLength(1);
    await client.setLoggingLevel('debug');
    await client.callTool({ name: 'work', arguments: {} });
    expect(heard).toHaveLength(2);
  });

  it.each(eras)('say what only reads: %s era', async (_era, options) => {
    const more = 'idempotent: true';
    const client = await clientOf({ 'a.js': functionModule('again', { more }), 'b.js': functionModule('once') }, options);
    const { tools } = await client.listTools();
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    expect(hints).toMatchObject({ again: { idempotentHint: true } });
    expect(hints['once']).toBeUndefined();
  });
});
