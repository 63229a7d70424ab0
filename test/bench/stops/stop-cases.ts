import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { largeDocument } from '../../_support/large-document.ts';
import { callCompletion, completionOf, mcpMessage, plainCompletion } from './hostile-peer.ts';
import type { HostilePeer } from './hostile-peer.ts';

/** What a case has to work with: a fresh gateway, and a peer that is its backend and every server of it. */
export interface Stage {
  url: string;
  key: string;
  peer: HostilePeer;
  /** Sends JSON, or text that is to be taken for it, and reads the whole answer. */
  post: (path: string, body: unknown, key?: string) => Promise<{ status: number; text: string }>;
}

/** One attack. The longest stop of the event loop while `attack` runs is measured. */
export interface StopCase {
  name: string;
  /** Milliseconds that the event loop may stop; default 50. */
  limitMs?: number;
  /** The case has to stop the gateway, to show that the meter sees it. */
  isControl?: boolean;
  /** The gateway has the process `hostile-process.js` as an MCP server. */
  hasProcess?: boolean;
  /** Settings of the gateway. */
  environment?: (peerUrl: string) => Record<string, string>;
  /** Registers what is needed, and sends a harmless request of the same kind, so that what is loaded once is not counted. */
  prepare?(stage: Stage): Promise<void>;
  /** Says in a few words what came of it; `isWrong` when something other than the stop is at fault. */
  attack(stage: Stage): Promise<{ said: string; isWrong?: boolean }>;
}

const chat = '/v1/chat/completions';
const hello = { role: 'user', content: 'Hello' };
const plainChat = { model: 'mock', tool_ids: [], messages: [hello] };

/** A document with one operation `POST /use`, whose body is this schema. */
function documentOf(schema: object, schemas: object = {}): object {
  const use = {
    operationId: 'use',
    requestBody: { content: { 'application/json': { schema } } },
    responses: { 200: { description: 'ok' } },
  };
  return { openapi: '3.1.0', info: { title: 'Use', version: '1' }, paths: { '/use': { post: use } }, components: { schemas } };
}

/** Every level fits both branches until the innermost fits none: a validator that reports all errors doubles its work with each. */
const doubling = { type: 'object', properties: { next: { $ref: '#/components/schemas/Node' } }, additionalProperties: false };
const doublingDocument = documentOf(
  { type: 'object', properties: { node: { $ref: '#/components/schemas/Node' } } },
  { Node: { anyOf: [doubling, doubling] } },
);
const nested = (depth: number): object => {
  let value: object = { wrong: 1 };
  for (let level = 0; level < depth; level += 1) value = { next: value };
  return value;
};

async function register(stage: Stage, connection: object): Promise<void> {
  const { status, text } = await stage.post('/api/tool-servers', connection);
  const { report } = JSON.parse(text) as { report?: { ok?: boolean } };
  if (status !== 201 || report?.ok !== true) throw new Error(`A server of the bench was refused: ${status} ${text.slice(0, 500)}`);
}

const registerUse = (stage: Stage, schema: object): Promise<void> =>
  register(stage, { url: stage.peer.url, spec: documentOf(schema), info: { id: 'use' } });

async function invokeUse(stage: Stage, args: unknown): Promise<{ said: string }> {
  const { status } = await stage.post('/api/tools/use/invoke', typeof args === 'string' ? args : { arguments: args });
  return { said: `status ${status}` };
}

/** A body of legal size; whatever it is answered with. */
function bodyCase(name: string, path: string, makeBody: () => string): StopCase {
  return {
    name,
    async prepare({ post }) {
      // Large enough to be read like a large one.
      await post(path, { ...plainChat, input: 'Hello', user: 'x'.repeat(1_000_000) });
    },
    async attack({ post }) {
      const { status, text } = await post(path, makeBody());
      return { said: `status ${status} ${status < 400 ? '' : text.slice(0, 60)}`.trim(), isWrong: status >= 500 };
    },
  };
}

const times = (count: number, make: (index: number) => string): string => Array.from({ length: count }, (_, index) => make(index)).join();
const chatWith = (rest: string): string => `{"model":"mock","tool_ids":[],"messages":[{"role":"user","content":"Hello"}],${rest}}`;
const unknownKeys = (): string => chatWith(times(600_000, (index) => `"k${index}":1`));
const emptyLists = (): string => chatWith(`"metadata":{"lists":[${times(3_000_000, () => '[]')}]}`);

