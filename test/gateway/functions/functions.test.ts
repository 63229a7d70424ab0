import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { listen as listenAt } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway, listen } from './function-gateway.ts';
import { question, textOfMessage } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const imports = `import { defineTool, defineToolset, ToolError, noReply } from 'toolwharf';\nimport { z } from 'zod';\n`;

/** What the model was offered when it was asked for the `turn`th time. */
function offered({ model }: Gateway, turn = 0): string[] {
  return (model.requests[turn]?.tools ?? []).map(({ name }) => name);
}

/** What the model read last. */
function lastRead({ model }: Gateway): string {
  return textOfMessage(model.requests.at(-1)?.messages.at(-1));
}

describe('a function in this process', () => {
  it('is offered under the name, the description and the parameters of its definition, whatever its module exports it as [S0-5, S0-6, S0-8, S3-1]', async () => {
    const parameters = "z.object({ city: z.string().describe('In English'), days: z.int().default(3), unit: z.string().optional() })";
    const files = { 'my-file.js': functionModule('get_weather', { parameters }) };
    await using gateway = await functionGateway(files, { turns: [says('ok')] });
    await gateway.ask();
    expect(gateway.model.requests[0]?.tools).toEqual([
      {
        name: 'get_weather',
        description: 'Does get_weather',
        parameters: {
          type: 'object',
          properties: {
            city: { type: 'string', description: 'In English' },
            days: { type: 'integer', default: 3 },
            unit: { type: 'string' },
          },
          required: ['city'],
        },
      },
    ]);
  });

  it('written in plain JSON Schema has its defaults filled in too, and further ones in its code [S0-10]', async () => {
    const parameters = `{ type: 'object', required: ['sql'], properties: {
      sql: { type: 'string' }, dialect: { type: 'string', default: 'sqlite' }, limit: { type: 'integer' } } }`;
    const execute = '({ sql, dialect, limit = 100, ...rest }) => [sql, dialect, limit, rest]';
    const files = { 'a.js': functionModule('query_database', { parameters, execute }) };
    const turns = [calls(['query_database', { sql: 'a' }]), calls(['query_database', { sql: 'b', dialect: 'x', limit: 5 }]), says('ok')];
    await using gateway = await functionGateway(files, { turns });
    const seen = await gateway.ask();
    expect(seen.eventsOf('tool.result').map(({ response }) => response)).toEqual([
      ['a', 'sqlite', 100, {}],
      ['b', 'x', 5, {}],
    ]);
  });

  it('runs with its defaults filled in, and its result is cited under its name [S0-10]', async () => {
    const parameters = 'z.object({ city: z.string(), days: z.int().default(3) })';
    const files = { 'a.js': functionModule('get_weather', { parameters, execute: '(args) => args' }) };
    await using gateway = await functionGateway(files, { turns: [calls(['get_weather', { city: 'Rome' }]), says('ok')] });
    const { sources } = await gateway.ask();
    expect(JSON.parse(lastRead(gateway))).toEqual({ city: 'Rome', days: 3 });
    expect(sources.map(({ source }) => source)).toEqual([{ name: 'TOOL:get_weather' }]);
  });

  it('may be one of several that code has made, each with its own name, schema, bound value and time limit [S0-9, S3-12]', async () => {
    const source = `${imports}
      const setter = (field) => defineTool({
        name: 'set_' + field, description: 'Sets the ' + field, timeoutMs: 500,
        parameters: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
        execute: (args) => field + ' is ' + args[field],
      });
      export const setters = ['phone', 'email'].map(setter);`;
    const turns = [calls(['set_phone', { phone: '1' }], ['set_email', { email: 'a@b' }]), says('ok')];
    await using gateway = await functionGateway({ 'a.mjs': source }, { turns });
    const seen = await gateway.ask();
    expect(offered(gateway)).toEqual(['set_phone', 'set_email']);
    expect(seen.eventsOf('tool.result').map(({ response }) => response)).toEqual(['phone is 1', 'email is a@b']);
  });

  it('gets its context from the gateway alone: an argument that a model calls context is an argument like others [S0-19, S0-20, S2-4]', async () => {
    const execute = '(args, context) => ({ args, runId: context.runId.length, user: context.user })';
    const parameters = "{ type: 'object', properties: { context: { type: 'string' } } }";
    await using gateway = await functionGateway(
      { 'a.js': functionModule('f', { parameters, execute }) },
      { turns: [calls(['f', { context: 'mine' }]), says('ok')] },
    );
    await gateway.ask();
    expect(JSON.parse(lastRead(gateway))).toEqual({ args: { context: 'mine' }, runId: 32, user: { id: 'local', role: 'user' } });
    expect(JSON.stringify(gateway.model.requests[0]?.tools)).not.toContain('runId');
  });

  it('gets arguments of a near type as its schema has them, in every mode [S0-7]', async () => {
    const parameters = 'z.object({ count: z.int(), isLong: z.boolean(), tags: z.array(z.string()) })';
    const written = { count: '5', isLong: 'true', tags: '["a"]' };
    for (const mode of ['native', 'default']) {
      const first = mode === 'native' ? calls(['f', written]) : says(JSON.stringify({ tool_calls: [{ name: 'f', parameters: written }] }));
      await using gateway = await functionGateway(
        { 'a.js': functionModule('f', { parameters, execute: '(args) => args' }) },
        { turns: [first, says('ok')] },
      );
      const [result] = (await gateway.ask({ params: { function_calling: mode } })).eventsOf('tool.result');
      expect(result).toMatchObject({ response: { count: 5, isLong: true, tags: ['a'] } });
    }
  });

  it('has a time limit of its own that comes before that of the request [S0-21]', async () => {
    const execute = '() => new Promise(() => {})';
    await using gateway = await functionGateway(
      { 'a.js': functionModule('f', { execute, more: 'timeoutMs: 20' }), 'b.js': functionModule('g', { execute }) },
      { turns: [calls(['f', {}]), calls(['g', {}]), says('ok')] },
    );
    const seen = await gateway.ask({ params: { tool_timeout_ms: 30 } });
    expect(seen.eventsOf('tool.result')).toMatchObject([
      { error: { message: "Tool 'f' timed out after 0.02s" } },
      { error: { message: "Tool 'g' timed out after 0.03s" } },
    ]);
  });

  it('has guardrails that know who asks, and what [S0-20]', async () => {
    using listening = listen();
    const guardrail = '(_, { user, chatId, messages }) => globalThis.tell([user.id, chatId, messages.map(({ content }) => content)])';
    const more = `inputGuardrails: [${guardrail}], outputGuardrails: [${guardrail}]`;
    await using gateway = await functionGateway({ 'a.js': functionModule('f', { more }) }, { turns: [calls(['f', {}]), says('ok')] });
    await gateway.ask({ chat_id: 'c1', messages: [{ role: 'user', content: 'Go' }] });
    expect(listening.heard).toEqual([
      ['local', 'c1', ['Go']],
      ['local', 'c1', ['Go']],
    ]);
  });

  it('that states no description is left out, and none is guessed from its source [S0-5]', async () => {
    const source = `import { defineTool } from 'toolwharf';
      export default defineTool({ name: 'f', parameters: { type: 'object', properties: {} }, /** Opens the door. */ execute: function opens() { return 1; } });`;
    await using gateway = await functionGateway({ 'a.js': source, 'b.js': functionModule('g') }, { turns: [says('ok')] });
    await gateway.ask();
    expect(gateway.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['g']);
    expect(gateway.app.logLines.filter((line) => line.includes('description is missing'))).not.toEqual([]);
  });

  it('knows chat, model, files and messages, so that it can search the conversation so far [S0-20, S0-26]', async () => {
    const execute = `(args, { chatId, model, files, messages }) =>
      ({ chatId, model, files, found: messages.filter(({ content }) => content.includes('blue')).map(({ role }) => role) })`;
    await using gateway = await functionGateway({ 'a.js': functionModule('f', { execute }) }, { turns: [calls(['f', {}]), says('ok')] });
    await gateway.ask({
      chat_id: 'c1',
      files: [{ type: 'text', name: 'n.txt', content: 'x' }],
      messages: [
        { role: 'user', content: 'I like blue' },
        { role: 'assistant', content: 'Noted' },
        { role: 'user', content: 'What do I like?' },
      ],
    });
    const read = JSON.parse(lastRead(gateway)) as object;
    expect(read).toEqual({ chatId: 'c1', model: 'model', files: [{ name: 'n.txt', content: 'x' }], found: ['user'] });
  });

  it('may return its result or a promise, and throw or reject [S2-21]', async () => {
    const source = `${imports}
      const make = (name, execute) => defineTool({ name, description: name, parameters: z.object({}), execute });
      export default [
        make('now', () => 1), make('later', async () => 2),
        make('throws', () => { throw new ToolError('no') }), make('rejects', async () => { throw new ToolError('no') }),
      ];`;
    const turns = [calls(['now', {}], ['later', {}], ['throws', {}], ['rejects', {}]), says('ok')];
    await using gateway = await functionGateway({ 'a.js': source }, { turns });
    const results = (await gateway.ask()).eventsOf('tool.result');
    expect(results.map(({ response, error }) => response ?? (error as { message: string }).message)).toEqual([1, 2, 'no', 'no']);
  });

  it('tells the model the message of a ToolError; any other exception is masked and logged with an id [S3-17]', async () => {
    const files = {
      'a.js': functionModule('f', { execute: "() => { throw new ToolError('The city is closed.') }" }),
      'b.js': functionModule('g', { execute: "() => { throw new Error('password 123') }" }),
    };
    await using gateway = await functionGateway(files, { turns: [calls(['f', {}], ['g', {}]), says('ok')] });
    const { raw } = await gateway.ask();
    const [told, masked] = (gateway.model.requests[1]?.messages ?? []).slice(-2).map(textOfMessage);
    expect(told).toBe('{"error":"The city is closed."}');
    const id = /internal error \(id (\w+)\)/.exec(masked ?? '')?.[1];
    expect(raw).not.toContain('password');
    expect(gateway.app.logLines.filter((line) => id !== undefined && line.includes(id) && line.includes('password 123'))).toHaveLength(1);
  });

  /** Ends the run with these words, or is told to the model with those. */
  async function outcomeOf(execute: string, more: string): Promise<{ ended: string } | { told: string }> {
    await using gateway = await functionGateway(
      { 'a.js': functionModule('f', { execute, more }) },
      { turns: [calls(['f', {}]), says('ok')] },
    );
    const { raw, finish, text } = await gateway.ask();
    if (finish.length === 0) return { ended: /"message":"(.*?)","type/.exec(raw.slice(raw.lastIndexOf('"error"')))?.[1] ?? raw };
    expect(text).toBe('ok');
    return { told: lastRead(gateway) };
  }

  it('with guardrails has its arguments or its result refused, with a message to the model or by ending the run [S2-12]', async () => {
    using listening = listen();
    const execute = '() => globalThis.tell("ran") ?? 5';
    expect(await outcomeOf(execute, 'inputGuardrails: [() => undefined, () => ({ reject: "Not this." })]')).toEqual({
      told: '{"error":"Not this."}',
    });
    expect(await outcomeOf(execute, 'inputGuardrails: [() => ({ abort: "Not today." })]')).toEqual({
      ended: "A guardrail of 'f' ended the run: Not today.",
    });
    expect(listening.heard).toEqual([]);
    const output = (verdict: string): string => `outputGuardrails: [(result) => result > 3 ? ${verdict} : undefined]`;
    expect(await outcomeOf(execute, output('{ reject: "Too much." }'))).toEqual({ told: '{"error":"Too much."}' });
    expect(await outcomeOf(execute, output('{ abort: "Enough." }'))).toEqual({ ended: "A guardrail of 'f' ended the run: Enough." });
    expect(await outcomeOf('() => 2', output('{ abort: "Enough." }'))).toEqual({ told: '2' });
    expect(await outcomeOf(execute, 'inputGuardrails: [() => { throw new Error("broken") }]')).toEqual({
      told: expect.stringContaining('internal error'),
    });
  });

  it('whose time limit was passed is told to the model, or ends the run, as timeoutBehavior says [S2-13]', async () => {
    const endless = '() => new Promise(() => {})';
    const told = { told: `{"error":"Tool 'f' timed out after 0.02s"}` };
    expect(await outcomeOf(endless, 'timeoutMs: 20')).toEqual(told);
    expect(await outcomeOf(endless, 'timeoutMs: 20, timeoutBehavior: "result"')).toEqual(told);
    expect(await outcomeOf(endless, 'timeoutMs: 20, timeoutBehavior: "abort"')).toEqual({
      ended: expect.stringMatching(/^Tool 'f' timed out after 0.02s, and/),
    });
  });

  it('that throws an error which throws when it is read is masked like any other', async () => {
    const throwing = (field: string): string =>
      `() => { throw Object.defineProperty(new Error('x'), '${field}', { get() { throw new Error('never'); } }); }`;
    const fields = ['message', 'name', 'stack', 'cause'];
    const files = Object.fromEntries(fields.map((field) => [`${field}.js`, functionModule(field, { execute: throwing(field) })]));
    const turns = [calls(...fields.map((field): [string, object] => [field, {}])), says('ok')];
    await using gateway = await functionGateway(files, { turns });
    const seen = await gateway.ask();
    expect(seen.text).toBe('ok');
    expect(seen.eventsOf('tool.result').map(({ error }) => error)).toEqual(
      fields.map(() => expect.objectContaining({ code: 'tool_internal_error' })),
    );
  });

  it('that throws is a result, the end of the run, or the text of a function, as onError says [S2-14]', async () => {
    const throwing = '() => { throw new ToolError("closed") }';
    expect(await outcomeOf(throwing, '')).toEqual({ told: '{"error":"closed"}' });
    expect(await outcomeOf(throwing, 'onError: "result"')).toEqual({ told: '{"error":"closed"}' });
    expect(await outcomeOf(throwing, 'onError: "abort"')).toEqual({ ended: "The tool 'f' ended the run: closed" });
    expect(await outcomeOf(throwing, 'onError: (error) => "Mind: " + error.message')).toEqual({ told: '{"error":"Mind: closed"}' });
  });

  it('that is off, by its condition or for throwing in it, is invisible; conditions are asked all at once [S2-8, S2-10]', async () => {
    const source = `${imports}
      let asked = 0, release;
      const all = new Promise((resolve) => { release = resolve });
      const together = async (answer) => { if (++asked === 3) release(); await all; return answer() };
      const make = (name, isEnabled) => defineTool({ name, description: name, parameters: z.object({}), execute: () => 1, isEnabled });
      export default [
        make('on', ({ model }) => together(() => model === 'model')), make('off', () => together(() => false)),
        make('broken', () => together(() => { throw new Error('x') })), make('never', false),
      ];`;
    await using gateway = await functionGateway({ 'a.js': source }, { turns: [says('ok')] });
    await gateway.ask();
    expect(offered(gateway)).toEqual(['on']);
    expect(gateway.app.logLines.filter((line) => line.includes('isEnabled of a function failed'))).toHaveLength(1);
  });

  it('with other options has them in force: order, caching, default [S2-8]', async () => {
    const source = `${imports}
      let running = 0, count = 0;
      const alone = async () => { running++; await new Promise(setImmediate); return running-- };
      export default [
        defineTool({ name: 'alone', description: 'a', parameters: z.object({ n: z.int() }), sequential: true, execute: alone }),
        defineTool({ name: 'cached', description: 'c', parameters: z.object({}), cacheTtlMs: 1000, execute: () => ++count }),
        defineTool({ name: 'hidden', description: 'h', parameters: z.object({}), default: false, execute: () => 1 }),
      ];`;
    const turns = [calls(['alone', { n: 1 }], ['alone', { n: 2 }], ['cached', {}]), calls(['cached', {}]), says('ok'), says('ok')];
    await using gateway = await functionGateway({ 'a.js': source }, { turns });
    const results = (await gateway.ask()).eventsOf('tool.result');
    expect(results.map(({ response }) => response)).toEqual([1, 1, 1, 1]);
    expect(offered(gateway)).toEqual(['alone', 'cached']);
    await gateway.ask({ tool_ids: ['function:hidden'] });
    expect(offered(gateway, 3)).toEqual(['hidden']);
  });

  it('that consumes files leaves them out of the context once it was called [S2-8, S4-38]', async () => {
    const execute = '(args, { files }) => files.length';
    await using gateway = await functionGateway(
      { 'a.js': functionModule('f', { execute, more: 'consumesFiles: true' }) },
      { turns: [calls(['f', {}]), says('ok')] },
    );
    await gateway.ask({ files: [{ type: 'text', name: 'n.txt', content: 'CANARY' }] });
    const has = (turn: number): boolean => JSON.stringify(gateway.model.requests[turn]?.messages).includes('CANARY');
    expect([has(0), has(1)]).toEqual([true, false]);
    expect(lastRead(gateway)).toBe('1');
  });

  it('may decide by its arguments whether a call waits for approval [S2-8, S2-11]', async () => {
    const parameters = 'z.object({ amount: z.number() })';
    const more = 'needsApproval: ({ amount }) => amount > 10';
    const files = { 'a.js': functionModule('pay', { parameters, execute: '({ amount }) => amount', more }) };
    await using gateway = await functionGateway(files, { turns: [calls(['pay', { amount: 5 }]), calls(['pay', { amount: 50 }])] });
    const seen = await gateway.ask();
    expect(seen.eventsOf('tool.result')).toMatchObject([{ response: 5 }]);
    expect(seen.eventsOf('approval.request')).toMatchObject([{ tool: 'pay', args: { amount: 50 } }]);
  });

  it('with strict is offered in the strict form, and in its plain one to a backend that is not to have it [S2-8, S2-9]', async () => {
    await using gateway = await functionGateway({ 'a.js': functionModule('f', { more: 'strict: true' }) }, { turns: [says('ok')] });
    await gateway.ask();
    expect(gateway.model.requests[0]?.tools[0]).toMatchObject({ name: 'f', strict: true });
  });

  it('that returns noReply() ends the run without another question; stop() does so with a result [S0-20, S3-5]', async () => {
    const files = {
      'a.js': functionModule('silent', { execute: '() => noReply()' }),
      'b.js': functionModule('last', { execute: '(args, context) => { context.stop(); return 1 }' }),
    };
    await using gateway = await functionGateway(files, { turns: [calls(['silent', {}]), calls(['last', {}])] });
    const silent = await gateway.ask();
    expect([silent.finish, silent.sources]).toEqual([['stop'], []]);
    const last = await gateway.ask();
    expect([last.finish, last.sources.length, gateway.model.requests.length]).toEqual([['stop'], 1, 2]);
  });
});

describe('a function that hands over', () => {
  const other = { id: 'other', base_model: 'model', system: 'You are the other one.', tools: ['function:recall'] };
  const files = {
    'a.js': functionModule('plain', { execute: "(args, { state }) => { state.set('word', 'blue'); return handoff('other') }" }),
    'b.js': functionModule('telling', { execute: "() => handoff('other', { order: 5 })" }),
    'c.js': functionModule('recall', { execute: "(args, { state, messages }) => [state.get('word'), messages.length]" }),
  };
  const handedOver = async (first: string, turns: Parameters<typeof says>[0][]) => {
    const script = [calls([first, {}]), calls(['recall', {}]), ...turns.map(says)];
    const gateway = await functionGateway(files, { turns: script });
    const headers = { host: '127.0.0.1:8080' };
    await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers, payload: other });
    const seen = await gateway.ask({ chat_id: 'c' });
    return { gateway, seen };
  };

  it('lets the run continue under that preset, with the same conversation and state [S0-20, S3-6, S3-16]', async () => {
    const { gateway, seen } = await handedOver('plain', ['I am the other one.']);
    await using _ = gateway;
    expect([seen.text, seen.finish]).toEqual(['I am the other one.', ['stop']]);
    const messages = gateway.model.requests[1]?.messages ?? [];
    expect([textOfMessage(messages[0]), textOfMessage(messages[1]), offered(gateway, 1)]).toEqual([
      'You are the other one.',
      question,
      ['recall'],
    ]);
    expect(seen.eventsOf('tool.result').at(-1)?.['response']).toEqual(['blue', expect.any(Number)]);
  });

  it('hands its result over where there is one [S3-6]', async () => {
    const { gateway } = await handedOver('telling', ['ok']);
    await using _ = gateway;
    const results = (gateway.model.requests[1]?.messages ?? []).filter(({ role }) => role === 'tool').map(textOfMessage);
    expect(results.map((text) => JSON.parse(text) as unknown)).toEqual([{ order: 5 }]);
  });
});

