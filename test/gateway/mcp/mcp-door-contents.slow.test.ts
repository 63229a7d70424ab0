import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseToolServerConnections } from '../../../src/storage/tool-server-connection.ts';
import { listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';

const entry = fileURLToPath(new URL('../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url));

/** Of a gateway before the reference server, which it starts twice: as `one` and as `two`. */
let url = '';
let app: TestApp | undefined;

beforeAll(async () => {
  const started = { type: 'mcp', command: process.execPath, args: [entry, 'stdio'] };
  const toolServers = parseToolServerConnections(
    [
      { ...started, id: 'one' },
      { ...started, id: 'two' },
    ],
    'file',
  );
  app = await testApp({ TOOLWHARF_DEMO: 'false', OLLAMA_BASE_URLS: 'http://127.0.0.1:9' }, { config: { toolServers } });
  url = await listen(app);
});

afterAll(() => app?.close());

/** A client of its own, by the SDK. */
async function connect(options: ConstructorParameters<typeof Client>[1] = {}): Promise<Client> {
  const client = new Client({ name: 'tester', version: '1' }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  onTestFinished(() => client.close());
  return client;
}

describe.each([
  ['legacy', {}],
  ['modern', { versionNegotiation: { mode: 'auto' as const } }],
] as const)('the reference server behind /mcp: %s era', (_era, options) => {
  it('has resources, templates, prompts and completions beside tools', { timeout: 60_000 }, async () => {
    const client = await connect(options);
    const { resources } = await client.listResources();
    const uris = resources.map(({ uri }) => uri);
    expect(uris).toEqual(expect.arrayContaining(['toolwharf://one/demo://resource/static/document/features.md']));
    expect(uris.filter((uri) => uri.startsWith('toolwharf://two/'))).toHaveLength(resources.length / 2);
    const read = await client.readResource({ uri: 'toolwharf://two/demo://resource/static/document/features.md' });
    expect(read.contents).toMatchObject([{ uri: 'toolwharf://two/demo://resource/static/document/features.md', text: expect.any(String) }]);

    const { resourceTemplates } = await client.listResourceTemplates();
    const template = 'toolwharf://one/demo://resource/dynamic/text/{resourceId}';
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(template);
    const uri = template.replace('{resourceId}', '7');
    expect((await client.readResource({ uri })).contents).toMatchObject([{ uri, text: expect.stringContaining('7') }]);

    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(expect.arrayContaining(['one/simple-prompt', 'two/args-prompt']));
    const prompt = await client.getPrompt({ name: 'two/args-prompt', arguments: { city: 'Osaka' } });
    expect(prompt.messages).toMatchObject([{ role: 'user', content: { type: 'text', text: expect.stringContaining('Osaka') } }]);

    const ref = { type: 'ref/prompt' as const, name: 'one/completable-prompt' };
    const { completion } = await client.complete({ ref, argument: { name: 'department', value: 'E' } });
    expect(completion.values).toEqual(['Engineering']);
  });

  it('embedded resources of a prompt are named as they are read', { timeout: 60_000 }, async () => {
    const client = await connect(options);
    const { messages } = await client.getPrompt({ name: 'one/resource-prompt', arguments: { resourceType: 'Text', resourceId: '3' } });
    const embedded = messages.map(({ content }) => content).find((content) => content.type === 'resource');
    expect(embedded?.resource.uri).toMatch(/^toolwharf:\/\/one\/demo:\/\//);
    expect((await client.readResource({ uri: embedded?.resource.uri ?? '' })).contents).toHaveLength(1);
  });

  it('asks the user of the client who calls', { timeout: 60_000 }, async () => {
    const client = await connect({ ...options, capabilities: { elicitation: { form: {} } } });
    const asked: string[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.message);
      return { action: 'accept', content: { name: 'Ada', check: true } };
    });
    const { content } = await client.callTool({ name: 'one/trigger-elicitation-request', arguments: {} });
    expect(asked).toMatchObject([expect.stringContaining('The tool server "one" asks')]);
    expect(JSON.stringify(content)).toContain('Ada');
  });

  it('what does not exist is told as the protocol tells it', { timeout: 60_000 }, async () => {
    const client = await connect(options);
    for (const uri of ['toolwharf://three/demo://resource/static/document/features.md', 'demo://resource/static/document/features.md', 'x'])
      await expect(client.readResource({ uri })).rejects.toMatchObject({ message: expect.stringMatching(/not found/i) });
    await expect(client.readResource({ uri: 'toolwharf://one/demo://nothing' })).rejects.toMatchObject({
      message: expect.stringContaining('one'),
    });
    await expect(client.getPrompt({ name: 'three/simple-prompt' })).rejects.toMatchObject({ code: -32602 });
    await expect(client.getPrompt({ name: 'one/nothing' })).rejects.toMatchObject({ code: -32602 });
    await expect(client.getPrompt({ name: 'one/args-prompt', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });
});
