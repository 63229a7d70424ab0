import { describe, expect, it } from 'vitest';
import { OutboundError, type OutboundFailure } from '../../../../src/core/errors.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import type { OutboundRequest } from '../../../../src/core/outbound.ts';
import type { RunContext } from '../../../../src/core/runs/run.ts';
import type { Tool, ToolOutcome } from '../../../../src/core/tools/tool.ts';
import { convertOperations } from '../../../../src/tools/openapi/convert/convert-operations.ts';
import { createOpenApiTool, type OpenApiConnection } from '../../../../src/tools/openapi/call/openapi-tool.ts';
import { scriptedServer, silence, type ScriptedAnswer } from '../scripted-server.ts';

const document: JsonObject = {
  openapi: '3.1.0',
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  paths: {
    '/echo/{id}': {
      post: {
        operationId: 'echo',
        summary: 'Echo',
        parameters: [
          { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
          { name: 'api_key', in: 'query', schema: { type: 'string' } },
          { name: 'tag', in: 'query', schema: { type: 'array' } },
          { name: 'X-Run', in: 'header', schema: { type: 'string' } },
        ],
        requestBody: { content: { 'application/json': { schema: { type: 'object', properties: { text: { type: 'string' } } } } } },
      },
    },
  },
};

function toolWith(
  answer: () => ScriptedAnswer | Promise<ScriptedAnswer>,
  overrides: Partial<OpenApiConnection> = {},
  operationParts?: JsonObject,
): { tool: Tool; requests: OutboundRequest[] } {
  const { send, requests } = scriptedServer(answer);
  const paths = operationParts === undefined ? document['paths'] : { '/act': { post: { operationId: 'act', ...operationParts } } };
  const [operation] = convertOperations({ ...document, paths }).operations;
  if (operation === undefined) throw new Error('not converted');
  const connection: OpenApiConnection = {
    baseUrlFor: () => 'http://tools.test:8000/api',
    trust: { kind: 'configured', origin: 'http://tools.test:8000' },
    send,
    headersFor: (run) => ({ Authorization: 'Bearer very-secret-key', 'X-Run': run.runId }),
    queryFor: () => ({ api_key: 'query secret' }),
    ...overrides,
  };
  return { tool: createOpenApiTool({ operation, offeredName: 'echo_2', label: 'server/echo', server: 'server', connection }), requests };
}

function run(tool: Tool, args: JsonObject, signal = new AbortController().signal): Promise<ToolOutcome> {
  const context: RunContext = {
    runId: 'run-1',
    caller: { id: 'caller', role: 'user', isOpen: false },
    chatId: undefined,
    messageId: undefined,
    sessionId: undefined,
    signal,
  };
  return tool.run({ callId: 'call-1', args, run: context, signal, timeoutMs: 1_234 });
}

describe('createOpenApiTool', () => {
  it('is offered under the name it was given', () => {
    const { tool } = toolWith(() => ({}), { timeoutMs: 5, maxResultBytes: 6 });
    expect(tool).toMatchObject({
      spec: { name: 'echo_2', description: 'Echo' },
      label: 'server/echo',
      server: 'server',
      kind: 'openapi',
      timeoutMs: 5,
      maxResultBytes: 6,
    });
    expect(toolWith(() => ({})).tool).not.toHaveProperty('timeoutMs');
  });

  it('sends the request with the connection’s credentials, trust and limits, and hands on the answer', async () => {
    const { tool, requests } = toolWith(() => ({ headers: { 'content-type': 'application/json' }, body: '{"ok":true}' }));
    expect(await run(tool, { id: 'a/b', text: 'hi', tag: ['x', 'y z'] })).toEqual({ type: 'result', value: { ok: true } });
    expect(requests[0]).toMatchObject({
      method: 'POST',
      url: 'http://tools.test:8000/api/echo/a%2Fb?tag=x&tag=y%20z&api_key=query%20secret',
      headers: { authorization: 'Bearer very-secret-key', 'content-type': 'application/json', 'x-run': 'run-1' },
      body: '{"text":"hi"}',
      trust: { kind: 'configured', origin: 'http://tools.test:8000' },
      // Later than the limit of the call, which its own timer ends.
      firstByteTimeoutMs: 2_234,
      idleTimeoutMs: 2_234,
    });
  });

  it('lets no argument replace a credential or a header of the connection', async () => {
    const { tool, requests } = toolWith(() => ({}));
    await run(tool, { id: '1', api_key: 'mine', 'X-Run': 'forged' });
    expect(requests[0]?.url).toBe('http://tools.test:8000/api/echo/1?api_key=query%20secret');
    expect(requests[0]?.headers).toMatchObject({ 'x-run': 'run-1' });
    expect(Object.keys(requests[0]?.headers ?? {}).filter((name) => name.toLowerCase() === 'x-run')).toHaveLength(1);
  });

  it('tells the model which argument is wrong, without a call', async () => {
    const { tool, requests } = toolWith(() => ({}));
    expect(await run(tool, { id: '..' })).toMatchObject({
      type: 'error',
      code: 'args_invalid',
      message: expect.stringMatching(/^id: /) as string,
    });
    expect(requests).toEqual([]);
  });

  it.each<[OutboundFailure, string, string]>([
    ['denied', 'egress_denied', 'Set TOOL_SERVER_ALLOW'],
    ['timeout', 'tool_timeout', 'tools.test:8000 did not answer in time'],
    ['unreachable', 'tool_error', 'tools.test:8000 cannot be reached. Set'],
    ['cut', 'tool_error', 'it is not known whether the call took effect'],
    ['redirected', 'tool_error', 'redirected the request to another address'],
    ['invalid_request', 'tool_error', 'could not be sent'],
  ])('a way that fails with %s is the outcome %s', async (failure, code, message) => {
    const { tool } = toolWith(() => Promise.reject(new OutboundError(failure, 'Set TOOL_SERVER_ALLOW=http://tools.test:8000')));
    expect(await run(tool, { id: '1' })).toMatchObject({ type: 'error', code, message: expect.stringContaining(message) as string });
  });

  it.each<[OutboundFailure, unknown, string | undefined]>([
    ['denied', undefined, 'not_started'],
    ['unreachable', Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'not_started'],
    ['unreachable', Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }), 'outcome_unknown'],
    ['timeout', Object.assign(new Error('x'), { code: 'UND_ERR_CONNECT_TIMEOUT' }), 'not_started'],
    ['timeout', undefined, 'outcome_unknown'],
    ['cut', undefined, 'outcome_unknown'],
    ['redirected', undefined, undefined],
  ])('after %s (%s) what is known of the call is %s', async (failure, cause, state) => {
    const { tool } = toolWith(() => Promise.reject(new OutboundError(failure, 'x', cause)));
    const outcome = await run(tool, { id: '1' });
    expect(outcome.type === 'error' ? outcome.state : 'no error').toBe(state);
  });

  it('a connection that was closed without an answer is not told as a server that cannot be reached', async () => {
    const cause = Object.assign(new Error('x'), { code: 'ECONNRESET' });
    const { tool } = toolWith(() => Promise.reject(new OutboundError('unreachable', 'It closed the connection.', cause)));
    expect(await run(tool, { id: '1' })).toEqual({
      type: 'error',
      code: 'tool_error',
      message: 'The tool server tools.test:8000 did not answer; it is not known whether the call took effect. It closed the connection.',
      state: 'outcome_unknown',
    });
  });

  it('a connection that breaks amid the answer is an outcome too', async () => {
    const { tool } = toolWith(() => ({ body: ['{"a"', new OutboundError('cut', 'gone')] }));
    expect(await run(tool, { id: '1' })).toMatchObject({ type: 'error', code: 'tool_error' });
  });

  it('repeats no credential, whether the door or the server says it', async () => {
    const loud = 'GET /?api_key=query%20secret with Bearer very-secret-key and "query secret" failed';
    const door = await run(toolWith(() => Promise.reject(new OutboundError('unreachable', loud))).tool, { id: '1' });
    const server = await run(toolWith(() => ({ status: 401, body: loud })).tool, { id: '1' });
    for (const outcome of [door, server]) {
      expect(outcome).toMatchObject({ type: 'error', code: 'tool_error', message: expect.stringContaining('[secret]') as string });
      expect(JSON.stringify(outcome)).not.toMatch(/very-secret|query(?: |%20)secret/);
    }
  });

  it('hands on more than a model may read at once, because the loop cuts and keeps the rest', async () => {
    const { tool } = toolWith(() => ({ headers: { 'content-type': 'text/plain' }, body: ['x'.repeat(500)] }), { maxResultBytes: 100 });
    expect(tool.maxResultBytes).toBe(100);
    expect(await run(tool, { id: '1' })).toEqual({ type: 'result', value: 'x'.repeat(500) });
  });

  it.each<[string, string, Partial<OpenApiConnection>, RegExp]>([
    [
      'JSON',
      '{"args":{"api_key":"query secret"},"Bearer very-secret-key":["very-secret-key"],"run":"run-1"}',
      {},
      /very-secret|query secret/,
    ],
    ['text', 'GET /?api_key=query%20secret, authorization: Bearer very-secret-key', {}, /very-secret|query%20secret/],
    [
      'a header of any name',
      '{"x-tok":"named-by-auth-name"}',
      { headersFor: () => ({ 'x-tok': 'named-by-auth-name' }), key: 'named-by-auth-name' },
      /named-by/,
    ],
    [
      'a password',
      'welcome ada, your password is correct-horse',
      { headersFor: () => ({ authorization: `Basic ${btoa('ada:correct-horse')}` }) },
      /horse/,
    ],
  ])('shows no credential in a result that repeats it: %s', async (_what, body, overrides, secret) => {
    const headers = { 'content-type': body.startsWith('{') ? 'application/json' : 'text/plain' };
    const outcome = await run(toolWith(() => ({ headers, body }), overrides).tool, { id: '1' });
    expect(outcome.type).toBe('result');
    expect(JSON.stringify(outcome)).toContain('[secret]');
    expect(JSON.stringify(outcome)).not.toMatch(secret);
  });

  it('shows no credential in a file, nor in its name', async () => {
    const body = Buffer.from('\u0000\u0001\u00ffBearer very-secret-key', 'latin1').toString('latin1');
    const headers = { 'content-type': 'image/png', 'content-disposition': 'attachment; filename="very-secret-key.png"' };
    const { tool } = toolWith(() => ({ headers, body }));
    const outcome = await run(tool, { id: '1' });
    const [file] = outcome.type === 'result' ? (outcome.files ?? []) : [];
    expect(file).toMatchObject({ type: 'image/png', name: '[secret].png' });
    expect(Buffer.from(file?.url.split(',')[1] ?? '', 'base64').toString()).toMatch(/\*{22}$/);
    expect(outcome).toMatchObject({ value: file?.url });
  });

  it('leaves headers that are no credentials in results', async () => {
    const headersFor = (): Record<string, string> => ({ accept: 'application/json', 'x-chat': 'chat-number-one' });
    const body = '{"chat":"chat-number-one","type":"application/json"}';
    const { tool } = toolWith(() => ({ headers: { 'content-type': 'application/json' }, body }), { headersFor });
    expect(await run(tool, { id: '1' })).toMatchObject({ value: { chat: 'chat-number-one', type: 'application/json' } });
  });

  it('repeats no key that a link to the next page holds', async () => {
    const { tool } = toolWith(() => ({ headers: { link: '<http://tools.test/?api_key=query%20secret&page=2>; rel=next' }, body: 'x' }));
    expect(await run(tool, { id: '1' })).toEqual({
      type: 'result',
      value: 'x',
      note: 'Link: <http://tools.test/?api_key=[secret]&page=2>; rel=next',
    });
  });

  it('sends bytes as bytes', async () => {
    const file = { operationId: 'send', requestBody: { required: true, content: { 'application/octet-stream': {} } } };
    const { send, requests } = scriptedServer(() => ({}));
    const [operation] = convertOperations({ openapi: '3.1.0', paths: { '/file': { put: file } } }).operations;
    if (operation === undefined) throw new Error('not converted');
    const connection: OpenApiConnection = {
      baseUrlFor: () => 'http://tools.test',
      trust: { kind: 'configured', origin: 'http://tools.test' },
      send,
      headersFor: () => ({}),
      queryFor: () => ({}),
    };
    const tool = createOpenApiTool({ operation, offeredName: 'send', label: 's/send', server: 's', connection });
    await run(tool, { body: 'data:;base64,AP8=' });
    expect(requests[0]?.body).toEqual(Buffer.from([0, 255]));
    expect(requests[0]?.headers).toMatchObject({ 'content-type': 'application/octet-stream' });
    expect(tool).toMatchObject({ isReadOnly: false, isIdempotent: true });
  });

  it('adds the connection’s cookie to those that a model may set, and lets none stand for it', async () => {
    const parameters = ['theme', 'session'].map((name) => ({ name, in: 'cookie', schema: { type: 'string' } }));
    const { tool, requests } = toolWith(() => ({}), { headersFor: () => ({ Cookie: 'session=real' }) }, { parameters });
    await run(tool, { theme: 'dark', session: 'forged' });
    expect(requests[0]?.headers?.['cookie']).toBe('theme=dark; session=real');
  });

  it('hands the operation’s security to the connection', async () => {
    const asked: unknown[] = [];
    const headersFor: OpenApiConnection['headersFor'] = (_, security) => {
      asked.push(security);
      return {};
    };
    const { tool } = toolWith(() => ({}), { headersFor }, { security: [{ key: [] }] });
    await run(tool, {});
    expect(asked).toEqual([[[{ kind: 'header', name: 'X-Key' }]]]);
  });

  it('rejects with the reason of the signal, before and amid the call', async () => {
    const controller = new AbortController();
    const { tool, requests } = toolWith(silence);
    const running = run(tool, { id: '1' }, controller.signal);
    controller.abort(new Error('left'));
    await expect(running).rejects.toThrow('left');
    await expect(run(tool, { id: '1' }, controller.signal)).rejects.toThrow('left');
    expect(requests[0]?.signal).toBe(controller.signal);
  });

  it('takes a connection that the abort broke for the abort', async () => {
    const controller = new AbortController();
    const { tool } = toolWith(() => {
      controller.abort(new Error('left'));
      return { body: [new OutboundError('cut', 'aborted')] };
    });
    await expect(run(tool, { id: '1' }, controller.signal)).rejects.toThrow('left');
  });

  it('lets our own mistakes through: they are no outcome', async () => {
    const { tool } = toolWith(() => Promise.reject(new TypeError('bug')));
    await expect(run(tool, { id: '1' })).rejects.toThrow(TypeError);
  });
});
