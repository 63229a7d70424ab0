import { describe, expect, it } from 'vitest';
import { parseToolServerConnections } from '../../../src/storage/tool-server-connection.ts';
import { listen as listenOn } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { httpPeer, textResult, toolOf } from '../../tools/mcp/scripted-peer.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';
import { functionGateway, listen } from './function-gateway.ts';
import type { FunctionGateway } from './function-gateway.ts';
import { documentOf, selects, serverOf } from '../gateway.ts';

const hooks = ['_hook.mjs'];
const terms = {
  'accept.js': functionModule('accept', { execute: '(_, { state }) => state.set("terms", "accepted")' }),
  'buy.js': functionModule('buy', { execute: '() => "bought"' }),
};
const gatewayWith = (hook: string, turns: ScriptStep[][]): Promise<FunctionGateway> =>
  functionGateway({ ...terms, '_hook.mjs': `import { ToolError, abort, changeMessages } from 'toolwharf';\n${hook}` }, { hooks, turns });

describe('the context of a hook', () => {
  it('has what functions know of the run, so that a policy can depend on it [S0-20]', async () => {
    using listening = listen();
    const hook = `export function beforeTool({ name }, context) {
      const { user, chatId, model, preset, state, messages, files, tools, purpose } = context;
      globalThis.tell({ name, user: user.id, chatId, model, preset, terms: state.get('terms'), messages: messages.map(({ content }) => content), files, tools, purpose });
      if (name === 'buy' && state.get('terms') !== 'accepted') throw new ToolError('Accept the terms first.');
    }`;
    const turns = [calls(['buy', {}]), calls(['accept', {}]), calls(['buy', {}]), says('Bought.')];
    await using gateway = await gatewayWith(hook, turns);
    const files = [{ type: 'text', name: 'list.txt', content: 'milk' }];
    const seen = await gateway.ask({ chat_id: 'c', messages: [{ role: 'user', content: 'Buy it.' }], files });
    expect(seen.eventsOf('tool.result').map(({ response, error }) => error ?? response)).toEqual([
      expect.objectContaining({ message: 'Accept the terms first.' }),
      null,
      'bought',
    ]);
    const known = {
      user: 'local',
      chatId: 'c',
      model: 'model',
      messages: ['Buy it.'],
      files: [{ name: 'list.txt', content: 'milk' }],
      tools: ['function:accept', 'function:buy'],
    };
    expect(listening.heard).toMatchObject([
      { ...known, name: 'buy', terms: undefined, purpose: undefined },
      { ...known, name: 'accept', terms: undefined },
      { ...known, name: 'buy', terms: 'accepted' },
    ]);
  });

  it('cannot change the state', async () => {
    using listening = listen();
    const hook = `export const beforeTool = (_, { state }) => globalThis.tell(Object.keys(state));`;
    await using gateway = await gatewayWith(hook, [calls(['buy', {}]), says('Bought.')]);
    await gateway.ask({ chat_id: 'c' });
    expect(listening.heard).toEqual([['get']]);
  });

  it.each<[string, ScriptStep[][], unknown[]]>([
    [
      'that chooses a call',
      [selects(['buy', {}]), says('Bought.')],
      [
        ['before', 'selection', 2],
        ['after', 'selection', ['buy'], null],
        ['before', 'answer', 0],
        ['after', 'answer', [], 'Bought.'],
      ],
    ],
    [
      'that chooses nothing',
      [selects(), says('Hello.')],
      [
        ['before', 'selection', 2],
        ['after', 'selection', [], null],
        ['before', 'answer', 0],
        ['after', 'answer', [], 'Hello.'],
      ],
    ],
  ])('tells a selection %s by a prompt from the answer [S4-26]', async (_, turns, heard) => {
    using listening = listen();
    const hook = `
      export const beforeModel = ({ tools }, { purpose }) => globalThis.tell(['before', purpose, tools.length]);
      export const afterModel = ({ message }, { purpose }) =>
        globalThis.tell(['after', purpose, (message.tool_calls ?? []).map((call) => call.function.name), message.content]);`;
    await using gateway = await gatewayWith(hook, turns);
    await gateway.ask({ params: { function_calling: 'default' } });
    expect(listening.heard).toEqual(heard);
  });

  it('names every native request an answer', async () => {
    using listening = listen();
    const hook = 'export const beforeModel = (_, { purpose }) => globalThis.tell(purpose);';
    await using gateway = await gatewayWith(hook, [calls(['buy', {}]), says('Bought.')]);
    await gateway.ask();
    expect(listening.heard).toEqual(['answer', 'answer']);
  });
});

