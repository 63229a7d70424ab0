import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway, listen } from './function-gateway.ts';
import { textOfMessage } from '../gateway.ts';

const count = functionModule('count', {
  execute: '({ n }) => { globalThis.tell(n); return n + 1 }',
  parameters: 'z.object({ n: z.int() })',
});
const hooked = (hook: string, more = {}) => ({
  'count.js': count,
  '_hook.mjs': `import { ToolError, abort, changeArguments, changeMessages } from 'toolwharf';\n${hook}`,
  ...more,
});
const hooks = ['_hook.mjs'];

describe('a beforeModel hook', () => {
  it('that returns an assistant message replaces the question to the backend; its calls are run like a model’s [S0-2]', async () => {
    using listening = listen();
    const hook = `let asked = 0;
      export const beforeModel = ({ messages, model, tools }) => ++asked === 1
        ? { role: 'assistant', content: null, tool_calls: [{ id: 'h1', type: 'function', function: { name: tools[0].function.name, arguments: { n: messages.length } } }] }
        : { role: 'assistant', content: 'from the hook of ' + model };`;
    await using gateway = await functionGateway(hooked(hook), { hooks });
    const seen = await gateway.ask();
    expect([seen.text, seen.finish, listening.heard, gateway.model.requests.length]).toEqual(['from the hook of model', ['stop'], [1], 0]);
  });

  it('may change the messages of one question, and nothing changes when it returns nothing', async () => {
    const hook = `export const beforeModel = ({ messages }) => messages.length === 1 ? changeMessages([{ role: 'system', content: 'Be brief.' }, ...messages]) : undefined;`;
    await using gateway = await functionGateway(hooked(hook), { hooks, turns: [calls(['count', { n: 1 }]), says('ok')] });
    await gateway.ask();
    expect(gateway.model.requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
      ['system', 'user'],
      ['user', 'assistant', 'tool'],
    ]);
  });

  it('that puts messages behind results makes no call run again where the backend refuses tools from then on', async () => {
    using listening = listen();
    const hook = `export const beforeModel = ({ messages }) => changeMessages([...messages, { role: 'system', content: 'Be brief.' }]);`;
    const refusal = new GatewayError('tools_unsupported', 'does not support tools');
    await using gateway = await functionGateway(hooked(hook), { hooks, turns: [calls(['count', { n: 1 }]), [refusal], says('two')] });
    expect([(await gateway.ask()).text, listening.heard]).toEqual(['two', [1]]);
    expect(textOfMessage(gateway.model.requests[2]?.messages.find(({ role }) => role === 'user'))).toContain('Tool `count` Output: 2');
  });

  it('sees a chat without tools as well', async () => {
    const hook = `export const beforeModel = ({ tools }) => ({ role: 'assistant', content: 'tools: ' + tools.length });`;
    await using gateway = await functionGateway(hooked(hook), { hooks });
    expect((await gateway.ask({ tool_ids: [] })).text).toBe('tools: 0');
  });
});

describe('an afterModel hook', () => {
  it('may return other text, which is all that anybody reads [S0-3]', async () => {
    const hook = `export const afterModel = ({ message }) => ({ ...message, content: message.content.replace('secret', '***') });`;
    await using gateway = await functionGateway(hooked(hook), {
      hooks,
      turns: [
        [
          { type: 'text', text: 'the sec' },
          { type: 'text', text: 'ret' },
          { type: 'finish', reason: 'stop' },
        ],
      ],
    });
    const { raw, text } = await gateway.ask();
    expect(text).toBe('the ***');
    expect(raw).not.toContain('sec');
  });

  it('may return other calls, and take calls away: the run goes on with that message [S0-3]', async () => {
    using listening = listen();
    const hook = `export const afterModel = ({ message }) => {
      const [call] = message.tool_calls ?? [];
      if (call?.function.arguments === '{"n":1}') return { ...message, tool_calls: [{ ...call, function: { name: 'count', arguments: '{"n":7}' } }] };
      if (call !== undefined) return { role: 'assistant', content: 'No more calls.' };
    };`;
    await using gateway = await functionGateway(hooked(hook), { hooks, turns: [calls(['count', { n: 1 }]), calls(['count', { n: 2 }])] });
    const seen = await gateway.ask();
    expect([listening.heard, seen.text, seen.finish]).toEqual([[7], 'No more calls.', ['stop']]);
  });
});