const bodies: StopCase[] = [
  bodyCase('a body of 600,000 unknown keys', chat, unknownKeys),
  bodyCase('a body of 600,000 variables', chat, () => chatWith(`"variables":{${times(600_000, (index) => `"k${index}":1`)}}`)),
  bodyCase('a body of 40 messages with 9,999 parts each', chat, () => {
    const content = `[${times(9_999, () => '{"type":"text"}')}]`;
    return `{"model":"mock","tool_ids":[],"messages":[${times(40, () => `{"role":"user","content":${content}}`)}]}`;
  }),
  bodyCase('a body of 3 million empty lists', chat, emptyLists),
  bodyCase('a body of 490,000 numbers where parts of messages belong', chat, () => {
    const content = `[${times(9_990, () => '1')}]`;
    return `{"model":"mock","tool_ids":[],"messages":[${times(49, () => `{"role":"user","content":${content}}`)}]}`;
  }),
  bodyCase('a body of 490,000 numbers where calls belong', chat, () => {
    return `{"model":"mock","tool_ids":[],"messages":[{"role":"assistant","content":"","tool_calls":[${times(490_000, () => '1')}]}]}`;
  }),
  bodyCase('a body of 400,000 tools', chat, () => chatWith(`"tools":[${times(400_000, () => '{"type":"x"}')}]`)),
  bodyCase('specs of 128 functions with 3,000 parameters each', chat, () => {
    const parameters = `{"type":"object","properties":{${times(1_500, (index) => `"p${index}":{"type":"string"}`)}}}`;
    const specs = times(128, (index) => `{"name":"f${index}","parameters":${parameters}}`);
    return chatWith(`"session_id":"none","tool_servers":[{"url":"http://127.0.0.1:9","specs":[${specs}]}]`);
  }),
  bodyCase('specs of 10,000 functions in 16 servers of a request', chat, () => {
    const specs = (server: number): string => times(625, (index) => `{"name":"f${server}_${index}","description":"Looks up ${index}"}`);
    const server = (index: number): string => `{"url":"http://127.0.0.1:9","execution":"browser","specs":[${specs(index)}]}`;
    return chatWith(`"session_id":"none","tool_servers":[${times(16, server)}]`);
  }),
  bodyCase('specs of 10,000 functions whose descriptions are thousands of similar words, and a question of them', chat, () => {
    const described = (index: number): string => times(40, (word) => `aaaaaaaaaaa${index}x${word}`).replaceAll(',', ' ');
    const specs = times(10_000, (index) => `{"name":"f${index}","description":"${described(index)}"}`);
    const words = times(12, (length) => 'a'.repeat(length)).replaceAll(',', ' ');
    return (
      `{"model":"mock","tool_ids":[],"messages":[{"role":"user","content":"${words.repeat(20)}"}],` +
      `"session_id":"none","tool_servers":[{"url":"http://127.0.0.1:9","execution":"browser","specs":[${specs}]}]}`
    );
  }),
  bodyCase('an inline document of 10,000 operations, twice', chat, () => {
    const operation = { parameters: [{ name: 'id', in: 'query', schema: { type: 'string' } }] };
    const paths = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`/things/${index}`, { get: operation }]));
    const server = { url: 'http://127.0.0.1:9', openapi: { openapi: '3.1.0', paths } };
    return JSON.stringify({ ...plainChat, tool_servers: [server, server] });
  }),
  bodyCase('an inline document of 9 MB', chat, () => {
    const schema = {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 50 }, (_, key) => [`p${key}`, { type: 'string' }])),
    };
    const schemas = Object.fromEntries(Array.from({ length: 5_500 }, (_, index) => [`S${index}`, schema]));
    return JSON.stringify({
      ...plainChat,
      tool_servers: [{ url: 'http://127.0.0.1:9', openapi: documentOf({ type: 'object' }, schemas) }],
    });
  }),
  bodyCase('64 servers of a request whose addresses are full of slashes', chat, () => {
    const url = `http://127.0.0.1:9${'/'.repeat(2_000)}x`;
    return JSON.stringify({ ...plainChat, tool_servers: Array.from({ length: 64 }, () => ({ url })) });
  }),
  bodyCase('a picture of 9 MB', chat, () => {
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'iVBORw0KGgo'.repeat(820_000)}` } };
    return JSON.stringify({ ...plainChat, messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, picture] }] });
  }),
  bodyCase('a chat of 5,000 messages', chat, () => {
    const messages = Array.from({ length: 5_000 }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `${index}: ${'some words of a chat '.repeat(20)}`,
    }));
    return JSON.stringify({ ...plainChat, messages });
  }),
  bodyCase('a body of 49,000 lists, which is allowed', chat, () => chatWith(`"metadata":{"lists":[${times(48_900, () => '[]')}]}`)),
  bodyCase('a body of 7,900 different names, which is allowed', chat, () =>
    chatWith(`"metadata":{${times(7_900, (index) => `"k${index}":{"a":1}`)}}`),
  ),
  bodyCase('a chat of 16,000 parts, which is allowed', chat, () => {
    const content = `[${times(8_000, () => '{"type":"text","text":"x"}')}]`;
    return `{"model":"mock","tool_ids":[],"messages":[${times(2, () => `{"role":"user","content":${content}}`)}]}`;
  }),
  bodyCase('a chat of 5,000 calls and results, which is allowed', chat, () => {
    const pair = (index: number): string =>
      `{"role":"assistant","content":null,"tool_calls":[{"id":"c${index}","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
      `{"role":"tool","tool_call_id":"c${index}","content":"Done."}`;
    return `{"model":"mock","tool_ids":[],"messages":[${times(2_490, pair)},{"role":"user","content":"Hello"}]}`;
  }),
  bodyCase('arguments of a call in the messages that are 1.5 million lists', chat, () => {
    const call = `{"id":"c","type":"function","function":{"name":"f","arguments":"{\\"a\\":[${times(1_500_000, () => '[]')}]}"}}`;
    const answered = `{"role":"assistant","content":null,"tool_calls":[${call}]},{"role":"tool","tool_call_id":"c","content":"Done."}`;
    return `{"model":"mock","tool_ids":[],"messages":[${answered},{"role":"user","content":"Hello"}]}`;
  }),
  bodyCase('a URI of 8 MB that is asked of /mcp', '/mcp', () => {
    return `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"${'a://'.repeat(2_000_000)}"}}`;
  }),
  bodyCase('2,000 calls and results in the words of Messages', '/v1/messages', () => {
    const pair = (index: number): string =>
      `{"role":"assistant","content":[{"type":"tool_use","id":"c${index}","name":"f","input":{}}]},` +
      `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c${index}","content":"Done."}]}`;
    return `{"model":"mock","tool_ids":[],"max_tokens":100,"messages":[${times(2_000, pair)}]}`;
  }),
  bodyCase('2,490 calls and results in the words of Responses', '/v1/responses', () => {
    const pair = (index: number): string =>
      `{"type":"function_call","call_id":"c${index}","name":"f","arguments":"{}"},` +
      `{"type":"function_call_output","call_id":"c${index}","output":"Done."}`;
    return `{"model":"mock","tool_ids":[],"input":[${times(2_490, pair)}]}`;
  }),
  bodyCase('128 tools of 300 values each, which are allowed', chat, () => {
    const properties = times(75, (index) => `"p${index}":{"type":"string","description":"x"}`);
    const tool = (index: number): string =>
      `{"type":"function","function":{"name":"f${index}","parameters":{"type":"object","properties":{${properties}}}}}`;
    return chatWith(`"tools":[${times(128, tool)}]`);
  }),
  bodyCase(
    'embeddings of 2 million tokens',
    '/v1/embeddings',
    () => `{"model":"mock","input":[${times(1_000, () => `[${times(2_000, () => '1000')}]`)}]}`,
  ),
  bodyCase(
    'a preset of 600,000 unknown keys',
    '/api/presets',
    () => `{"id":"p","base_model":"mock",${times(600_000, (index) => `"k${index}":1`)}}`,
  ),
  bodyCase(
    'a message of 3 million empty lists to /mcp',
    '/mcp',
    () => `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"lists":[${times(3_000_000, () => '[]')}]}}`,
  ),
  bodyCase(
    'arguments of 600,000 keys to a function',
    '/api/tools/nothing/invoke',
    () => `{"arguments":{${times(600_000, (index) => `"k${index}":1`)}}}`,
  ),
  bodyCase('files of 6 MB full of quotation marks', chat, () => {
    const files = times(300, (index) => `{"type":"text","name":"n${index}","content":"${'some \\"words\\" of it, '.repeat(1_000)}"}`);
    return chatWith(`"files":[${files}]`);
  }),
  bodyCase('a text of 9 MB full of links to pages of the gateway', chat, () => {
    const content = `${'a'.repeat(1_900)}/connect/${'b'.repeat(43)} `.repeat(1_200) + `/connect/${'b'.repeat(43)} `.repeat(125_000);
    return JSON.stringify({ ...plainChat, messages: [{ role: 'user', content }] });
  }),
  bodyCase('a name of a variable with 2 million spaces', chat, () => chatWith(`"variables":{"a${' '.repeat(2_000_000)}b":"x"}`)),
  bodyCase('a system prompt with 700,000 variables', chat, () => {
    const system = { role: 'system', content: '{{USER_NAME}}'.repeat(700_000) };
    return JSON.stringify({ ...plainChat, variables: { USER_NAME: 'Ada' }, messages: [system, hello] });
  }),
  {
    name: 'eight bodies of 600,000 keys, and somebody who uses a tool',
    async prepare(stage) {
      await registerUse(stage, { type: 'object', properties: { a: { type: 'integer' } } });
      stage.peer.pages.set('/use', { type: 'application/json', body: '{}' });
      await invokeUse(stage, { a: 1 });
    },
    async attack(stage) {
      const body = unknownKeys();
      const over = new AbortController();
      void Promise.allSettled(Array.from({ length: 8 }, () => stage.post(chat, body))).then(() => over.abort());
      const statuses: number[] = [];
      while (!over.signal.aborted) {
        statuses.push((await stage.post('/api/tools/use/invoke', { arguments: { a: 1 } })).status);
        await pause(20);
      }
      const failed = statuses.filter((status) => status !== 200).length;
      return { said: `${failed} of ${statuses.length} uses failed`, isWrong: failed > 0 };
    },
  },
];

/** Half a megabyte of it in one frame. */
const heavyFrame = (): string => `{"type":"execute:tool:result","data":{"id":"nobody","result":[${times(170_000, () => '[]')}]}}`;

async function openSocket({ url, key }: Stage): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers: { authorization: `Bearer ${key}` } });
  socket.on('error', () => undefined);
  await once(socket, 'message');
  return socket;
}

