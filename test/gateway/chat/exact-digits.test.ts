import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it } from 'vitest';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { listen as listenOn } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { outboundBody } from '../../_support/outbound-body.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { functionGateway, listen } from '../functions/function-gateway.ts';
import { answerOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { storesIn } from '../approvals/approval-fixture.ts';

/** No JavaScript numbers: the nearest ones end in 992, 800 and 0.12345678901234568. */
const id = '9007199254740993';
const user = '1234567890123456789';
const amount = '0.12345678901234567890';

const args = `{"id":${id},"user":${user},"amount":${amount}}`;
const integer = { type: 'integer', format: 'int64' };
const schema = { type: 'object', properties: { user: integer, amount: { type: 'number' } } };
const document = {
  openapi: '3.1.0',
  info: { title: 'Ids', version: '1' },
  paths: {
    '/t/{id}': {
      post: {
        operationId: 'touch',
        summary: 'Touches an object',
        parameters: [{ name: 'id', in: 'path', required: true, schema: integer }],
        requestBody: { content: { 'application/json': { schema } } },
        responses: { 200: { description: 'ok' } },
      },
    },
  },
};
/** The body takes anything else too. */
const openDocument = JSON.parse(
  JSON.stringify(document).replace('"amount":{"type":"number"}', '"amount":{"type":"number"},"extra":{"type":"integer"}'),
) as typeof document;
const result = `{"created":${id},"list":[${user},1e400,${amount}]}`;
const answers = { [`http://ids.test/t/${id}`]: answerOf(result) };

const idsServer = (needsApproval = false): ReturnType<typeof serverOf> =>
  serverOf('ids', document, needsApproval ? { extra: { config: { needs_approval: true } } } : {});

function idsGateway(turns: ScriptStep[][], { needsApproval = false, ...options }: GatewayOptions & { needsApproval?: boolean } = {}) {
  return gatewayOf({ turns, servers: [idsServer(needsApproval)], answers, ...options });
}

/** `body` is text: JavaScript could not write these numbers. */
function post({ app }: Pick<Gateway, 'app'>, url: string, body: string, headers: object = {}): Promise<LightMyRequestResponse> {
  const shared = { host: '127.0.0.1:8080', 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return app.server.inject({ method: 'POST', url, headers: { ...shared, ...headers }, payload: body });
}

const chat = (more = ''): string => `{"model":"model","messages":[{"role":"user","content":"Touch it."}]${more}}`;

function expectTouched({ sent }: Pick<Gateway, 'sent'>, sentBody = `{"user":${user},"amount":${amount}}`): void {
  expect(sent.map(({ url, body }) => [url, String(body)])).toEqual([[`http://ids.test/t/${id}`, sentBody]]);
}

/** The model reads the result as it came. */
function expectRead({ model }: Gateway): void {
  const read = JSON.stringify(model.requests.at(-1)?.messages);
  for (const digits of [id, user, '1e400', amount]) expect(read).toContain(digits);
}

const inText = (text: string): ScriptStep[] => says(text);

describe('numbers that no JavaScript number has keep their digits', () => {
  it.each<[way: string, turn: ScriptStep[], fields: string]>([
    ['a native call', calls(['touch', args]), ''],
    ['a native call, streamed', calls(['touch', args]), ',"stream":true,"stream_options":{"include_events":true}'],
    ['digits in texts', calls(['touch', `{"id":"${id}","user":"${user}","amount":"${amount}"}`]), ''],
    ['a leaked call', inText(`<tool_call>{"name":"touch","arguments":${args}}</tool_call>`), ''],
    ['a leaked call that has to be repaired', inText(`<tool_call>{"name":"touch","arguments":${args},}</tool_call>`), ''],
    [
      'a call in XML',
      inText(
        `<tool_call><function=touch><parameter=id>${id}</parameter><parameter=user>${user}</parameter><parameter=amount>${amount}</parameter></function></tool_call>`,
      ),
      '',
    ],
    ['a call in Python', inText(`<|python_tag|>touch(id=${id}, user=${user}, amount=${amount})`), ''],
    [
      'a call chosen by a prompt',
      inText(`{"tool_calls":[{"name":"touch","parameters":${args}}]}`),
      ',"params":{"function_calling":"default"}',
    ],
    [
      'a long answer to the prompt',
      inText(`${'I think it through. '.repeat(1_000)}\n{"tool_calls":[{"name":"touch","parameters":${args}}]}`),
      ',"params":{"function_calling":"default"}',
    ],
    ['a step of react', inText(`Thought: go\nAction: touch\nAction Input: ${args}`), ',"params":{"function_calling":"react"}'],
  ])('%s', async (way, turn, fields) => {
    await using gateway = await idsGateway([turn, says('Done.'), says('Done.')]);
    const { body } = await post(gateway, '/v1/chat/completions', chat(fields));
    expectTouched(gateway);
    expectRead(gateway);
    expect([id, user, amount, '1e400'].filter((digits) => fields.includes('events') && !body.includes(digits))).toEqual([]);
    const [run] = (await gateway.get('/api/runs')).json<{ data: { id: string }[] }>().data;
    const { body: log } = await gateway.get(`/api/runs/${run?.id}`);
    // Arguments are logged as the model wrote them.
    const given = way === 'digits in texts' ? [`"id":"${id}"`, `"user":"${user}"`] : [`"id":${id}`, `"user":${user}`];
    for (const digits of [...given, `"created":${id}`, '1e400']) expect(log).toContain(digits);
  });

  it.each([
    ['invoke', '/api/tools/touch/invoke', `{"arguments":${args}}`],
    ['the document of the tools', '/api/tools/touch/call', args],
    ['an MCP client', '/mcp', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"touch","arguments":${args}}}`],
  ])('%s', async (_way, url, body) => {
    await using gateway = await idsGateway([]);
    const answer = await post(gateway, url, body);
    expectTouched(gateway);
    for (const digits of [id, user, amount, '1e400']) expect(answer.body).toContain(digits);
  });

  it('a body that is parsed in a worker', async () => {
    await using gateway = await idsGateway([]);
    const many = JSON.stringify(Array.from({ length: 30_000 }, () => ({})));
    const text = 'x'.repeat(600_000);
    await post(gateway, '/api/tools/touch/invoke', `{"arguments":${args},"note":"${text}","more":${many}}`);
    expectTouched(gateway);
  });

  it.each<[dialect: string, url: string, question: string, shown: string]>([
    [
      'chat completions',
      '/v1/chat/completions',
      '"messages":[{"role":"user","content":"Go."}]',
      String.raw`{\"id\":${id},\"user\":${user}}`,
    ],
    ['responses', '/v1/responses', '"input":"Go."', String.raw`{\"id\":${id},\"user\":${user}}`],
    ['messages', '/v1/messages', '"max_tokens":9,"messages":[{"role":"user","content":"Go."}]', `{"id":${id},"user":${user}}`],
    ['Ollama', '/api/chat', '"messages":[{"role":"user","content":"Go."}]', `{"id":${id},"user":${user}}`],
  ])("a call of the caller's own function in %s", async (dialect, url, question, shown) => {
    const parameters = JSON.stringify({ type: 'object', properties: { id: integer, user: integer } });
    const tool = {
      'chat completions': `{"type":"function","function":{"name":"own","parameters":${parameters}}}`,
      responses: `{"type":"function","name":"own","parameters":${parameters}}`,
      messages: `{"name":"own","input_schema":${parameters}}`,
      Ollama: `{"type":"function","function":{"name":"own","parameters":${parameters}}}`,
    }[dialect];
    const call = (): ScriptStep[] => calls(['own', `{"id":${id},"user":${user}}`]);
    await using gateway = await idsGateway([call(), call()]);
    for (const stream of [false, true]) {
      const { body } = await post(gateway, url, `{"model":"model","stream":${stream},${question},"tools":[${tool}]}`);
      expect(body).toContain(dialect === 'messages' && stream ? JSON.stringify(shown).slice(1, -1) : shown);
    }
  });

  it.each([
    [
      'tool_use of messages',
      '/v1/messages',
      `"max_tokens":9,"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"own","input":{"id":${id}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}]`,
    ],
    [
      'arguments of Ollama',
      '/api/chat',
      `"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"own","arguments":{"id":${id}}}}]},{"role":"tool","tool_name":"own","content":"ok"}]`,
    ],
  ])('%s in a request', async (_form, url, messages) => {
    await using gateway = await idsGateway([says('Hello.')]);
    await post(gateway, url, `{"model":"model","stream":false,${messages}}`);
    const assistant = gateway.model.requests[0]?.messages.find(({ role }) => role === 'assistant');
    expect(assistant).toMatchObject({ toolCalls: [{ arguments: `{"id":${id}}` }] });
  });

  interface Waiting {
    approval: { run_id: string; url: string; calls: { id: string; token: string }[] };
  }
  const editedBody = `{"user":${user.slice(0, -1)}7}`;
  const edited = `{"id":${id},"user":${user.slice(0, -1)}7}`;

  async function askForApproval(gateway: Gateway): Promise<{ shown: string; page: string; decide: string; token: string; call: string }> {
    const { body, ...answer } = await post(gateway, '/v1/chat/completions', chat());
    const { approval } = answer.json<Waiting>();
    const [waiting = { id: '', token: '' }] = approval.calls;
    return {
      shown: body,
      page: new URL(approval.url).pathname,
      decide: `/api/runs/${approval.run_id}/approvals/${encodeURIComponent(waiting.id)}`,
      token: waiting.token,
      call: waiting.id,
    };
  }

  it.each(['as they are', 'edited'])('arguments that are approved over the API, %s', async (how) => {
    await using gateway = await idsGateway([calls(['touch', args]), says('Done.')], { needsApproval: true });
    const { shown, decide, token } = await askForApproval(gateway);
    expect(shown).toContain(id);
    expect(shown).toContain(user);
    await post(gateway, decide, `{"decision":"approve","token":"${token}"${how === 'edited' ? `,"arguments":${edited}` : ''}}`);
    expectTouched(gateway, how === 'edited' ? editedBody : undefined);
    expect(JSON.stringify(gateway.model.requests.at(-1)?.messages)).toContain(id);
  });

  it.each(['as they are', 'edited'])('arguments that are approved on the page, %s', async (how) => {
    await using gateway = await idsGateway([calls(['touch', args]), says('Done.')], { needsApproval: true });
    const { page, call } = await askForApproval(gateway);
    const { body } = await gateway.get(page);
    for (const digits of [id, user, amount]) expect(body).toContain(digits);
    const form = new URLSearchParams({ call, decision: 'approve', arguments: how === 'edited' ? edited : args }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' };
    await post(gateway, page, form, headers);
    expectTouched(gateway, how === 'edited' ? editedBody : undefined);
  });

  it('a run that waits in the database while the gateway is restarted, and its log', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'digits-'));
    const before = storesIn(folder);
    const first = await idsGateway([calls(['touch', args])], { needsApproval: true, ...before });
    const { decide, token } = await askForApproval(first);
    await first[Symbol.asyncDispose]();
    await before.close();
    const after = storesIn(folder);
    const second = await idsGateway([says('Done.')], { needsApproval: true, ...after });
    await post(second, decide, `{"decision":"approve","token":"${token}"}`);
    expectTouched(second);
    expectRead(second);
    const [run] = (await second.get('/api/runs')).json<{ data: { id: string }[] }>().data;
    expect((await second.get(`/api/runs/${run?.id}`)).body).toContain(`"created":${id}`);
    await second[Symbol.asyncDispose]();
    await after.close();
    rmSync(folder, { recursive: true });
  });

  it('a confirmation over a socket', async () => {
    await using gateway = await idsGateway([calls(['touch', args]), says('Done.')], { needsApproval: true });
    const browser = await connectFakeBrowser({ url: await listenOn(gateway.app) });
    const texts: string[] = [];
    browser.socket.on('message', (data: Buffer) => texts.push(data.toString()));
    browser.send({ type: 'message', data: { content: 'Touch it.', model: 'model' } });
    const asked = await browser.next('confirmation');
    expect(texts.find((text) => text.includes('"confirmation"'))).toContain(`"id":${id}`);
    const confirmed = JSON.stringify(asked.data['id']);
    browser.socket.send(`{"type":"confirmation:result","data":{"id":${confirmed},"decision":"approve","arguments":${edited}}}`);
    await browser.next('assistant_end');
    expectTouched(gateway, editedBody);
    expect(texts.find((text) => text.includes('"tool.result"') || text.includes('created'))).toContain(id);
    browser.terminate();
  });

  it('a call in the browser, and its result', async () => {
    await using gateway = await idsGateway([calls(['touch', args]), says('Done.')]);
    const browser = await connectFakeBrowser({ url: await listenOn(gateway.app) });
    const texts: string[] = [];
    browser.socket.on('message', (data: Buffer) => texts.push(data.toString()));
    const tools = JSON.stringify([{ url: 'http://local.test', openapi: document }]);
    browser.socket.send(`{"type":"message","data":{"content":"Touch it.","model":"model","tool_ids":[],"tool_servers":${tools}}}`);
    const asked = await browser.next('execute:tool');
    for (const digits of [id, user, amount]) expect(texts.find((text) => text.includes('"execute:tool"'))).toContain(digits);
    browser.socket.send(`{"type":"execute:tool:result","data":{"id":${JSON.stringify(asked.data['id'])},"result":${result}}}`);
    await browser.next('assistant_end');
    expectRead(gateway);
    browser.terminate();
  });
});