describe('hooks of the selection by a prompt', () => {
  const mode = { params: { function_calling: 'default' } };

  it('may answer in its place, and change its messages apart from those of the answer', async () => {
    const answering = `export const beforeModel = (_, { purpose }) => purpose === 'selection' ? { role: 'assistant', content: 'Closed today.' } : undefined;`;
    await using closed = await gatewayWith(answering, []);
    expect(await closed.ask(mode)).toMatchObject({ text: 'Closed today.', finish: ['stop'] });
    const changing = `export const beforeModel = ({ messages }, { purpose }) => changeMessages([...messages, { role: 'user', content: 'For the ' + purpose }]);`;
    await using gateway = await gatewayWith(changing, [selects(), says('Hello.')]);
    await gateway.ask(mode);
    const last = gateway.model.requests.map(({ messages }) => JSON.stringify(messages.at(-1)));
    expect(last).toEqual([expect.stringContaining('For the selection'), expect.stringContaining('For the answer')]);
    expect(last[1]).not.toContain('For the selection');
  });

  it('may take its calls away; then the model answers', async () => {
    const hook = `export const afterModel = (_, { purpose }) => purpose === 'selection' ? { role: 'assistant', content: null } : undefined;`;
    await using gateway = await gatewayWith(hook, [selects(['buy', {}]), says('Not bought.')]);
    const seen = await gateway.ask(mode);
    expect([seen.text, seen.eventsOf('tool.call')]).toEqual(['Not bought.', []]);
  });
});

describe('an afterModel hook', () => {
  const thinking: ScriptStep[] = [
    { type: 'reasoning', text: 'The safe ', field: 'reasoning_content' },
    { type: 'reasoning', text: 'is open.' },
    ...says('Hello.'),
  ];

  it.each([
    ['returns nothing', 'undefined', 'The safe is open.', 'Hello.'],
    ['returns the message as it is', '({ ...message })', 'The safe is open.', 'Hello.'],
    ['changes the text alone', '({ ...message, content: "Bye." })', 'The safe is open.', 'Bye.'],
    [
      'changes the reasoning',
      '({ ...message, reasoning_content: message.reasoning_content.replace("open", "shut") })',
      'The safe is shut.',
      'Hello.',
    ],
    ['leaves the reasoning out', '({ role: "assistant", content: message.content })', '', 'Hello.'],
  ])('sees the reasoning, and decides on it: one that %s [S0-3]', async (_, answer, reasoning, text) => {
    await using gateway = await gatewayWith(`export const afterModel = ({ message }) => ${answer};`, [thinking]);
    expect(await gateway.ask({ tool_ids: [] })).toMatchObject({ reasoning, text });
  });
});

it('a beforeTool hook is asked about functions of every kind [S0-23]', async () => {
  using listening = listen();
  const peer = httpPeer([toolOf('search')], () => textResult('from the MCP server'));
  const script = scriptedSend({ 'http://lab.test/measure': { from: 'the OpenAPI server' } });
  const [mcp] = parseToolServerConnections([{ id: 'peer', type: 'mcp', url: 'http://peer.test/mcp' }], 'file');
  const kinds = ['measure', 'search', 'buy', 'helper', 'read_page'];
  const executed: string[] = [];
  const hook = `export const beforeTool = ({ name }) => { globalThis.tell(name); return 'blocked'; };`;
  await using gateway = await functionGateway(
    { 'buy.js': functionModule('buy', { execute: '() => globalThis.tell("executed")' }), '_hook.mjs': hook },
    {
      hooks,
      turns: [calls(...kinds.map((name): [string, unknown] => [name, name === 'helper' ? { request: 'x' } : {}])), says('Done.')],
      servers: [serverOf('lab', documentOf({ measure: { type: 'object', properties: {} } })), ...(mcp === undefined ? [] : [mcp])],
      send(request) {
        if (request.method === 'POST' && request.url.endsWith('/measure')) executed.push(request.url);
        return request.url.startsWith('http://peer.test/') ? peer.send(request) : script.send(request);
      },
    },
  );
  const url = await listenOn(gateway.app);
  const headers = { 'content-type': 'application/json', 'x-api-key': gateway.app.startKey ?? '' };
  await fetch(`${url}/api/presets`, { method: 'POST', headers, body: JSON.stringify({ id: 'helper', base_model: 'model', tools: [] }) });
  const browser = await connectFakeBrowser({ url, onExecuteTool: ({ name }) => void executed.push(String(name)) });
  const body = {
    model: 'model',
    messages: [{ role: 'user', content: 'Ask everybody.' }],
    session_id: browser.sessionId(),
    tool_ids: ['server:lab', 'server:mcp:peer', 'function:buy', 'preset:helper'],
    tool_servers: [
      { url: 'http://page.test', specs: [{ name: 'read_page', description: 'Reads', parameters: { type: 'object', properties: {} } }] },
    ],
  };
  await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) });
  await browser.close();
  expect([listening.heard, executed, gateway.model.requests.length]).toEqual([kinds, [], 2]);
  const told = gateway.model.requests[1]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  expect(told).toEqual(kinds.map(() => 'blocked'));
});