describe('a beforeTool hook', () => {
  it('that returns a result replaces the execution: it is the result of the call, in the history as in the events, and the only one [S0-23, S0-28]', async () => {
    using listening = listen();
    const hook = `export const beforeTool = ({ name, arguments: args }) => ({ name, args, blocked: true });`;
    await using gateway = await functionGateway(hooked(hook), { hooks, turns: [calls(['count', { n: 1 }]), says('ok')] });
    const seen = await gateway.ask();
    const result = { name: 'count', args: { n: 1 }, blocked: true };
    expect(seen.eventsOf('tool.result')).toEqual([expect.objectContaining({ response: result, hook: true })]);
    const told = (gateway.model.requests[1]?.messages ?? []).filter(({ role }) => role === 'tool').map(textOfMessage);
    expect(told.map((text) => JSON.parse(text) as unknown)).toEqual([result]);
    expect(listening.heard).toEqual([]);
  });

  it.each<[string, string, number[], string]>([
    ['changes arguments', 'changeArguments({ n: args.n * 10 })', [10], '11'],
    [
      'changes them to what does not fit',
      `changeArguments({ n: 'many' })`,
      [],
      `{"error":"Invalid arguments for 'count': n: must be integer."}`,
    ],
    ['throws a ToolError', `(() => { throw new ToolError('Not now.') })()`, [], '{"error":"Not now."}'],
    ['returns nothing', 'undefined', [1], '2'],
  ])('that %s decides what the model reads', async (_, answer, heard, read) => {
    using listening = listen();
    const hook = `export const beforeTool = ({ arguments: args }) => ${answer};`;
    await using gateway = await functionGateway(hooked(hook), { hooks, turns: [calls(['count', { n: 1 }]), says('ok')] });
    await gateway.ask();
    expect(listening.heard).toEqual(heard);
    expect(textOfMessage(gateway.model.requests[1]?.messages.at(-1))).toBe(read);
  });
});

describe('an afterTool hook', () => {
  it('may return another result, which the model, the sources and the events see [S0-24]', async () => {
    const hook = `export const afterTool = ({ result, arguments: args }) => ({ result, args, audited: true });`;
    await using gateway = await functionGateway(hooked(hook), { hooks, turns: [calls(['count', { n: 1 }]), says('ok')] });
    using listening = listen();
    const seen = await gateway.ask();
    const result = { result: 2, args: { n: 1 }, audited: true };
    expect(seen.eventsOf('tool.result')[0]?.['response']).toEqual(result);
    expect(JSON.parse(textOfMessage(gateway.model.requests[1]?.messages.at(-1)))).toEqual(result);
    expect(JSON.parse(String([seen.sources[0]?.['document']].flat()[0]))).toEqual(result);
    expect(listening.heard).toEqual([1]);
  });

  const chart = `import { defineTool, withFiles } from 'toolwharf'; import { z } from 'zod';
    const file = { type: 'image/png', name: 'chart.png', data: new Uint8Array([1, 2, 3]) };
    const make = (name, execute) => defineTool({ name, description: name, parameters: z.object({}), execute });
    export default [
      make('described', () => withFiles({ rows: 3 }, [file])), make('bare', () => withFiles(undefined, [file])),
      make('last', (args, { stop }) => { stop(); return 1; }),
    ];`;

  it('that returns an object around the result keeps its files and what follows it; only the value is replaced [S0-24]', async () => {
    const hook = `export const afterTool = ({ result }) => typeof result === 'object' ? { ...result, audited: true } : { wrapped: result };`;
    const turns = [calls(['described', {}], ['bare', {}]), calls(['last', {}])];
    await using gateway = await functionGateway({ 'chart.mjs': chart, '_hook.mjs': hook }, { hooks, turns });
    const seen = await gateway.ask();
    expect(seen.eventsOf('tool.result')).toMatchObject([
      { response: { rows: 3, audited: true }, files: [{ name: 'chart.png', type: 'image/png' }] },
      { response: { wrapped: expect.stringContaining('chart.png') }, files: [{ name: 'chart.png' }] },
      { response: { wrapped: 1 } },
    ]);
    expect([seen.finish, gateway.model.requests.length]).toEqual([['stop'], 2]);
  });

  it('that takes the mention of a file out of a text withholds the file, and no other [S0-24]', async () => {
    const hook = `export const afterTool = ({ name, result }) => name === 'bare' ? 'withheld' : result;`;
    await using gateway = await functionGateway(
      { 'chart.mjs': chart, '_hook.mjs': hook },
      { hooks, turns: [calls(['bare', {}], ['described', {}]), says('ok')] },
    );
    const [bare, described] = (await gateway.ask()).eventsOf('tool.result');
    expect(bare).toMatchObject({ response: 'withheld' });
    expect(bare).not.toHaveProperty('files');
    expect(described).toMatchObject({ files: [{ name: 'chart.png' }] });
  });

  it('that returns an object around what find_tools has found leaves the functions found on offer [S0-24]', async () => {
    const many = `import { defineTool } from 'toolwharf'; import { z } from 'zod';
      export default Array.from({ length: 140 }, (_, i) =>
        defineTool({ name: 'zebra_' + i, description: 'Feeds zebra ' + i + (i === 139 ? ' quokka' : ''), parameters: z.object({}), execute: () => 'fed ' + i }));`;
    const hook = `export const afterTool = ({ result }) => typeof result === 'object' ? { ...result, audited: true } : undefined;`;
    const turns = [calls(['find_tools', { query: 'quokka' }]), calls(['zebra_139', {}]), says('ok')];
    await using gateway = await functionGateway({ 'many.mjs': many, '_hook.mjs': hook }, { hooks, turns });
    const seen = await gateway.ask();
    const namesIn = (turn: number): string[] => (gateway.model.requests[turn]?.tools ?? []).map(({ name }) => name);
    expect([namesIn(0).includes('zebra_139'), namesIn(1).includes('zebra_139')]).toEqual([false, true]);
    expect(seen.eventsOf('tool.result')).toMatchObject([{ response: { audited: true } }, { response: 'fed 139' }]);
  });

  it('runs after the state was kept, as the last step of a call [S0-14]', async () => {
    using listening = listen();
    const note = (step: string): string => `globalThis.tell('${step}')`;
    const source = functionModule('f', {
      parameters: `z.object({ n: z.int() }).refine(() => { ${note('check')}; return true })`,
      execute: `(args, { state }) => { ${note('execute')}; state.set('n', 1); return state.get('n') }`,
    });
    const hook = `export const beforeTool = () => void ${note('before')}; export const afterTool = ({ result }) => void globalThis.tell('after ' + result);`;
    await using gateway = await functionGateway(
      { 'f.js': source, '_hook.mjs': hook },
      { hooks, turns: [calls(['f', { n: 1 }]), says('ok')] },
    );
    await gateway.ask();
    expect(listening.heard).toEqual(['before', 'check', 'execute', 'after 1']);
  });
});

