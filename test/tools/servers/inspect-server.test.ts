import { afterEach, describe, expect, it } from 'vitest';
import { OutboundError } from '../../../src/core/errors.ts';
import type { ToolServerInspector } from '../../../src/core/tools/tool-server-report.ts';
import { estimateFunctionTokens } from '../../../src/tools/definitions/lazy-spec.ts';
import { createServerInspector } from '../../../src/tools/servers/inspect-server.ts';
import { firstRetryMs } from '../../../src/tools/servers/reconnect-servers.ts';
import { createRegisteredServers } from '../../../src/tools/servers/registered-servers.ts';
import type { RegisteredServers } from '../../../src/tools/servers/registered-servers.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { documentWith, jsonResponse, neverAnswers, scriptedSend } from '../scripted-send.ts';
import type { ScriptedAnswer, ScriptedSend } from '../scripted-send.ts';

const documentUrl = 'http://127.0.0.1:9001/openapi.json';
const never = new AbortController().signal;
const opened: RegisteredServers[] = [];
afterEach(() => {
  for (const servers of opened.splice(0)) servers.close();
});

function inspect(answer: ScriptedAnswer): { script: ScriptedSend; servers: RegisteredServers; inspector: ToolServerInspector } {
  const script = scriptedSend({ [documentUrl]: answer });
  const servers = createRegisteredServers({ send: script.send, now: () => 0 });
  opened.push(servers);
  return { script, servers, inspector: createServerInspector({ servers, send: script.send }) };
}

