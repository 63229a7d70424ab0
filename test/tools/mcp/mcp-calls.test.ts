import type { CallToolResult } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { callTool, mcpTools, mcpRecord, offerOf, requireTool } from './mcp-fixture.ts';
import { httpPeer, scriptedPeer, textResult, toolOf } from './scripted-peer.ts';

describe('tools of an MCP server', () => {
  it('are offered like all others, under their own names', async () => {
    const peer = scriptedPeer([toolOf('echo'), toolOf('what time?')]);
    const { tools, warnings } = await offerOf(mcpTools({ transports: peer.transports }));
    expect([...tools.keys()]).toEqual(['echo', 'what_time']);
    expect(tools.get('echo')).toMatchObject({ label: 'peer/echo', server: 'peer', kind: 'mcp', spec: { description: 'Does echo' } });
    expect(warnings).toEqual([]);
  });

  it('carry the id of their server where another one has the same name', async () => {
    const peer = scriptedPeer([toolOf('echo')]);
    const records = [mcpRecord({ id: 'alpha' }), mcpRecord({ id: 'beta' })];
    const { tools } = await offerOf(mcpTools({ records, transports: peer.transports }));
    expect([...tools].map(([name, tool]) => [name, tool.label])).toEqual([
      ['echo', 'alpha/echo'],
      ['beta_echo', 'beta/echo'],
    ]);
  });

  it('are called by the name the server gave them, with what was asked for', async () => {
    const peer = scriptedPeer([toolOf('what time?')], (name, args) => textResult(`${name} ${JSON.stringify(args)}`));
    const tool = await requireTool(mcpTools({ transports: peer.transports }), 'what_time');
    expect(await callTool(tool, { args: { city: 'Osaka' } })).toEqual({ type: 'result', value: 'what time? {"city":"Osaka"}' });
  });

  it('show approvers the address of the server, without the name of the tool in its path', async () => {
    const peer = scriptedPeer([toolOf('echo')]);
    const { endpoint } = await requireTool(mcpTools({ transports: peer.transports }), 'echo');
    expect(endpoint).toBe('tools/call http://peer.test/mcp');
  });

  it('share one connection over all chats', async () => {
    const peer = scriptedPeer([toolOf('echo')]);
    const mcp = mcpTools({ transports: peer.transports });
    for (const _chat of [1, 2, 3]) await callTool(await requireTool(mcp, 'echo'));
    expect(peer).toMatchObject({ connections: 1, calls: ['echo', 'echo', 'echo'] });
  });

  it('are told apart by what the filters of the connection say', async () => {
    const peer = scriptedPeer([toolOf('read', { annotations: { readOnlyHint: true } }), toolOf('write')]);
    const records = [mcpRecord({ extra: { config: { read_only: true } } })];
    expect([...(await offerOf(mcpTools({ records, transports: peer.transports }))).tools.keys()]).toEqual(['read']);
    const filtered = [mcpRecord({ functionFilter: ['!read'] })];
    expect([...(await offerOf(mcpTools({ records: filtered, transports: peer.transports }))).tools.keys()]).toEqual(['write']);
  });

  it('repeat nothing of the credential they were sent: in definitions, results, files, documents and words about progress', async () => {
    const key = 'canary-key-0001';
    const png = Buffer.from(`\u0000\u00ff${key}`).toString('base64');
    const peer = scriptedPeer(
      [
        toolOf('echo', {
          description: `uses ${key}`,
          inputSchema: { type: 'object', properties: { q: { type: 'string', default: key } } },
        }),
      ],
      async (_name, _args, { mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken ?? 'none';
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2, message: key } });
        const content = [
          { type: 'text' as const, text: key },
          { type: 'image' as const, mimeType: 'image/png', data: png },
          { type: 'resource' as const, resource: { uri: `file:///${key}`, text: key } },
          { type: 'resource' as const, resource: { uri: `file:///${key}.bin`, blob: png } },
        ];
        return { content };
      },
    );
    const records = [mcpRecord({ authType: 'bearer', key })];
    const tool = await requireTool(mcpTools({ records, transports: peer.transports }), 'echo');
    const told: string[] = [];
    const outcome = await callTool(tool, { context: { progress: async () => undefined, status: async (text) => void told.push(text) } });
    const files = (outcome.type === 'result' ? (outcome.files ?? []) : []).map(({ url }) =>
      Buffer.from(url.split(',')[1] ?? '', 'base64').toString(),
    );
    expect(files).toHaveLength(2);
    expect(JSON.stringify([tool.spec, outcome, told, files])).not.toContain(key);
    expect([tool.spec.description, told]).toEqual(['uses [secret]', ['[secret]']]);
  });

  it('report how far they are, and what they say of it', async () => {
    const peer = scriptedPeer([toolOf('slow')], async (_name, _args, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken ?? 'none';
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2, message: 'half' } });
      return textResult('done');
    });
    const told: unknown[] = [];
    const context = {
      progress: async (...amount: unknown[]) => void told.push(amount),
      status: async (text: string) => void told.push(text),
    };
    await callTool(await requireTool(mcpTools({ transports: peer.transports }), 'slow'), { context });
    expect(told).toEqual([[1, 2], 'half']);
  });

  it('are cancelled at the server when the call is', async () => {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const peer = scriptedPeer([toolOf('slow')], async (_name, _args, { mcpReq }) => {
      mcpReq.signal.addEventListener('abort', () => ended.resolve());
      begun.resolve();
      await ended.promise;
      return textResult('too late');
    });
    const leave = new AbortController();
    const call = callTool(await requireTool(mcpTools({ transports: peer.transports }), 'slow'), { signal: leave.signal });
    await begun.promise;
    leave.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await ended.promise;
  });

  it('tell their own errors under their own name', async () => {
    const peer = scriptedPeer([toolOf('fail')], () => ({ isError: true, content: [{ type: 'text', text: 'The disk is full' }] }));
    const tool = await requireTool(mcpTools({ transports: peer.transports }), 'fail');
    expect(await callTool(tool)).toEqual({
      type: 'error',
      code: 'tool_error',
      message: 'The MCP server "peer" reports an error: The disk is full',
    });
  });

  it('may not have the gateway ask a model', async () => {
    let refusal: unknown;
    const peer = scriptedPeer([toolOf('sample')], async (_name, _args, { mcpReq }) => {
      refusal = await mcpReq
        .send({ method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } })
        .catch((error: unknown) => error);
      return textResult('done');
    });
    expect(await callTool(await requireTool(mcpTools({ transports: peer.transports }), 'sample'))).toMatchObject({ type: 'result' });
    expect(refusal).toBeInstanceOf(Error);
  });

  it('whose results do not fit their own schema have run, and the model reads what is wrong', async () => {
    const outputSchema = { type: 'object' as const, properties: { degrees: { type: 'number' } }, required: ['degrees'] };
    let result: CallToolResult = { content: [], structuredContent: { degrees: 21 } };
    const peer = httpPeer([toolOf('weather', { outputSchema })], () => result);
    const tool = await requireTool(mcpTools({ send: peer.send }), 'weather');
    expect(await callTool(tool)).toEqual({ type: 'result', value: { degrees: 21 } });
    result = { content: [], structuredContent: { degrees: 'warm' } };
    const note = expect.stringMatching(/has run.*degrees/) as unknown;
    expect(await callTool(tool)).toEqual({ type: 'result', value: { degrees: 'warm' }, note, isMisfit: true });
    result = textResult('It is warm.');
    expect(await callTool(tool)).toMatchObject({
      type: 'result',
      value: 'It is warm.',
      note: expect.stringMatching(/has run.*no structured/),
    });
    result = { ...result, isError: true };
    expect(await callTool(tool)).toMatchObject({ type: 'error', message: expect.stringContaining('It is warm.') });
  });
});