describe('hooks', () => {
  it.each([
    ['abort', 'export const beforeTool = () => abort("Office hours are over.");', 'Office hours are over.', 'refused_by_hook'],
    ['a failure', 'export const beforeTool = () => { throw new Error("CANARY") };', 'The hook \\"_hook.mjs\\" failed', 'hook_failed'],
  ])('by %s end the run', async (_, hook, message, code) => {
    using listening = listen();
    await using gateway = await functionGateway(hooked(hook), { hooks, turns: [calls(['count', { n: 1 }])] });
    const { raw, finish } = await gateway.ask();
    expect(finish).toEqual([]);
    expect(raw).toContain(message);
    expect(raw).toContain(code);
    expect(raw).not.toContain('CANARY');
    expect(listening.heard).toEqual([]);
  });

  it('whose policy is to ignore failures change nothing by one, and it is logged', async () => {
    const hook = `export const onFailure = 'ignore'; export const afterModel = () => { throw new Error('broken') };`;
    await using gateway = await functionGateway(hooked(hook), { hooks, turns: [says('ok')] });
    expect((await gateway.ask()).text).toBe('ok');
    expect(gateway.app.logLines.filter((line) => line.includes('a hook failed') && line.includes('broken'))).toHaveLength(1);
  });

  it('stand before functions that are invoked without a model', async () => {
    await using gateway = await functionGateway(hooked(`export default { beforeTool: () => 'from the hook' };`), { hooks });
    expect((await gateway.invoke('count', { n: 1 })).body['result']).toBe('from the hook');
  });

  it.each([
    ['export const beforModel = 1;', /exports no hook; export one of these functions: beforeModel, afterModel/],
    ['export const beforeModel = 1;', /beforeModel is not a function/],
    ['throw new Error("no key")', /_hook\.mjs: no key; correct it, or remove it from hooks/],
    ['export const onFailure = "retry"; export const beforeTool = () => {};', /onFailure must be "ignore" or "abort"/],
  ])('that cannot be loaded stop the start: %s', async (hook, expected) => {
    await expect(functionGateway({ '_hook.mjs': hook }, { hooks })).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(expected),
    });
  });
});