describe('a function that needs approval', () => {
  it('by its definition, or for these arguments, does not run without one [S2-8]', async () => {
    using listening = listen();
    const files = {
      'a.js': functionModule('always', { execute: '() => globalThis.tell("always")', more: 'needsApproval: true' }),
      'b.js': functionModule('some', {
        parameters: 'z.object({ amount: z.int().default(500) })',
        execute: '({ amount }) => amount',
        more: 'needsApproval: ({ amount }) => amount > 100',
      }),
    };
    await using gateway = await functionGateway(files);
    const refused = { status: 409, body: expect.objectContaining({ error: expect.objectContaining({ code: 'approval_required' }) }) };
    expect(await gateway.invoke('always')).toEqual(refused);
    expect(await gateway.invoke('some')).toEqual(refused);
    expect((await gateway.invoke('some', { amount: 5 })).body['result']).toBe(5);
    expect(listening.heard).toEqual([]);
  });
});

it('calls of a round whose order does not matter run side by side, and a sequential function beside none of them [S1-22]', async () => {
  const source = `${imports}
    let running = 0;
    const most = async () => { running += 1; const seen = running; for (let i = 0; i < 5; i += 1) await new Promise(setImmediate); running -= 1; return seen };
    const make = (name, sequential) => defineTool({ name, description: name, sequential, parameters: z.object({ n: z.int() }), execute: most });
    export default [make('beside', false), make('alone', true)];`;
  const turns = [
    calls(['beside', { n: 1 }], ['beside', { n: 2 }], ['alone', { n: 3 }], ['beside', { n: 4 }], ['beside', { n: 5 }]),
    says('ok'),
  ];
  await using gateway = await functionGateway({ 'a.js': source }, { turns });
  const results = (await gateway.ask()).eventsOf('tool.result');
  expect(results.map(({ response }) => response)).toEqual([1, 2, 1, 1, 2]);
});