describe('what a server asks the user', () => {
  const question = {
    message: 'Which city?',
    requestedSchema: { type: 'object' as const, properties: { city: { type: 'string' as const } } },
  };

  it('goes to the session behind the call, under the name of the server', async () => {
    const peer = scriptedPeer([toolOf('ask')], async (_name, _args, { mcpReq }) =>
      textResult(JSON.stringify(await mcpReq.elicitInput(question))),
    );
    const asked: unknown[] = [];
    const context = { ask: async (...words: unknown[]) => (asked.push(words), { city: 'Osaka' }) };
    const tool = await requireTool(mcpTools({ transports: peer.transports }), 'ask');
    const outcome = await callTool(tool, { run: { sessionId: 'session-1' }, context });
    expect(outcome).toEqual({ type: 'result', value: JSON.stringify({ action: 'accept', content: { city: 'Osaka' } }) });
    expect(asked).toEqual([['The tool server "peer" asks', { message: 'Which city?', schema: question.requestedSchema }]]);
  });

  it.each([
    ['there is no session', {}, { city: 'Osaka' }, 'decline'],
    ['the user gives nothing', { sessionId: 'session-1' }, undefined, 'decline'],
  ])('is declined when %s', async (_name, run, value, action) => {
    const peer = scriptedPeer([toolOf('ask')], async (_tool, _args, { mcpReq }) => textResult((await mcpReq.elicitInput(question)).action));
    const outcome = await callTool(await requireTool(mcpTools({ transports: peer.transports }), 'ask'), {
      run,
      context: { ask: async () => value },
    });
    expect(outcome).toMatchObject({ value: action });
  });

  it('is declined where calls of two callers are under way, because nobody may answer for the other', async () => {
    const both = Promise.withResolvers<void>();
    const peer = scriptedPeer([toolOf('ask')], async (_tool, _args, { mcpReq }) => {
      if (peer.calls.length === 2) both.resolve();
      await both.promise;
      return textResult((await mcpReq.elicitInput(question)).action);
    });
    const tool = await requireTool(mcpTools({ transports: peer.transports }), 'ask');
    const caller = (id: string) => ({
      run: { runId: id, sessionId: id, caller: { id, role: 'user' as const, isOpen: false } },
      context: { ask: async () => ({ city: id }) },
    });
    const outcomes = await Promise.all([callTool(tool, caller('ada')), callTool(tool, caller('bob'))]);
    // The second to be asked is alone by then, so that one may be answered; the first may not.
    expect(outcomes[0]).toMatchObject({ value: 'decline' });
  });

  it('is declined after a call of another caller was given up, which may be the one that it is about', async () => {
    const [begun, given, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const peer = scriptedPeer([toolOf('ask'), toolOf('wait')], async (name) => {
      if (name === 'wait') return textResult(await answered.promise);
      begun.resolve();
      await given.promise;
      return textResult('late');
    });
    const mcp = mcpTools({ transports: peer.transports });
    const asked: string[] = [];
    const caller = (id: string) => ({
      run: { runId: id, sessionId: id, caller: { id, role: 'user' as const, isOpen: false } },
      context: { ask: async () => (asked.push(id), { city: id }) },
    });
    const leaving = new AbortController();
    const left = callTool(await requireTool(mcp, 'ask'), { ...caller('ada'), signal: leaving.signal });
    await begun.promise;
    const waiting = callTool(await requireTool(mcp, 'wait'), caller('bob'));
    leaving.abort();
    await left.catch(() => undefined);
    answered.resolve(await peer.ask(question));
    expect(await waiting).toMatchObject({ value: 'decline' });
    expect(asked).toEqual([]);
    given.resolve();
  });
});