describe('a report on a tool server', () => {
  it('names functions, operations, sizes, and what was renamed, left out or is odd', async () => {
    const document = documentWith('now', 'né w', 'hidden');
    const odd = { ...document, paths: { ...(document['paths'] as object), '/raw': { head: { responses: {} } } } };
    const { inspector, servers } = inspect(odd);
    const record = toolServerRecord({ functionFilter: ['!hidden'] });
    const report = await inspector.verify(record, never);
    expect(report).toMatchObject({
      ok: true,
      info: { title: 'Clocks' },
      version: '3.1.0',
      renamed: [{ from: 'né w', to: 'ne_w', reason: expect.any(String) }],
      omitted: [
        { operation: 'HEAD /raw', reason: 'HEAD operations are not offered' },
        { operation: 'GET /hidden', reason: 'function_name_filter_list blocks it' },
      ],
    });
    expect(report.functions.map(({ name, operation }) => `${name}: ${operation}`)).toEqual(['now: GET /now', 'ne_w: GET /n%C3%A9%20w']);
    expect(report.tokens).toBe(report.functions.reduce((sum, { tokens }) => sum + tokens, 0));
    expect(servers.stateOf(record)).toBeUndefined();
  });

  it('is there without asking anybody, once the server was loaded', async () => {
    const { inspector, servers, script } = inspect(documentWith('now'));
    const record = toolServerRecord();
    expect(inspector.reportOf(record)).toBeUndefined();
    await servers.open(record, never);
    expect(inspector.reportOf(record)).toMatchObject({ ok: true, functions: [{ name: 'now' }] });
    expect(script.requests).toHaveLength(1);
  });

  it.each<[string, ScriptedAnswer, object]>([
    ['is down', new OutboundError('unreachable', 'ECONNREFUSED'), {}],
    ['has no document', { hello: 'world' }, {}],
    ['speaks what this version does not', documentWith('now'), { type: 'mcp' }],
  ])('says why, when the server %s, and is no exception', async (_case, answer, fields) => {
    const { inspector } = inspect(answer);
    const record = toolServerRecord(fields);
    for (const report of [await inspector.verify(record, never), await inspector.refresh(record, never), inspector.reportOf(record)])
      expect(report).toMatchObject({ ok: false, error: expect.stringMatching(/./), functions: [], tokens: 0 });
  });

  it('keeps the functions of before when a refresh fails, and gives them up for a document that works', async () => {
    const { inspector, servers, script } = inspect(documentWith('now'));
    const record = toolServerRecord();
    await inspector.refresh(record, never);
    script.answers.set(documentUrl, new OutboundError('cut', 'cut off'));
    const failed = await inspector.refresh(record, never);
    expect(failed).toMatchObject({ ok: false, error: expect.stringContaining('cut off'), functions: [{ name: 'now' }] });
    expect(inspector.reportOf(record)).toEqual(failed);
    expect((await servers.open(record, never)).type).toBe('opened');
    script.answers.set(documentUrl, documentWith('later'));
    expect(await inspector.refresh(record, never)).toMatchObject({ ok: true, functions: [{ name: 'later' }] });
    expect(inspector.reportOf(record)).toMatchObject({ ok: true });
  });

  it.each([401, 403])('says that the server wants a credential, or another one (%i)', async (status) => {
    const { inspector } = inspect(async () => jsonResponse({ error: 'no' }, status));
    expect(await inspector.verify(toolServerRecord(), never)).toMatchObject({ ok: false, credential: 'refused' });
  });

  it.each([404, 500])('says no such thing of other failures (%i)', async (status) => {
    const { inspector } = inspect(async () => jsonResponse({ error: 'no' }, status));
    expect(await inspector.verify(toolServerRecord(), never)).not.toHaveProperty('credential');
  });

  it('says when a server that failed is tried again by itself, later each time', async () => {
    let time = 0;
    const script = scriptedSend({ [documentUrl]: new OutboundError('unreachable', 'ECONNREFUSED') });
    const servers = createRegisteredServers({ send: script.send, now: () => time });
    opened.push(servers);
    const inspector = createServerInspector({ servers, send: script.send, now: () => time });
    const record = toolServerRecord();
    expect(await inspector.refresh(record, never)).toMatchObject({ ok: false, nextTryMs: firstRetryMs });
    time = 4_000;
    expect(inspector.reportOf(record)).toMatchObject({ nextTryMs: firstRetryMs - 4_000 });
    expect(await inspector.refresh(record, never)).toMatchObject({ nextTryMs: 2 * firstRetryMs });
    script.answers.set(documentUrl, documentWith('now'));
    expect(await inspector.refresh(record, never)).not.toHaveProperty('nextTryMs');
  });

  it('lets chats go on with the functions of before while a refresh waits', async () => {
    const { inspector, servers, script } = inspect(documentWith('now'));
    const record = toolServerRecord();
    await servers.open(record, never);
    script.answers.set(documentUrl, neverAnswers);
    const leave = new AbortController();
    const waiting = inspector.refresh(record, leave.signal);
    expect((await servers.open(record, never)).type).toBe('opened');
    leave.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  });

  it.each<[string, Parameters<typeof toolServerRecord>[0], boolean]>([
    ['no credential', { authType: 'none', key: '', headers: {} }, true],
    ['a bearer key that is empty', { authType: 'bearer', key: '', headers: {} }, true],
    ['a key', { authType: 'bearer', key: 'abc', headers: {} }, false],
    ['a header of its own', { authType: 'none', key: '', headers: { 'x-key': 'abc' } }, false],
    ['a session', { authType: 'session', key: '', headers: {} }, false],
  ])('says that the document wants a credential where the connection has %s', async (_, connection, isSaid) => {
    const securitySchemes = { Bearer: { type: 'http', scheme: 'bearer' }, Key: { type: 'apiKey', in: 'header', name: 'X-Key' } };
    const locked = { ...documentWith('now'), components: { securitySchemes }, security: [{ Bearer: [] }, { Key: [] }] };
    const { warnings } = await inspect(locked).inspector.verify(toolServerRecord(connection), never);
    expect(warnings.filter((line) => line.includes('credentials (a bearer key, header X-Key)'))).toHaveLength(isSaid ? 1 : 0);
    const open = await inspect(documentWith('now')).inspector.verify(toolServerRecord(connection), never);
    expect(open.warnings.join()).not.toContain('credential');
  });

  it('holds no secret, even where the server writes it into its document', async () => {
    const echo = { ...documentWith('now'), info: { title: 'secret-key', 'x-secret-value': ['Bearer secret-key', 'secret-value!'] } };
    const { inspector } = inspect(echo);
    const record = toolServerRecord({ key: 'secret-key', authType: 'bearer', headers: { 'x-a': 'secret-value' } });
    const report = await inspector.verify(record, never);
    expect(report.info).toEqual({ title: '[secret]', 'x-[secret]': ['[secret]', '[secret]!'] });
  });
});

it('a function is as large as its JSON, at four characters a token', () => {
  const small = { name: 'now', description: 'Time', parameters: { type: 'object' } };
  const text = '{"type":"function","function":{"name":"now","description":"Time","parameters":{"type":"object"}}}';
  expect(estimateFunctionTokens(small)).toBe(Math.ceil(text.length / 4));
});