const sockets: StopCase = {
  name: 'four sockets with 40 frames of half a megabyte each',
  async prepare(stage) {
    const socket = await openSocket(stage);
    socket.send(JSON.stringify({ type: 'execute:tool:result', data: { id: 'nobody', result: 'x'.repeat(300_000) } }));
    await pause(100);
    socket.close();
  },
  async attack(stage) {
    const frame = heavyFrame();
    const open = await Promise.all(Array.from({ length: 4 }, () => openSocket(stage)));
    for (let round = 0; round < 40; round += 1) for (const socket of open) socket.send(frame);
    await pause(4_000);
    const closed = open.filter((socket) => socket.readyState !== WebSocket.OPEN).length;
    for (const socket of open) socket.terminate();
    return { said: `${closed} of 4 sockets closed` };
  },
};

/** Four megabytes of small numbers and texts, of which one is too large for a double. */
const heavyResult = (): string => `{"id":1234567890123456789,"rows":[${times(115_000, (index) => `{"n":${index},"t":"some words"}`)}]}`;

function resultCase(name: string, makeBody: () => string, type = 'application/json'): StopCase {
  return {
    name,
    async prepare(stage) {
      await registerUse(stage, { type: 'object', properties: { a: { type: 'integer' } } });
      stage.peer.pages.set('/use', { type, body: type.endsWith('json') ? '{"id":1234567890123456789}' : 'Hello' });
      await invokeUse(stage, { a: 1 });
    },
    async attack(stage) {
      stage.peer.pages.set('/use', { type, body: makeBody() });
      return invokeUse(stage, { a: 1 });
    },
  };
}

const results: StopCase[] = [
  resultCase("a tool's JSON result of 4 MB with one large number", heavyResult),
  resultCase("a tool's JSON result of 1.3 million empty lists", () => `[${times(1_300_000, () => '[]')}]`),
  resultCase(
    "a tool's JSON result of 19,000 values",
    () => `[${times(6_300, (index) => `{"id":${index}1234567890123456,"t":"some words"}`)}]`,
  ),
  resultCase("a tool's text of 4 MB", () => 'some words of a text\n'.repeat(199_000), 'text/plain'),
  {
    name: "a chat with a tool's JSON result of 4 MB",
    async prepare(stage) {
      await registerUse(stage, { type: 'object', properties: { a: { type: 'integer' } } });
      stage.peer.pages.set('/use', { type: 'application/json', body: '{}' });
      await invokeUse(stage, { a: 1 });
      await stage.post(chat, { ...plainChat, tool_ids: ['server:use'] });
    },
    async attack(stage) {
      stage.peer.pages.set('/use', { type: 'application/json', body: heavyResult() });
      stage.peer.completion = callCompletion('use', '{"a":1}');
      const asked = stage.post(chat, { ...plainChat, tool_ids: ['server:use'], params: { function_calling: 'native' } });
      await pause(300);
      stage.peer.completion = plainCompletion;
      const { status } = await asked;
      return { said: `status ${status}` };
    },
  },
];

async function registerMcp(stage: Stage): Promise<void> {
  await register(stage, { url: `${stage.peer.url}/mcp`, type: 'mcp', info: { id: 'hostile' } });
}

async function callMcp(stage: Stage, args: object = {}): Promise<{ said: string }> {
  const { status, text } = await stage.post('/api/tools/ask/invoke', { arguments: args });
  return { said: `status ${status} ${status === 200 ? '' : text.slice(0, 60)}`.trim() };
}

/** `count` messages of a kind before the answer to a call. */
function chattyCase(name: string, message: (index: number) => object): StopCase {
  return {
    name,
    async prepare(stage) {
      await registerMcp(stage);
      await callMcp(stage);
    },
    async attack(stage) {
      const flood = Array.from({ length: 100_000 }, (_, index) => mcpMessage({ jsonrpc: '2.0', ...message(index) })).join('');
      const answer = stage.peer.mcpAnswer;
      stage.peer.mcpAnswer = (id) => flood + answer(id);
      return callMcp(stage);
    },
  };
}

/** A list of tools that an MCP server has after it was registered. */
function mcpListCase(name: string, makeTools: () => string): StopCase {
  const refresh = ({ post }: Stage): Promise<{ status: number; text: string }> => post('/api/tool-servers/hostile/refresh', {});
  return {
    name,
    async prepare(stage) {
      await registerMcp(stage);
      await refresh(stage);
    },
    async attack(stage) {
      stage.peer.mcpTools = makeTools();
      const { status, text } = await refresh(stage);
      const isUsed = text.includes('"ok":true') && text.includes('"name":"ask');
      return { said: `status ${status}`, isWrong: status !== 200 || !isUsed };
    },
  };
}

const nestedTools = (depth: number): string =>
  `[{"name":"ask","inputSchema":{"type":"object"}},{"name":"deep","inputSchema":{"type":"object","not":${'{"not":'.repeat(depth)}{}${'}'.repeat(depth)}}}]`;

const mcp: StopCase[] = [
  ...[1_500, 20_000, 500_000].map((depth) => mcpListCase(`a list of tools nested ${depth} levels deep`, () => nestedTools(depth))),
  mcpListCase('a tool with a description of 7 MB', () =>
    JSON.stringify([{ name: 'ask', description: 'words '.repeat(1_200_000), inputSchema: { type: 'object' } }]),
  ),
  chattyCase('100,000 log messages of an MCP server', (index) => ({
    method: 'notifications/message',
    params: { level: 'info', data: `message ${index}` },
  })),
  chattyCase('100,000 notices that a list has changed', () => ({ method: 'notifications/tools/list_changed' })),
  chattyCase('100,000 reports of progress', (index) => ({
    method: 'notifications/progress',
    params: { progressToken: index % 10, progress: index },
  })),
  {
    name: 'an outputSchema that doubles, and what it is to describe',
    async prepare(stage) {
      const { $ref: _ref, ...node } = { $ref: '', ...doubling, properties: { next: { $ref: '#/$defs/node' } } };
      const outputSchema = {
        type: 'object',
        properties: { node: { $ref: '#/$defs/node' } },
        $defs: { node: { anyOf: [node, node] } },
      };
      stage.peer.mcpTool = { name: 'ask', inputSchema: { type: 'object', properties: {} }, outputSchema };
      await registerMcp(stage);
    },
    async attack(stage) {
      const result = { content: [{ type: 'text', text: 'Done.' }], structuredContent: { node: nested(27) } };
      stage.peer.mcpAnswer = (id) => mcpMessage({ jsonrpc: '2.0', id, result });
      return callMcp(stage);
    },
  },
  {
    name: 'an inputSchema of 6 kB with references to each level of itself',
    async prepare(stage) {
      stage.peer.mcpTool = { name: 'ask', inputSchema: nestedReferences() };
      await registerMcp(stage);
    },
    async attack(stage) {
      await callMcp(stage);
      return callMcp(stage);
    },
  },
  {
    name: 'structured content of 1.3 million empty lists',
    async prepare(stage) {
      await registerMcp(stage);
      await callMcp(stage);
    },
    async attack(stage) {
      const result = `{"content":[{"type":"text","text":"Done."}],"structuredContent":{"lists":[${times(1_300_000, () => '[]')}]}}`;
      stage.peer.mcpAnswer = (id) => `event: message\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n\n`;
      return callMcp(stage);
    },
  },
];