it('a function with cacheTtlMs is not executed again for equal arguments of the same caller within that time [S1-23]', async () => {
  let now = 1_000_000;
  const source = `${imports}let count = 0;
    export default defineTool({ name: 'f', description: 'f', cacheTtlMs: 1000, parameters: z.object({ n: z.int().default(1) }), execute: () => ++count });`;
  await using gateway = await functionGateway({ 'a.js': source }, { now: () => now });
  const result = async (args: object): Promise<unknown> => (await gateway.invoke('f', args)).body['result'];
  expect([await result({ n: 1 }), await result({ n: 1 }), await result({ n: 2 })]).toEqual([1, 1, 2]);
  now += 1_001;
  expect(await result({ n: 1 })).toBe(3);
});

describe('the state of a chat', () => {
  const count = `async (args, { state, signal }) => {
    const n = (state.get('n') ?? 0) + 1;
    state.set('n', n);
    if (args.fail === 'throw') throw new Error('x');
    return n;
  }`;
  const files = {
    'a.js': functionModule('count', { execute: count, parameters: 'z.object({ fail: z.string().optional(), i: z.int().optional() })' }),
  };

  it('is there at the next call of the same caller and chat, for nobody else, and is kept only after success [S0-14, S0-20, S3-18]', async () => {
    const round = (fail?: string) => [calls(['count', fail === undefined ? {} : { fail }]), says('ok')];
    await using gateway = await functionGateway(files, { turns: [...round(), ...round('throw'), ...round(), ...round(), ...round()] });
    const ask = async (chat?: string): Promise<unknown> => {
      const seen = await gateway.ask(chat === undefined ? {} : { chat_id: chat });
      return seen.eventsOf('tool.result')[0]?.['response'];
    };
    expect([await ask('a'), await ask('a'), await ask('a'), await ask('b'), await ask()]).toEqual([1, undefined, 2, 1, 1]);
  });

  const sideBySide = (execute: string) =>
    functionModule('add', { execute, parameters: 'z.object({ n: z.string() })', more: 'parallel: true' });
  const reading = functionModule('read', { execute: "(args, { state }) => state.get('all')" });
  /** What is kept after three calls of one round that ran side by side. */
  async function keptBy(execute: string): Promise<unknown> {
    const turns = [calls(['add', { n: 'a' }], ['add', { n: 'b' }], ['add', { n: 'c' }]), calls(['read', {}]), says('ok')];
    await using gateway = await functionGateway({ 'a.js': sideBySide(execute), 'b.js': reading }, { turns });
    return (await gateway.ask({ chat_id: 'c' })).eventsOf('tool.result').at(-1)?.['response'];
  }
  const adding = "state.set('all', [...(state.get('all') ?? []), n].toSorted())";

  it('is not kept by a call whose result a guardrail rejects or ends the run for [S0-14]', async () => {
    const execute = '({ v }, { state }) => { const before = state.get("v") ?? "nothing"; state.set("v", v); return before; }';
    const guardrail =
      '(result, { state }) => state.get("v") === "bad" ? { reject: "Not this." } : state.get("v") === "worst" ? { abort: "Enough." } : undefined';
    const more = `outputGuardrails: [${guardrail}]`;
    const turns = ['good', 'bad', 'worst', 'good'].flatMap((v) => [calls(['f', { v }]), ...(v === 'worst' ? [] : [says('ok')])]);
    await using gateway = await functionGateway(
      { 'a.js': functionModule('f', { parameters: 'z.object({ v: z.string() })', execute, more }) },
      { turns },
    );
    const results = [];
    for (let turn = 0; turn < 4; turn += 1) results.push((await gateway.ask({ chat_id: 'c' })).eventsOf('tool.result')[0]);
    expect(results).toMatchObject([{ response: 'nothing' }, { error: { message: 'Not this.' } }, undefined, { response: 'good' }]);
  });

  it('loses nothing of calls side by side: not of those that read and set without waiting, nor where a function makes the new value [S0-14, S0-20]', async () => {
    expect(await keptBy(`async ({ n }, { state }) => { ${adding} }`)).toEqual(['a', 'b', 'c']);
    const wait = 'await new Promise((resolve) => setTimeout(resolve, 5))';
    const update = "state.set('all', (all = []) => [...all, n].toSorted()); if (!state.get('all').includes(n)) throw new Error('unseen')";
    expect(await keptBy(`async ({ n }, { state }) => { ${wait}; ${update}; ${wait} }`)).toEqual(['a', 'b', 'c']);
  });

  it('as a call reads it is what others have saved by now, until the call sets the same key; other keys stay as others left them [S0-14]', async () => {
    const meanwhile = `({ n }, { state }) => {
      if (n !== 'a') { state.set('all', n); state.set(n, 1); return; }
      state.set('own', 1);
      const before = state.get('all');
      return new Promise((resolve) => setTimeout(resolve, 20)).then(() => {
        state.set('all', [before ?? 'nothing', state.get('all'), state.get('b'), state.get('c'), state.get('own')]);
        state.set('c', undefined);
      });
    }`;
    expect(await keptBy(meanwhile)).toEqual(['nothing', 'c', 1, 1, 1]);
  });

  it('can be read by the conditions of functions, and what onError sets in it is not kept [S0-20, S2-8]', async () => {
    const source = `${imports}
      const make = (name, execute, more) => defineTool({ name, description: name, parameters: z.object({}), execute, ...more });
      export default [
        make('unlock', (args, { state }) => state.set('open', true)),
        make('vault', () => 'gold', { isEnabled: ({ state }) => state.get('open') === true, needsApproval: (args, { state }) => state.get('open') !== true }),
        make('broken', () => { throw new Error('x') }, { onError: (error, { state }) => { state.set('open', false); return 'mended ' + state.get('open') } }),
      ];`;
    const turns = [calls(['unlock', {}]), says('ok'), calls(['broken', {}]), says('ok'), calls(['vault', {}]), says('ok')];
    await using gateway = await functionGateway({ 'a.js': source }, { turns });
    for (let chat = 0; chat < 2; chat += 1) await gateway.ask({ chat_id: 'c' });
    expect(lastRead(gateway)).toBe('{"error":"mended false"}');
    await gateway.ask({ chat_id: 'c' });
    expect([offered(gateway, 0), offered(gateway, 2), lastRead(gateway)]).toEqual([
      ['unlock', 'broken'],
      ['unlock', 'vault', 'broken'],
      'gold',
    ]);
  });

  it('has limits, which a function is told by an error', async () => {
    const execute = "(args, { state }) => { try { state.set('k', 'x'.repeat(70_000)) } catch (error) { return error.message } }";
    await using gateway = await functionGateway({ 'a.js': functionModule('f', { execute }) });
    expect((await gateway.invoke('f')).body['result']).toMatch(/at most 65536 characters/);
  });
});

