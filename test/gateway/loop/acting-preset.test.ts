import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway, listen } from '../functions/function-gateway.ts';
import type { FunctionGateway } from '../functions/function-gateway.ts';

const tellWho = (where: string, context = 'context'): string =>
  `globalThis.tell(['${where}', ${context}.preset ?? 'none', ${context}.model ?? 'none'])`;

const who = functionModule('who', {
  execute: `(args, context) => { ${tellWho('execute')} }`,
  more: `
    isEnabled: (context) => { ${tellWho('isEnabled')}; return true },
    needsApproval: (args, context) => { ${tellWho('needsApproval')}; return false },
    inputGuardrails: [(args, context) => void ${tellWho('input')}],
    outputGuardrails: [(result, context) => void ${tellWho('output')}]`,
});
const failing = functionModule('failing', {
  execute: `() => { throw new ToolError('no') }`,
  more: `onError: (error, context) => { ${tellWho('onError')}; return error.message }`,
});

async function withPresets(gateway: FunctionGateway, presets: JsonObject[]): Promise<void> {
  for (const payload of presets) {
    const created = await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers: { host: '127.0.0.1' }, payload });
    expect(created.statusCode).toBe(201);
  }
}

const clerk = { id: 'clerk', base_model: 'model', tools: ['function:who', 'function:failing'] };

describe('who is acting', () => {
  it('is told to functions, their guardrails and their conditions: the preset, and the model as the request named it [S0-20, S2-8, S2-12]', async () => {
    using listening = listen();
    await using gateway = await functionGateway(
      { 'a.js': who, 'b.js': failing },
      { turns: [calls(['who', {}], ['failing', {}]), says('ok'), calls(['who', {}]), says('ok')] },
    );
    await withPresets(gateway, [clerk]);
    // Saving a preset checks its tools.
    listening.heard.length = 0;
    await gateway.ask({ model: 'clerk' });
    const places = ['isEnabled', 'needsApproval', 'input', 'execute', 'output', 'onError'];
    expect(listening.heard).toEqual(places.map((place) => [place, 'clerk', 'clerk']));
    listening.heard.length = 0;
    await gateway.ask();
    expect(listening.heard).toContainEqual(['execute', 'none', 'model']);
  });

  it('is the other preset after a hand-off and within a preset that was called as a tool; the model stays the named one [S0-20, S2-15]', async () => {
    using listening = listen();
    const hook = `export const beforeTool = ({ name }, context) => { if (name === 'who') ${tellWho('hook')} };
      export const beforeModel = ({ model }, context) => void globalThis.tell(['asked', context.preset, model]);`;
    const presets = [
      clerk,
      { id: 'front', base_model: 'model', tools: ['preset:clerk'], sub_agents: ['clerk'] },
      { id: 'top', base_model: 'front', sub_agents: ['clerk'] },
    ];
    const turns = [
      calls(['clerk', { request: 'x' }]),
      calls(['who', {}]),
      says('mine'),
      calls(['transfer_to_agent', { agent: 'clerk' }]),
      calls(['who', {}]),
      says('ok'),
    ];
    await using gateway = await functionGateway({ 'a.js': who, 'b.js': failing, '_hook.mjs': hook }, { hooks: ['_hook.mjs'], turns });
    await withPresets(gateway, presets);
    expect((await gateway.ask({ model: 'top' })).text).toBe('ok');
    const told = (where: string) => listening.heard.filter((each) => Array.isArray(each) && each[0] === where);
    expect([...told('execute'), ...told('hook')]).toEqual([
      ['execute', 'clerk', 'top'],
      ['execute', 'clerk', 'top'],
      ['hook', 'clerk', 'top'],
      ['hook', 'clerk', 'top'],
    ]);
    expect(told('asked').map((each) => (each as string[])[1])).toEqual(['top', 'clerk', 'clerk', 'top', 'clerk', 'clerk']);
  });
});

describe('a hook module that names presets', () => {
  const hook = (presets: string): string => `export const presets = ${presets};
    export const beforeTool = ({ name }) => name === 'who' ? 'blocked' : undefined;
    export const afterModel = ({ message }) => ({ ...message, content: (message.content ?? '') + '!' });`;

  it('is asked while one of them answers, or one that is based on it, and in no other chat [S0-1, S0-23]', async () => {
    const turns = ['clerk', 'senior', 'other'].flatMap(() => [calls(['who', {}]), says('ok')]);
    await using gateway = await functionGateway(
      { 'a.js': functionModule('who', { execute: '() => "ran"' }), '_hook.mjs': hook("['clerk']") },
      { hooks: ['_hook.mjs'], turns },
    );
    const presets = [
      { id: 'clerk', base_model: 'model', tools: ['function:who'] },
      { id: 'senior', base_model: 'clerk' },
      { id: 'other', base_model: 'model', tools: ['function:who'] },
    ];
    await withPresets(gateway, presets);
    const answered: unknown[] = [];
    for (const { id } of presets) {
      const seen = await gateway.ask({ model: id });
      answered.push([id, seen.eventsOf('tool.result')[0]?.['response'], seen.text]);
    }
    expect(answered).toEqual([
      ['clerk', 'blocked', '!\n\nok!'],
      ['senior', 'blocked', '!\n\nok!'],
      ['other', 'ran', 'ok'],
    ]);
  });

  it.each(["'clerk'", '[]', '[1]', "['']"])('with %s for presets stops the start, and the error names the module', async (presets) => {
    await expect(functionGateway({ '_hook.mjs': hook(presets) }, { hooks: ['_hook.mjs'] })).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(/_hook\.mjs: presets must be a list of ids/),
    });
  });
});