describe('MCP servers', () => {
  const inputSchema = `{"type":"object","properties":{"id":{"type":"integer","enum":[${id}]},"user":{"type":"integer"},"amount":{"type":"number"}}}`;
  const tool = `{"name":"touch","inputSchema":${inputSchema},"outputSchema":{"type":"object","properties":{"created":{"type":"integer"}}}}`;
  const called = `{"content":[{"type":"text","text":"ok"}],"structuredContent":${result}}`;

  /** What an MCP server of the first protocol version says, as text. */
  function answerTo(body: string): string {
    const { id: request, method } = JSON.parse(body) as { id?: number | string; method: string };
    const results: Record<string, string> = {
      initialize: '{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"ids","version":"1"}}',
      'tools/list': `{"tools":[${tool}]}`,
      'tools/call': called,
    };
    const answer = results[method];
    if (request === undefined) return '';
    return answer === undefined
      ? `{"jsonrpc":"2.0","id":${JSON.stringify(request)},"error":{"code":-32601,"message":"not here"}}`
      : `{"jsonrpc":"2.0","id":${JSON.stringify(request)},"result":${answer}}`;
  }

  it.each(['application/json', 'text/event-stream'])('get and give all digits in %s', async (type) => {
    const asked: string[] = [];
    async function* inPieces(text: string): AsyncGenerator<Uint8Array> {
      for (let start = 0; start < text.length; start += 7) yield new TextEncoder().encode(text.slice(start, start + 7));
    }
    await using gateway = await gatewayOf({
      turns: [calls(['touch', args]), says('Done.')],
      servers: [toolServerRecord({ id: 'ids', type: 'mcp', url: 'http://ids.test/mcp' })],
      async send({ method, body }) {
        const text = method === 'POST' ? answerTo(String(body)) : '';
        if (method !== 'POST') return { status: 405, headers: {}, body: outboundBody(inPieces('')) };
        asked.push(String(body));
        if (text === '') return { status: 202, headers: {}, body: outboundBody(inPieces('')) };
        const framed = type === 'application/json' ? text : `event: message\nid: 1234567890123456789\ndata: ${text}\n\n`;
        return { status: 200, headers: { 'content-type': type }, body: outboundBody(inPieces(framed)) };
      },
    });
    const { body } = await post(gateway, '/v1/chat/completions', chat(',"stream":true,"stream_options":{"include_events":true}'));
    expect(asked.find((text) => text.includes('"tools/call"'))).toContain(`"arguments":${args}`);
    expectRead(gateway);
    expect(body).toContain(String.raw`\"created\": ${id}`);
    expect(JSON.stringify(gateway.model.requests[0]?.tools)).toContain(`[${id}]`);
    const answer = await post(
      gateway,
      '/mcp',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"touch","arguments":${args}}}`,
    );
    expect(answer.body).toContain(`"created":${id}`);
  });
});

describe('code of the operator', () => {
  const module = `import { defineTool } from 'toolwharf';
const parameters = (id) => ({ type: 'object', properties: { id, share: { type: 'number' } } });
const execute = (args, { state }) => { tell(args); state.set('last', args); return args; };
export default [
  defineTool({ name: 'whole', description: 'Whole', parameters: parameters({ type: 'integer' }), execute }),
  defineTool({ name: 'either', description: 'Either', parameters: parameters({ type: ['integer', 'string'] }), execute }),
  defineTool({ name: 'aside', description: 'Aside', parameters: parameters({ type: ['integer', 'string'] }), worker: true, execute: (args) => args }),
];`;
  const hook = `export function beforeTool({ arguments: args }) { tell(args); return undefined; }
export function afterTool({ result }) { tell(result); return { ...result, seen: true }; }`;
  const changing = `import { changeArguments } from 'toolwharf';
export function beforeTool({ arguments: args }) { return changeArguments({ ...args, extra: 1 }); }`;

  it('gets numbers where they are safe, otherwise digits as text or a refusal', async () => {
    using told = listen();
    await using gateway = await functionGateway({ 'ids.js': module });
    const invoke = (name: string, given: string) => post(gateway, `/api/tools/${name}/invoke`, `{"arguments":${given}}`);
    expect((await invoke('whole', '{"id":5}')).json()).toMatchObject({ result: { id: 5 } });
    expect((await invoke('either', `{"id":${id}}`)).json()).toMatchObject({ result: { id } });
    expect((await invoke('aside', `{"id":${id}}`)).json()).toMatchObject({ result: { id } });
    expect((await invoke('whole', `{"share":${amount}}`)).json()).toMatchObject({ result: { share: Number(amount) } });
    expect(told.heard).toEqual([{ id: 5 }, { id }, { share: Number(amount) }]);
    const refused = (await invoke('whole', `{"id":${id}}`)).json<{ error: object }>();
    expect(refused.error).toMatchObject({ code: 'args_invalid', message: expect.stringContaining(id) });
    expect(told.heard).toHaveLength(3);
  });

  it('hooks read digits, and what they return as they got it stays a number', async () => {
    using told = listen();
    await using gateway = await functionGateway(
      { 'hook.js': hook, 'changing.js': changing },
      {
        hooks: ['hook.js', 'changing.js'],
        turns: [calls(['touch', args]), says('Done.')],
        servers: [serverOf('ids', openDocument)],
        answers,
      },
    );
    await post(gateway, '/v1/chat/completions', chat());
    expect(told.heard).toEqual([
      { id, user, amount: Number(amount) },
      { created: id, list: [user, '1e400', Number(amount)] },
    ]);
    expect(String(gateway.sent[0]?.body)).toBe(`{"user":${user},"amount":${amount},"extra":1}`);
    expect(JSON.stringify(gateway.model.requests.at(-1)?.messages)).toContain(String.raw`\"created\": ${id}`);
  });
});