describe('functions by id', () => {
  const files = {
    'a.js': functionModule('solo', { execute: '() => "solo"' }),
    'b.js': `${imports}
      const make = (name, result) => defineTool({ name, description: name, parameters: z.object({}), execute: () => result });
      export default defineToolset({ id: 'home', tools: [make('light', 'on'), make('door', 'shut')] });
      export const off = defineToolset({ id: 'garden', default: false, tools: [make('water', 'flows')] });`,
  };

  it('are listed, invoked and chosen: function:<name>, toolset:<id>, toolset:<id>/<name> [S3-14]', async () => {
    const turns = [says('ok'), says('ok'), says('ok')];
    await using gateway = await functionGateway(files, { turns });
    const { data } = (await gateway.get('/api/tools')).json<{ data: { id: string }[] }>();
    expect(data.map(({ id }) => id).toSorted()).toEqual([
      'function:solo',
      'toolset:garden/water',
      'toolset:home/door',
      'toolset:home/light',
    ]);
    for (const id of ['solo', 'function:solo', 'toolset:home/door', 'door']) expect((await gateway.invoke(id)).status).toBe(200);
    expect((await gateway.invoke('toolset:garden/water')).body).toMatchObject({
      id: 'toolset:garden/water',
      tool: 'water',
      result: 'flows',
    });
    await gateway.ask();
    await gateway.ask({ tool_ids: ['toolset:garden', 'function:light'] });
    await gateway.ask({ tool_ids: ['toolset:home/door'] });
    expect([offered(gateway, 0), offered(gateway, 1), offered(gateway, 2)]).toEqual([
      ['solo', 'light', 'door'],
      ['water', 'light'],
      ['door'],
    ]);
  });

  it.each(['function:nope', 'toolset:nope', 'toolset:home/nope'])('an unknown one is a 400 that names the known ones: %s', async (id) => {
    await using gateway = await functionGateway(files);
    const { status, raw } = await gateway.ask({ tool_ids: [id] });
    expect(status).toBe(400);
    expect(raw).toMatch(/"tool_ids: .*is not known. Known functions are: function:solo/);
    expect((await gateway.invoke(id)).status).toBe(404);
  });

  it('in toolsets of the configuration belong to several without being defined again, and are switched with them [S3-11, S3-14]', async () => {
    const set = (id: string, tools: string[] | undefined, isEnabled: boolean) => ({
      id,
      ...(tools && { tools }),
      isEnabled,
      isDefault: undefined,
    });
    const toolsets = [set('one', ['solo'], true), set('two', ['solo', 'light'], false), set('home', undefined, false)];
    await using gateway = await functionGateway(files, { toolsets, turns: [says('ok'), says('ok')] });
    await gateway.ask();
    await gateway.ask({ tool_ids: ['toolset:one', 'toolset:home'] });
    expect([offered(gateway, 0), offered(gateway, 1)]).toEqual([['solo'], ['solo']]);
  });

  it('are served to MCP clients', async () => {
    await using gateway = await functionGateway(files);
    const url = await listenAt(gateway.app);
    const client = new Client({ name: 'tester', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(['door', 'light', 'solo', 'water']);
    expect((await client.callTool({ name: 'solo', arguments: {} })).content).toEqual([{ type: 'text', text: 'solo' }]);
    await client.close();
  });

  it('a key that is limited to some sees and uses these alone', async () => {
    await using gateway = await functionGateway(files, { environment: { TOOLWHARF_ADMIN_KEY: 'admin' } });
    const inject = (method: 'GET' | 'POST', url: string, key: string, payload?: object) =>
      gateway.app.server.inject({ method, url, headers: { authorization: `Bearer ${key}` }, ...(payload && { payload }) });
    const made = await inject('POST', '/api/keys', 'admin', { name: 'ada', role: 'user', tools: ['toolset:home/door', 'function:solo'] });
    const { key } = made.json<{ key: string }>();
    const { data } = (await inject('GET', '/api/tools', key)).json<{ data: { name: string }[] }>();
    expect(data.map(({ name }) => name).toSorted()).toEqual(['door', 'solo']);
    const body = { model: 'model', messages: [{ role: 'user', content: 'x' }], tool_ids: ['function:light'] };
    expect((await inject('POST', '/v1/chat/completions', key, body)).statusCode).toBe(403);
  });
});