/** What an MCP server says that is a process; it is asked for by name. */
function processCase(name: string, what: string): StopCase {
  const speak = async ({ post }: Stage, about: string): Promise<{ status: number; text: string }> =>
    post('/api/tools/speak/invoke', { arguments: { what: about } });
  return {
    name,
    hasProcess: true,
    async prepare(stage) {
      const { status, text } = await speak(stage, 'words');
      if (status !== 200) throw new Error(`The process of the bench does not answer: ${status} ${text.slice(0, 500)}`);
    },
    async attack(stage) {
      const { status, text } = await speak(stage, what);
      return { said: `status ${status} ${text.slice(0, 60)}` };
    },
  };
}

/** A browser that answers the only call of a chat with so many values, in one frame. */
function browserCase(values: number): StopCase {
  const ask = async (stage: Stage, result: string): Promise<{ said: string; isWrong: boolean }> => {
    const socket = new WebSocket(`${stage.url.replace('http', 'ws')}/ws`, { headers: { authorization: `Bearer ${stage.key}` } });
    socket.on('error', () => undefined);
    const [greeting] = (await once(socket, 'message')) as [Buffer];
    const { session_id } = (JSON.parse(greeting.toString()) as { data: { session_id: string } }).data;
    let isCalled = false;
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { type?: string; data?: { id?: string } };
      if (frame.type !== 'execute:tool') return;
      isCalled = true;
      stage.peer.completion = plainCompletion;
      socket.send(`{"type":"execute:tool:result","data":{"id":${JSON.stringify(frame.data?.id)},"result":${result}}}`);
    });
    stage.peer.completion = callCompletion('look', '{}');
    const specs = [{ name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } }];
    const tool_servers = [{ url: 'http://127.0.0.1:9', specs }];
    const body = { ...plainChat, session_id, tool_servers, params: { function_calling: 'native' } };
    const { status } = await stage.post(chat, body);
    socket.terminate();
    return { said: `status ${status}`, isWrong: !isCalled };
  };
  return {
    name: `a browser's result of ${values} values`,
    async prepare(stage) {
      await ask(stage, `"${'x'.repeat(300_000)}"`);
    },
    attack: (stage) => ask(stage, `[${times(values, (index) => `"word ${index}"`)}]`),
  };
}

/** What is kept, or comes from elsewhere than a backend of the OpenAI kind. */
const others: StopCase[] = [
  browserCase(19_000),
  browserCase(49_000),
  {
    name: 'a file of 8 MB in base64 of an MCP server over HTTP',
    async prepare(stage) {
      await registerMcp(stage);
      await callMcp(stage);
    },
    async attack(stage) {
      const resource = { uri: 'file:///a', mimeType: 'application/zip', blob: 'UEsDBBQA'.repeat(1_000_000) };
      stage.peer.mcpAnswer = (id) => mcpMessage({ jsonrpc: '2.0', id, result: { content: [{ type: 'resource', resource }] } });
      return callMcp(stage);
    },
  },
  bodyCase('128 legacy functions of 300 values each, which are allowed', chat, () => {
    const properties = times(75, (index) => `"p${index}":{"type":"string","description":"x"}`);
    return chatWith(
      `"functions":[${times(128, (index) => `{"name":"f${index}","parameters":{"type":"object","properties":{${properties}}}}`)}]`,
    );
  }),
  bodyCase('400,000 legacy functions', chat, () => chatWith(`"functions":[${times(400_000, () => '{"name":"f"}')}]`)),
  {
    ...bodyCase('a stored chat of 9 MB', chat, () => chatWith(`"store":true,"metadata":{"a":"b"},"user":"${'x'.repeat(9_000_000)}"`)),
    environment: () => ({ STORE_CHATS: 'true' }),
  },
  {
    ...bodyCase('a stored chat of 5,000 messages', chat, () => {
      const messages = times(
        5_000,
        (index) => `{"role":"${index % 2 === 0 ? 'user' : 'assistant'}","content":"${'some words of a chat '.repeat(80)}"}`,
      );
      return `{"model":"mock","tool_ids":[],"store":true,"messages":[${messages}]}`;
    }),
    environment: () => ({ STORE_CHATS: 'true' }),
  },
  {
    ...bodyCase('a recorded chat of 1,000 messages full of what looks like secrets', chat, () => {
      const text = 'https://x.test/a?key=b Bearer abcdefgh sk-abcdefgh eyJabcdefgh.abc '.repeat(25);
      const messages = times(1_000, (index) => `{"role":"${index % 2 === 0 ? 'user' : 'assistant'}","content":"${text}"}`);
      return `{"model":"mock","tool_ids":[],"messages":[${messages}]}`;
    }),
    environment: () => ({ RECORD_PROMPTS: 'true' }),
  },
  {
    ...bodyCase('a recorded chat whose answer is to fit a schema of 7,900 properties', chat, () => {
      const properties = times(7_900, (index) => `"name_${index}":{"type":"string"}`);
      const schema = `{"type":"object","properties":{${properties}}}`;
      const format = `{"type":"json_schema","json_schema":{"name":"answer","schema":${schema}}}`;
      return `{"model":"mock","tool_ids":[],"response_format":${format},"messages":[{"role":"user","content":"hi"}]}`;
    }),
    environment: () => ({ RECORD_PROMPTS: 'true' }),
  },
  {
    ...bodyCase('a recorded chat of 9 MB in one word', chat, () => {
      return `{"model":"mock","tool_ids":[],"messages":[{"role":"user","content":"${'a://'.repeat(2_250_000)}"}]}`;
    }),
    environment: () => ({ RECORD_PROMPTS: 'true' }),
  },
  {
    name: 'a run of 9 MB that waits for an approval',
    async prepare(stage) {
      const use = { url: stage.peer.url, spec: documentOf({ type: 'object' }), info: { id: 'use' }, config: { needs_approval: true } };
      await register(stage, use);
      await stage.post(chat, { ...plainChat, tool_ids: ['server:use'] });
    },
    async attack(stage) {
      stage.peer.completion = callCompletion('use', '{}');
      const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'iVBORw0KGgo'.repeat(820_000)}` } };
      const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, picture] }];
      const body = { ...plainChat, messages, tool_ids: ['server:use'], params: { function_calling: 'native' } };
      const { status, text } = await stage.post(chat, body);
      return { said: `status ${status} ${text.slice(-200)}` };
    },
  },
  {
    name: 'a list of a million models of Ollama',
    environment: (peerUrl) => ({ OLLAMA_BASE_URLS: peerUrl }),
    async attack(stage) {
      stage.peer.pages.set('/api/tags', {
        type: 'application/json',
        body: `{"models":[${times(1_000_000, (index) => `{"name":"m${index}"}`)}]}`,
      });
      await pause(2_100);
      const { status, text } = await stage.post(chat, { ...plainChat, model: 'nobody' });
      return { said: `status ${status} ${text.slice(0, 60)}` };
    },
  },
  {
    name: 'a list of 300,000 models of Ollama',
    environment: (peerUrl) => ({ OLLAMA_BASE_URLS: peerUrl }),
    async attack(stage) {
      stage.peer.pages.set('/api/tags', {
        type: 'application/json',
        body: `{"models":[${times(300_000, (index) => `{"name":"m${index}"}`)}]}`,
      });
      await pause(2_100);
      const { status, text } = await stage.post(chat, { ...plainChat, model: 'nobody' });
      return { said: `status ${status} ${text.slice(0, 60)}` };
    },
  },
  {
    name: 'a message of 49,000 values on a socket',
    async prepare(stage) {
      const socket = await openSocket(stage);
      socket.send(JSON.stringify({ type: 'message', ...plainChat, metadata: { text: 'x'.repeat(300_000) } }));
      await pause(500);
      socket.close();
    },
    async attack(stage) {
      const socket = await openSocket(stage);
      const types = new Set<string>();
      socket.on('message', (data: Buffer) => types.add(String((JSON.parse(data.toString()) as { type?: unknown }).type)));
      socket.send(`{"type":"message",${chatWith(`"metadata":{"lists":[${times(48_900, () => '[]')}]}`).slice(1)}`);
      await pause(2_000);
      socket.terminate();
      return { said: [...types].join(', ') };
    },
  },
];

const processes: StopCase[] = [
  processCase('a line of 2.7 million empty lists of an MCP server over stdio', 'lists'),
  processCase('100,000 log messages of an MCP server over stdio', 'flood'),
  processCase('a file of 8 MB in base64 of an MCP server over stdio', 'file'),
];

/** RE2 folds the case of such ranges one code point at a time. */
const foldedRanges = `(?i)[${'b-\u{1e900}'.repeat(120)}]`;

/** References to all levels of one schema that is nested 28 deep: compiling each of them goes through all that is below it. */
function nestedReferences(): object {
  let nestedSchema: object = { type: 'string' };
  for (let level = 0; level < 28; level += 1) nestedSchema = { properties: { a: nestedSchema } };
  const references = Array.from({ length: 28 }, (_, level) => [`r${level}`, { $ref: `#${'/properties/a'.repeat(level + 1)}` }]);
  return { type: 'object', properties: { a: nestedSchema, ...Object.fromEntries(references) } };
}

/** A chat whose model calls a function with these properties, of the request's own document. */
async function askToUse(stage: Stage, properties: object): Promise<number> {
  stage.peer.completion = callCompletion('use', '{"p0":"x"}');
  const tool_servers = [{ url: stage.peer.url, openapi: documentOf({ type: 'object', properties }) }];
  const asked = stage.post(chat, { ...plainChat, tool_servers, params: { function_calling: 'native' } });
  await pause(300);
  stage.peer.completion = plainCompletion;
  return (await asked).status;
}

const validation: StopCase[] = [
  {
    name: 'a recursive anyOf in a document of the request, arguments nested 27 deep',
    async prepare(stage) {
      await stage.post(chat, { ...plainChat, tool_servers: [{ url: stage.peer.url, openapi: doublingDocument }] });
    },
    async attack(stage) {
      stage.peer.completion = callCompletion('use', JSON.stringify({ node: nested(27) }));
      const tool_servers = [{ url: stage.peer.url, openapi: doublingDocument }];
      const asked = stage.post(chat, { ...plainChat, tool_servers, params: { function_calling: 'native' } });
      await pause(300);
      stage.peer.completion = plainCompletion;
      return { said: `status ${(await asked).status}` };
    },
  },
  {
    name: 'uniqueItems over 22,000 objects',
    async prepare(stage) {
      const items = { type: 'array', uniqueItems: true, items: { type: 'object', properties: { a: { type: 'integer' } } } };
      await registerUse(stage, { type: 'object', properties: { items } });
      stage.peer.pages.set('/use', { type: 'application/json', body: '{}' });
      await invokeUse(stage, { items: [{ a: 1 }] });
    },
    attack: (stage) => invokeUse(stage, `{"arguments":{"items":[${times(22_000, (index) => `{"a":${index}}`)}]}}`),
  },
  {
    name: '30,000 texts as arguments where numbers are wanted',
    async prepare(stage) {
      await registerUse(stage, { type: 'object', properties: { items: { type: 'array', items: { type: 'integer' } } } });
      stage.peer.pages.set('/use', { type: 'application/json', body: '{}' });
      await invokeUse(stage, { items: ['1'] });
    },
    attack: (stage) => invokeUse(stage, { items: Array.from({ length: 30_000 }, (_, index) => String(index)) }),
  },
  {
    name: 'ten patterns with wide ranges without case in a document of the request',
    async prepare(stage) {
      await askToUse(stage, { p0: { type: 'string', pattern: '^x' } });
      await askToUse(stage, { p0: { type: 'string', pattern: '^x' } });
    },
    async attack(stage) {
      const patterns = Array.from({ length: 10 }, (_, index) => [`p${index}`, { type: 'string', pattern: `${foldedRanges}${index}` }]);
      const statuses = [];
      for (let times = 0; times < 3; times += 1) statuses.push(await askToUse(stage, Object.fromEntries(patterns)));
      return { said: `status ${statuses.join(' ')}` };
    },
  },
];

/** The wait of an administrator's registration beside six chats whose documents take long; a multiple of what it takes alone. */
const registrationMs = 5_000;

const documents: StopCase = {
  name: 'YAML documents of 12 MB in six chats, and an administrator who registers a server',
  limitMs: 100,
  async prepare(stage) {
    const page = `openapi: 3.1.0\ninfo: {title: Large, version: "1"}\npaths: {}\nx-rows:\n${'  - {a: 1, b: [x, y, z], c: "some words"}\n'.repeat(290_000)}`;
    stage.peer.pages.set('/large/openapi.yaml', { type: 'application/yaml', body: page });
    await stage.post('/api/tool-servers', { url: stage.peer.url, spec: documentOf({ type: 'object' }), info: { id: 'small' } });
  },
  async attack(stage) {
    const { text } = await stage.post('/api/keys', { name: 'ada', role: 'user' });
    const { key } = JSON.parse(text) as { key: string };
    const tool_servers = [{ url: `${stage.peer.url}/large/openapi.yaml` }];
    const chats = Array.from({ length: 6 }, () => stage.post(chat, { ...plainChat, tool_servers }, key));
    await pause(500);
    const began = performance.now();
    // As text in YAML, large enough to be read aside.
    const mine = `openapi: 3.1.0\ninfo: {title: Mine, version: "1"}\npaths: {/mine: {get: {operationId: mine, responses: {}}}}\nx-rows:\n${'  - {a: 1}\n'.repeat(5_000)}`;
    await register(stage, { url: stage.peer.url, spec: mine, info: { id: 'mine' } });
    const waitedMs = performance.now() - began;
    void Promise.allSettled(chats);
    return { said: `registered after ${(waitedMs / 1_000).toFixed(1)} s`, isWrong: waitedMs > registrationMs };
  },
};

const mcpList = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

const manyFunctions: StopCase = {
  name: 'a document of 1,000 operations, 200 of 250 kB, its report of 50 MB, a chat, and lists of them',
  limitMs: 100,
  async prepare(stage) {
    stage.peer.pages.set('/cloud/openapi.json', { type: 'application/json', body: JSON.stringify(largeDocument()) });
    await registerUse(stage, { type: 'object' });
    await stage.post(chat, plainChat);
  },
  async attack(stage) {
    const registered = await stage.post('/api/tool-servers', { url: `${stage.peer.url}/cloud`, info: { id: 'cloud' } });
    const asked = await stage.post(chat, {
      ...plainChat,
      messages: [{ role: 'user', content: 'Create a thing of Kind7.' }],
      tool_ids: ['server:cloud'],
    });
    const create = await stage.post('/api/tools/createKind7/invoke', { arguments: { meta: {}, spec: { part0: { name: 'a' } } } });
    const listed = await stage.post('/mcp', mcpList);
    const counted = await fetch(`${stage.url}/api/tools`, { headers: { authorization: `Bearer ${stage.key}` } });
    await counted.arrayBuffer();
    const statuses = [registered, asked, create, listed, counted].map(({ status }) => status);
    return { said: `status ${statuses.join(', ')}`, isWrong: statuses.join() !== '201,200,200,200,200' };
  },
};

/** A document of so many small operations. */
function smallOperations(count: number): object {
  const operation = (index: number): object => ({
    operationId: `get_thing_${index}`,
    summary: `Gets thing ${index}`,
    parameters: [{ name: 'id', in: 'query', schema: { type: 'string' } }],
    responses: { 200: { description: 'ok' } },
  });
  const paths = Object.fromEntries(Array.from({ length: count }, (_, index) => [`/things/${index}`, { get: operation(index) }]));
  return { openapi: '3.1.0', info: { title: 'Things', version: '1' }, paths };
}

const manySmallFunctions: StopCase = {
  name: 'a document of 10,000 operations, a call of one of them, and lists of them',
  limitMs: 100,
  async prepare(stage) {
    stage.peer.pages.set('/things/openapi.json', { type: 'application/json', body: JSON.stringify(smallOperations(10_000)) });
    await registerUse(stage, { type: 'object' });
    await stage.post('/api/tools/use/invoke', { arguments: {} });
    await stage.post('/mcp', mcpList);
  },
  async attack(stage) {
    const registered = await stage.post('/api/tool-servers', { url: `${stage.peer.url}/things`, info: { id: 'things' } });
    const listed = await stage.post('/mcp', mcpList);
    const called = await stage.post('/api/tools/get_thing_9000/invoke', { arguments: { id: 'a' } });
    const headers = { authorization: `Bearer ${stage.key}` };
    const pages = ['/api/tools', '/api/tools/openapi.json', '/api/tool-servers'];
    const answers = [];
    for (const page of pages) answers.push(await fetch(stage.url + page, { headers }));
    for (const answer of answers) await answer.arrayBuffer();
    const statuses = [registered, listed, called, ...answers].map(({ status }) => status);
    return { said: `status ${statuses.join(', ')}`, isWrong: statuses.join() !== '201,200,200,200,200,200' };
  },
};

/** A document of so many operations with so many described parameters each. */
function wordyOperations(count: number, parameters: number): object {
  const properties = Object.fromEntries(
    Array.from({ length: parameters }, (_, index) => [
      `part${index}`,
      { type: 'string', description: `Part ${index} of this function, which says something`, enum: ['a', 'b', 'c'] },
    ]),
  );
  const schema = { type: 'object', properties };
  const use = (index: number): object => ({
    operationId: `use_thing_${index}`,
    requestBody: { content: { 'application/json': { schema } } },
    responses: { 200: { description: 'ok' } },
  });
  const paths = Object.fromEntries(Array.from({ length: count }, (_, index) => [`/things/${index}`, { post: use(index) }]));
  return { openapi: '3.1.0', info: { title: 'Things', version: '1' }, paths };
}

const repeatedReads: StopCase = {
  name: 'lists of 500 functions, a megabyte each, read 40 times in each form, eight at a time, and pages of them',
  async prepare(stage) {
    stage.peer.pages.set('/wordy/openapi.json', { type: 'application/json', body: JSON.stringify(wordyOperations(500, 15)) });
    await stage.post('/api/tool-servers', { url: `${stage.peer.url}/wordy`, info: { id: 'wordy' } });
    await stage.post('/mcp', mcpList);
  },
  async attack(stage) {
    const headers = { authorization: `Bearer ${stage.key}` };
    const statuses: number[] = [];
    const get = async (path: string): Promise<void> => {
      const answer = await fetch(stage.url + path, { headers });
      await answer.arrayBuffer();
      statuses.push(answer.status);
    };
    const list = async (): Promise<void> => void statuses.push((await stage.post('/mcp', mcpList)).status);
    const reads = [
      () => get('/api/tools'),
      () => get('/api/tools/openapi.json'),
      () => get('/api/tools?limit=200&after=wordy%2Fuse_thing_99'),
      list,
    ];
    for (let round = 0; round < 20; round += 1) await Promise.all(reads.flatMap((read) => [read(), read()]));
    const failed = statuses.filter((status) => status !== 200).length;
    return { said: `${failed} of ${statuses.length} failed`, isWrong: failed > 0 };
  },
};

const manyConnections: StopCase = {
  name: "an import of 1,000 connections in Open WebUI's shape, twice, and lists of them",
  async prepare({ post }) {
    await post('/api/v1/configs/tool_servers', { TOOL_SERVER_CONNECTIONS: [] });
  },
  async attack(stage) {
    const entry = (index: number): object => ({
      url: `${stage.peer.url}/${index}`,
      path: 'openapi.json',
      auth_type: 'bearer',
      key: `sk-secret-${index}`,
      headers: { 'x-tenant': `tenant-${index}` },
      config: { enable: true, access_control: null },
      info: { name: `Server ${index}`, description: 'A server of many' },
    });
    const body = { TOOL_SERVER_CONNECTIONS: Array.from({ length: 1_000 }, (_, index) => entry(index)) };
    const statuses: number[] = [];
    for (let round = 0; round < 2; round += 1) statuses.push((await stage.post('/api/v1/configs/tool_servers', body)).status);
    for (const path of ['/api/v1/configs/tool_servers', '/api/tool-servers', '/api/tools', '/api/doctor']) {
      const listed = await fetch(stage.url + path, { headers: { authorization: `Bearer ${stage.key}` } });
      await listed.arrayBuffer();
      statuses.push(listed.status);
    }
    return { said: `status ${statuses.join(', ')}`, isWrong: statuses[0] !== 200 };
  },
};

/** Bodies that arrive a byte at a time, of which none may be left after this time. */
const tricklePatienceMs = 40_000;

const trickle: StopCase = {
  name: '150 bodies that trickle',
  async attack({ url, key }) {
    const open = new Set<Socket>();
    for (let index = 0; index < 150; index += 1) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      open.add(socket);
      socket.on('error', () => undefined).on('close', () => open.delete(socket));
      socket.resume();
      socket.write(
        `POST ${chat} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${index % 2 === 0 ? 5_000_000 : 50_000}\r\n\r\n{`,
      );
    }
    const timer = setInterval(() => {
      for (const socket of open) if (socket.writable) socket.write(' ');
    }, 1_000);
    const deadline = performance.now() + tricklePatienceMs;
    const began = performance.now();
    while (open.size > 0 && performance.now() < deadline) await pause(500);
    clearInterval(timer);
    const left = open.size;
    for (const socket of open) socket.destroy();
    return { said: `${left} open after ${((performance.now() - began) / 1_000).toFixed(0)} s`, isWrong: left > 0 };
  },
};

/** What a backend says. */
function backendCase(name: string, change: (peer: HostilePeer) => void, ask: (stage: Stage) => Promise<{ status: number }>): StopCase {
  return {
    name,
    async prepare(stage) {
      await ask(stage);
    },
    async attack(stage) {
      change(stage.peer);
      const { status } = await ask(stage);
      return { said: `status ${status}` };
    },
  };
}

/** What a model may say in the middle of nothing: beginnings of calls, of fences and of labels. */
const hostileAnswers = ['```python\n', 'use\n{"a":1}\n', 'use(a=1);\n', 'Action: use\nAction Input: {"a": 1}\n', '\n', '"', '{'];

function answersCase(mode: string): StopCase {
  return {
    name: `answers of a megabyte that are full of beginnings of calls, ${mode}`,
    async prepare(stage) {
      await registerUse(stage, { type: 'object', properties: { a: { type: 'integer' } } });
      stage.peer.pages.set('/use', { type: 'application/json', body: '{}' });
      await stage.post(chat, { ...plainChat, tool_ids: ['server:use'], params: { function_calling: mode } });
    },
    async attack(stage) {
      const statuses: number[] = [];
      for (const part of hostileAnswers) {
        const content = part.repeat(1_000_000 / part.length);
        stage.peer.completion = JSON.stringify(completionOf({ role: 'assistant', content }, 'stop'));
        const { status } = await stage.post(chat, { ...plainChat, tool_ids: ['server:use'], params: { function_calling: mode } });
        statuses.push(status);
      }
      return { said: `status ${statuses.join(' ')}` };
    },
  };
}

interface LeakedCalls {
  mode: string;
  /** Of a page, repeated up to a megabyte in each of nine messages. */
  words: string;
  answer: string;
}

/** Nine megabytes of text before an answer that leaks calls: each is looked for in all of it. */
function leakedCallsCase(name: string, { mode, words, answer }: LeakedCalls): StopCase {
  const params = { function_calling: mode };
  const messages = Array.from({ length: 9 }, () => ({ role: 'user', content: words.repeat(1_000_000 / words.length) }));
  return {
    name,
    async prepare(stage) {
      await registerUse(stage, { type: 'object', properties: { a: {} } });
      stage.peer.pages.set('/use', { type: 'application/json', body: '{}' });
      await stage.post(chat, { ...plainChat, messages, tool_ids: ['server:use'], params });
    },
    async attack(stage) {
      stage.peer.completion = JSON.stringify(completionOf({ role: 'assistant', content: answer }, 'stop'));
      const asked = stage.post(chat, { ...plainChat, messages, tool_ids: ['server:use'], params });
      await pause(1_500);
      stage.peer.completion = plainCompletion;
      const { status } = await asked;
      return { said: `status ${status}` };
    },
  };
}

const page = 'some "words" of a page, ';
const callOf = (a: unknown): string => `{"name": "use", "arguments": {"a": ${JSON.stringify(a)}}}`;
const leakedCalls: StopCase[] = [
  leakedCallsCase('calls in the text of an answer to 9 MB of text, native', {
    mode: 'native',
    words: page,
    answer: `<tool_call>${callOf(1)}</tool_call>\n`.repeat(20),
  }),
  leakedCallsCase('calls in the text of an answer to 9 MB of text, react', {
    mode: 'react',
    words: page,
    answer: 'Thought: I need it.\nAction: use\nAction Input: {"a": 1}\n',
  }),
  leakedCallsCase('a call of 10,000 characters that nearly stands all through 9 MB of text', {
    mode: 'native',
    words: callOf('a'.repeat(9_000)).slice(0, -3),
    answer: `<tool_call>${callOf('a'.repeat(10_000))}</tool_call>`,
  }),
];

const quotes = `functools[${'"'.repeat(31_000)}]`;
const damagedCalls: StopCase[] = ['native', 'default', 'react'].map((mode) => {
  const params = { function_calling: mode };
  const ask = (stage: Stage, content: string): Promise<{ status: number }> => {
    stage.peer.completion = JSON.stringify(completionOf({ role: 'assistant', content }, 'stop'));
    return stage.post(chat, { ...plainChat, tool_ids: ['server:use'], params });
  };
  return {
    name: `texts of 31 kB and of 7 kB that look like damaged calls, eight of them in an answer, ${mode}`,
    async prepare(stage) {
      await registerUse(stage, { type: 'object', properties: { a: {} } });
      await ask(stage, `functools[{"name": "nobody", "arguments": {"a": 1,}}]`);
    },
    async attack(stage) {
      const statuses: number[] = [];
      for (const text of [quotes, `functools[${'"'.repeat(7_000)}]`])
        statuses.push((await ask(stage, Array.from({ length: 8 }, () => text).join('\n\n'))).status);
      return { said: `status ${statuses.join(' ')}` };
    },
  };
});

const askChat = ({ post }: Stage): Promise<{ status: number }> => post(chat, plainChat);
const streamOf = (chunks: readonly string[]): string => [...chunks.map((chunk) => `data: ${chunk}\n\n`), 'data: [DONE]\n\n'].join('');
const chunkOf = (delta: string): string =>
  `{"id":"c","object":"chat.completion.chunk","created":1,"model":"mock","choices":[{"index":0,"delta":${delta},"finish_reason":null}]}`;

const streamChat = ({ post }: Stage): Promise<{ status: number }> => post(chat, { ...plainChat, stream: true });
const lineCase = (name: string, makeLine: () => string): StopCase =>
  backendCase(name, (peer) => (peer.completion = streamOf([makeLine()])), streamChat);

const backends: StopCase[] = [
  ...['default', 'native', 'react'].map((mode) => answersCase(mode)),
  backendCase(
    "a backend's answer of 20 million empty lists",
    (peer) => (peer.completion = `${plainCompletion.slice(0, -1)},"lists":[${'[],'.repeat(20_000_000)}[]]}`),
    askChat,
  ),
  backendCase(
    "a backend's answer with a text of 15 MB",
    (peer) => (peer.completion = JSON.stringify(completionOf({ role: 'assistant', content: 'words '.repeat(2_500_000) }, 'stop'))),
    askChat,
  ),
  {
    ...backendCase(
      'a text of 15 MB, of a backend with a key that is looked for in it',
      (peer) => (peer.completion = JSON.stringify(completionOf({ role: 'assistant', content: 'words '.repeat(2_500_000) }, 'stop'))),
      askChat,
    ),
    environment: () => ({ OPENAI_API_KEYS: 'sk-a-key/of+this-backend' }),
  },
  lineCase('a line of a stream with 30,000 calls', () => {
    const calls = times(30_000, (index) => `{"index":${index},"function":{}}`);
    return chunkOf(`{"role":"assistant","tool_calls":[${calls}]}`);
  }),
  lineCase('a line of a stream with 19,000 fields', () => chunkOf(`{"content":"x",${times(19_000, (index) => `"k${index}":1`)}}`)),
  lineCase('a line of a stream with 300,000 lists', () => chunkOf(`{"content":"x","lists":[${times(300_000, () => '[]')}]}`)),
  lineCase('a line of a stream with a text of a megabyte', () => chunkOf(`{"content":"${'word '.repeat(200_000)}"}`)),
  backendCase(
    'a stream of 100,000 chunks at once',
    (peer) => (peer.completion = streamOf(Array.from({ length: 100_000 }, () => chunkOf('{"content":"word "}')))),
    streamChat,
  ),
  backendCase(
    'a list of 200,000 models',
    (peer) => (peer.models = `{"object":"list","data":[${times(200_000, (index) => `{"id":"model-${index}","object":"model"}`)}]}`),
    async (stage) => {
      // The list is believed for half a minute; for a model that nobody knows it is asked for again after two seconds.
      await pause(2_100);
      return stage.post(chat, { ...plainChat, model: 'nobody' });
    },
  ),
  backendCase(
    "a backend's embeddings of 5 million numbers",
    (peer) =>
      (peer.embeddings = `{"object":"list","model":"mock","data":[${times(5_000, (index) => `{"object":"embedding","index":${index},"embedding":[${times(1_000, () => '0.125')}]}`)}]}`),
    ({ post }) => post('/v1/embeddings', { model: 'mock', input: 'Hello' }),
  ),
];

/** A function of the operator's own, which is none of the foreign things that must not stop the loop. */
export const controlModule = `
import { defineTool } from 'toolwharf';
export default defineTool({
  name: 'compute',
  description: 'Computes for 200 ms',
  parameters: { type: 'object', properties: {} },
  execute() {
    const cpuMs = () => process.threadCpuUsage().user / 1000;
    for (const end = cpuMs() + 200; cpuMs() < end; );
    return 'Done.';
  },
});
`;

const control: StopCase = {
  name: 'control: a function that computes for 200 ms',
  isControl: true,
  async attack({ post }) {
    const { status } = await post('/api/tools/function:compute/invoke', { arguments: {} });
    return { said: `status ${status}`, isWrong: status !== 200 };
  },
};

async function openConnection({ url }: Stage): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** So many copies of a request, each over a connection that was opened before. */
async function sendTogether(stage: Stage, count: number, request: string): Promise<{ said: string; isWrong: boolean }> {
  const open = await Promise.all(Array.from({ length: count }, () => openConnection(stage)));
  await pause(500);
  const answers = open.map((socket) => once(socket, 'data') as Promise<[Buffer]>);
  for (const socket of open) socket.write(request);
  const statuses = (await Promise.all(answers)).map(([answer]) => answer.toString('latin1', 9, 12));
  for (const socket of open) socket.destroy();
  // A caller may read so many lists a minute.
  const refused = statuses.filter((status) => status === '429').length;
  const failed = statuses.filter((status) => status !== '200').length - refused;
  return { said: `${failed} of ${count} failed, ${refused} refused`, isWrong: failed > 0 };
}

function crowdCase(name: string, path: string, body?: string): StopCase {
  const requestFor = ({ key }: Stage): string =>
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n` +
    (body === undefined ? '\r\n' : `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  return {
    name,
    async prepare(stage) {
      await sendTogether(stage, 20, requestFor(stage));
    },
    attack: (stage) => sendTogether(stage, 1_000, requestFor(stage)),
  };
}

const listTools = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}';

/** Without a payload, and masked with zeros, as a client sends it. */
const frameOf = (opcode: number, { isFinal = true } = {}): Buffer => Buffer.from([(isFinal ? 0x80 : 0) | opcode, 0x80, 0, 0, 0, 0]);
const repeated = (frame: Buffer): Buffer[] => Array.from({ length: 200_000 }, () => frame);

/** Raw bytes on each of four open sockets. */
function rawSocketCase(name: string, makeBytes: () => Buffer): StopCase {
  return {
    name,
    async attack(stage) {
      const upgrade =
        `GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${stage.key}\r\nupgrade: websocket\r\nconnection: Upgrade\r\n` +
        'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
      const open = await Promise.all(Array.from({ length: 4 }, () => openConnection(stage)));
      for (const socket of open) {
        socket.write(upgrade);
        await once(socket, 'data');
        socket.resume();
      }
      const bytes = makeBytes();
      for (const socket of open) socket.write(bytes);
      await pause(4_000);
      const closed = open.filter((socket) => socket.closed).length;
      for (const socket of open) socket.destroy();
      return { said: `${closed} of 4 sockets closed` };
    },
  };
}

/** A body on each of so many connections. */
function chunksCase(name: string, connections: number, chunks: string): StopCase {
  return {
    name,
    async prepare({ post }) {
      await post(chat, { ...plainChat, user: 'x'.repeat(1_000_000) });
    },
    async attack(stage) {
      const head = `POST ${chat} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${stage.key}\r\ncontent-type: application/json\r\n`;
      const statuses = Array.from({ length: connections }, async () => {
        const socket = await openConnection(stage);
        socket.write(`${head}transfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
        const [answer] = (await once(socket, 'data')) as [Buffer];
        socket.destroy();
        return answer.toString('latin1', 9, 12);
      });
      return { said: `status ${(await Promise.all(statuses)).join(' ')}` };
    },
  };
}

/** So many requests on one connection, which reads nothing of their answers. */
function aheadCase(name: string, path: string, count: number): StopCase {
  const requests = (of: number): string => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`.repeat(of);
  return {
    name,
    async prepare(stage) {
      await sendTogether(stage, 1, requests(1));
    },
    async attack(stage) {
      const socket = await openConnection(stage);
      socket.pause();
      socket.write(requests(count));
      await pause(2_000);
      socket.destroy();
      return { said: 'sent' };
    },
  };
}

const crowds: StopCase[] = [
  crowdCase('1,000 requests to /mcp that arrive together', '/mcp', listTools),
  crowdCase('1,000 questions for all functions that arrive together', '/api/tools'),
  crowdCase('1,000 requests for the page of the API that arrive together', '/docs'),
  crowdCase('1,000 requests for the state that arrive together', '/health'),
  crowdCase('1,000 paths of 14,000 slashes that arrive together', '/'.repeat(14_000)),
  crowdCase('1,000 paths of 3,500 encoded parts that arrive together', `/console${'/%41'.repeat(3_500)}`),
  aheadCase('1,000 requests that one connection sends ahead', '/docs', 1_000),
  rawSocketCase('200,000 empty fragments on each of four sockets', () =>
    Buffer.concat([frameOf(1, { isFinal: false }), ...repeated(frameOf(0, { isFinal: false }))]),
  ),
  rawSocketCase('200,000 pings on each of four sockets', () => Buffer.concat(repeated(frameOf(9)))),
  rawSocketCase('200,000 pongs on each of four sockets', () => Buffer.concat(repeated(frameOf(10)))),
  rawSocketCase('200,000 empty frames on each of four sockets', () => Buffer.concat(repeated(frameOf(1)))),
  chunksCase('a body in chunks of a byte', 1, '1\r\n \r\n'.repeat(1_000_000)),
  chunksCase('four bodies in chunks of a byte with extensions', 4, `1;${'x'.repeat(100)}\r\n \r\n`.repeat(100_000)),
];

export const stopCases: readonly StopCase[] = [
  control,
  ...validation,
  ...bodies,
  sockets,
  ...results,
  ...mcp,
  ...processes,
  ...crowds,
  ...others,
  ...backends,
  ...leakedCalls,
  ...damagedCalls,
  documents,
  manyFunctions,
  manySmallFunctions,
  repeatedReads,
  manyConnections,
  trickle,
];
