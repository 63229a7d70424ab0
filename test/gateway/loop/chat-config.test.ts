import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { memoryStores } from '../../_support/memory-stores.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import type { FunctionGateway } from '../functions/function-gateway.ts';
import { question, selects, textOfMessage } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';

const parameters = '{ type: "object", properties: { to: {} } }';
const changing = (name: string, execute: string): string => functionModule(name, { parameters, execute });
const files = {
  'a.js': changing('set_tools', "async ({ to }, { updateTools }) => { await updateTools(to ?? undefined); return 'changed' }"),
  'b.js': changing('add_tools', 'async ({ to }, { tools, updateTools }) => { await updateTools([...tools, ...to]); return tools }'),
  'c.js': changing('instruct', "async ({ to }, { updateInstructions }) => { await updateInstructions(to ?? undefined); return 'changed' }"),
  'd.js': changing(
    'fail',
    "async ({ to }, { updateTools, updateInstructions }) => { await updateTools(to); await updateInstructions('x'); throw new ToolError('no') }",
  ),
  'e.js': functionModule('light', { more: 'default: false' }),
  'f.js': functionModule('door', { more: 'default: false' }),
};
const defaults = ['set_tools', 'add_tools', 'instruct', 'fail'];

function offered({ model }: Gateway, turn: number): string[] {
  return (model.requests[turn]?.tools ?? []).map(({ name }) => name);
}

function systemAt({ model }: Gateway, turn: number): string | undefined {
  const first = model.requests[turn]?.messages[0];
  return first?.role === 'system' ? textOfMessage(first) : undefined;
}

const gatewayWith = async (turns: ScriptStep[][], presets: JsonObject[] = [], more = {}): Promise<FunctionGateway> => {
  const gateway = await functionGateway(files, { turns, ...more });
  for (const payload of presets) {
    const created = await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers: { host: '127.0.0.1' }, payload });
    expect(created.statusCode).toBe(201);
  }
  return gateway;
};

/** Asks, and approves the call that the run then waits with. */
async function approveIn(gateway: FunctionGateway, body: JsonObject): Promise<LightMyRequestResponse> {
  const { raw } = await gateway.ask({ ...body, stream: false, stream_options: null });
  const { approval } = JSON.parse(raw) as { approval: { run_id: string; calls: { id: string; token: string }[] } };
  const [call] = approval.calls;
  return gateway.app.server.inject({
    method: 'POST',
    url: `/api/runs/${approval.run_id}/approvals/${call?.id}`,
    headers: { host: '127.0.0.1' },
    payload: { decision: 'approve', token: call?.token },
  });
}

describe('updateTools', () => {
  it('replaces the tools from the next round on and for the chat; the run tells what came and went [S3-10, S3-15]', async () => {
    const turns = [
      calls(['set_tools', { to: ['function:light', 'function:set_tools'] }]),
      calls(['light', {}]),
      says('ok'),
      ...['b', 'c', 'd'].map(says),
    ];
    await using gateway = await gatewayWith(turns);
    const seen = await gateway.ask({ chat_id: 'a' });
    expect([offered(gateway, 0), offered(gateway, 1)]).toEqual([defaults, ['light', 'set_tools']]);
    const change = {
      created: expect.stringMatching(/^\d{4}-.*Z$/),
      tool_ids: ['function:light', 'function:set_tools'],
      tools: 2,
      functions: ['light', 'set_tools'],
      added: ['light'],
      removed: ['add_tools', 'instruct', 'fail'],
    };
    expect(seen.eventsOf('config.update')).toEqual([change]);
    expect(seen.eventsOf('tool.result').map(({ response }) => response)).toEqual(['changed', 'done']);
    const { data } = (await gateway.get('/api/runs')).json<{ data: { id: string }[] }>();
    const { events } = (await gateway.get(`/api/runs/${data[0]?.id}`)).json<{ events: { type: string; data: JsonObject }[] }>();
    expect(events.filter(({ type }) => type === 'config.update').map((event) => event.data)).toEqual([change]);

    const later = await gateway.ask({ chat_id: 'a' });
    expect(offered(gateway, 3)).toEqual(['light', 'set_tools']);
    expect(later.eventsOf('run.start')).toMatchObject([{ model: 'model', functions: ['light', 'set_tools'] }]);
    expect(later.eventsOf('config.update')).toEqual([{ created: change.created, tool_ids: change.tool_ids }]);
    await gateway.ask({ chat_id: 'another' });
    await gateway.ask();
    expect([offered(gateway, 4), offered(gateway, 5)]).toEqual([defaults, defaults]);
  });

  it('can build upon what is there, and goes back to the tools of the request [S3-10]', async () => {
    const turns = [calls(['add_tools', { to: ['function:light'] }]), calls(['set_tools', { to: null }]), says('ok'), says('ok')];
    await using gateway = await gatewayWith(turns);
    const seen = await gateway.ask({ chat_id: 'a' });
    expect(seen.eventsOf('tool.result')[0]?.['response']).toEqual(defaults.map((name) => `function:${name}`));
    expect([offered(gateway, 1).toSorted(), offered(gateway, 2)]).toEqual([[...defaults, 'light'].toSorted(), defaults]);
    expect((await gateway.ask({ chat_id: 'a' })).eventsOf('config.update')).toEqual([]);
    expect(offered(gateway, 3)).toEqual(defaults);
  });

  it('names what is unknown, and a call that fails changes nothing [S3-10]', async () => {
    const turns = [
      calls(['set_tools', { to: ['function:light', 'function:nope'] }], ['fail', { to: ['function:light'] }], ['set_tools', { to: 'x' }]),
      says('ok'),
      says('ok'),
    ];
    await using gateway = await gatewayWith(turns);
    const seen = await gateway.ask({ chat_id: 'a' });
    expect(seen.eventsOf('tool.result').map(({ error }) => (error as JsonObject)['message'])).toEqual([
      expect.stringMatching(/^tool_ids: "function:nope" is not known\. Known functions are: function:set_tools/),
      'no',
      expect.stringContaining('internal error'),
    ]);
    expect(seen.eventsOf('config.update')).toEqual([]);
    await gateway.ask({ chat_id: 'a' });
    expect([offered(gateway, 1), offered(gateway, 2), systemAt(gateway, 2)]).toEqual([defaults, defaults, undefined]);
  });

  it('cannot reach beyond what the key may use, and means nothing outside of a chat [S3-10]', async () => {
    await using gateway = await gatewayWith([calls(['set_tools', { to: ['function:light'] }]), says('ok')], [], {
      environment: { TOOLWHARF_ADMIN_KEY: 'admin' },
    });
    const inject = (url: string, key: string, payload: object) =>
      gateway.app.server.inject({ method: 'POST', url, headers: { authorization: `Bearer ${key}` }, payload });
    const { key } = (await inject('/api/keys', 'admin', { name: 'ada', role: 'user', tools: ['function:set_tools'] })).json<{
      key: string;
    }>();
    await inject('/v1/chat/completions', key, { model: 'model', messages: [{ role: 'user', content: question }], chat_id: 'a' });
    expect(textOfMessage(gateway.model.requests[1]?.messages.at(-1))).toContain('this key may not use');
    const invoked = (await inject('/api/tools/set_tools/invoke', key, { arguments: { to: [] } })).json<JsonObject>();
    expect(invoked['error']).toMatchObject({ message: expect.stringContaining('Call it in a chat') });
  });

  it('with no tools left lets the model answer from what it knows', async () => {
    await using gateway = await gatewayWith([calls(['set_tools', { to: [] }]), says('ok')]);
    expect((await gateway.ask({ chat_id: 'a' })).text).toBe('ok');
    expect(offered(gateway, 1)).toEqual([]);
  });

  it('stands before the same tool_ids of later requests, and after a list that was chosen anew [S3-10]', async () => {
    const asked = ['function:set_tools', 'function:door'];
    const turns = [calls(['set_tools', { to: ['function:light'] }]), ...['a', 'b', 'c', 'd'].map(says)];
    await using gateway = await gatewayWith(turns);
    await gateway.ask({ chat_id: 'a', tool_ids: asked });
    await gateway.ask({ chat_id: 'a', tool_ids: asked.toReversed() });
    await gateway.ask({ chat_id: 'a' });
    const anew = await gateway.ask({ chat_id: 'a', tool_ids: ['function:door'] });
    expect([1, 2, 3, 4].map((turn) => offered(gateway, turn))).toEqual([['light'], ['light'], ['light'], ['door']]);
    expect(anew.eventsOf('config.update')).toEqual([]);
  });

  it('in a mode by a prompt holds for the next request [S3-10]', async () => {
    const turns = [selects(['set_tools', { to: ['function:light'] }]), says('ok'), selects(['light', {}]), says('ok')];
    await using gateway = await gatewayWith(turns);
    const ask = () => gateway.ask({ chat_id: 'a', params: { function_calling: 'default' } });
    expect((await ask()).eventsOf('config.update')).toMatchObject([{ added: ['light'] }]);
    expect((await ask()).eventsOf('tool.result')).toMatchObject([{ tool: 'light', response: 'done' }]);
  });

  it('within a preset that is used as a tool holds for that work alone', async () => {
    const clerk = { id: 'clerk', base_model: 'model', tools: ['function:set_tools'] };
    const turns = [
      calls(['clerk', { request: 'x' }]),
      calls(['set_tools', { to: ['function:light'] }]),
      says('mine'),
      says('ok'),
      says('ok'),
    ];
    await using gateway = await gatewayWith(turns, [clerk]);
    const seen = await gateway.ask({ chat_id: 'a', tool_ids: ['preset:clerk'] });
    expect(seen.eventsOf('config.update')).toMatchObject([{ within: expect.any(String), added: ['light'] }]);
    await gateway.ask({ chat_id: 'a', tool_ids: ['preset:clerk'] });
    expect([2, 3, 4].map((turn) => offered(gateway, turn))).toEqual([['light'], ['clerk'], ['clerk']]);
  });

  it('survives a restart; a tool that is gone by then is left out with a warning [S3-15]', async () => {
    const { noteStores, database } = memoryStores();
    {
      await using gateway = await gatewayWith([calls(['set_tools', { to: ['function:light', 'function:door'] }]), says('ok')], [], {
        noteStores,
      });
      await gateway.ask({ chat_id: 'a' });
    }
    const { 'f.js': _door, ...left } = files;
    await using gateway = await functionGateway(left, { turns: [says('ok'), says('ok')], noteStores });
    const seen = await gateway.ask({ chat_id: 'a' });
    expect([seen.text, offered(gateway, 0)]).toEqual(['ok', ['light']]);
    expect(seen.eventsOf('warning')).toMatchObject([{ code: 'unknown_tool_id', message: expect.stringContaining('function:door') }]);
    expect((await gateway.ask({ chat_id: 'a' })).eventsOf('warning')).toEqual([]);
    await database.close();
  });
});

describe('updateInstructions', () => {
  const clerk = { id: 'clerk', base_model: 'model', system: 'You are a clerk.' };
  const own = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: question },
  ];

  it('takes the place of the preset’s system prompt from the next round on and for the chat, beside the caller’s own [S3-15]', async () => {
    const turns = [
      calls(['instruct', { to: 'You are a pirate.' }]),
      says('ok'),
      says('ok'),
      calls(['instruct', { to: null }]),
      says('ok'),
      says('ok'),
    ];
    await using gateway = await gatewayWith(turns, [clerk]);
    const seen = await gateway.ask({ model: 'clerk', chat_id: 'a', messages: own });
    expect(seen.eventsOf('config.update')).toEqual([
      { created: expect.any(String), instructions: 'You are a pirate.', tools: 4, functions: defaults, added: [], removed: [] },
    ]);
    const later = await gateway.ask({ model: 'clerk', chat_id: 'a' });
    expect(later.eventsOf('config.update')).toEqual([{ created: expect.any(String), instructions: 'You are a pirate.' }]);
    const back = await gateway.ask({ model: 'clerk', chat_id: 'a', messages: own });
    expect(back.eventsOf('config.update')).toMatchObject([{ instructions: 'You are a pirate.' }, { instructions: null }]);
    await gateway.ask({ model: 'clerk', chat_id: 'a' });
    expect([0, 1, 2, 3, 4, 5].map((turn) => systemAt(gateway, turn))).toEqual([
      'You are a clerk.\n\nBe brief.',
      'You are a pirate.\n\nBe brief.',
      'You are a pirate.',
      'You are a pirate.\n\nBe brief.',
      'You are a clerk.\n\nBe brief.',
      'You are a clerk.',
    ]);
    expect(gateway.model.requests[1]?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
  });

  it('comes before the files of the request, and to a chat without a preset, whose messages stay as they are', async () => {
    const turns = [calls(['instruct', { to: 'You are a pirate.' }]), says('ok')];
    await using gateway = await gatewayWith(turns);
    await gateway.ask({ chat_id: 'a', files: [{ type: 'text', name: 'n.txt', content: 'CANARY' }] });
    expect(systemAt(gateway, 1)).toMatch(/CANARY[^]*You are a pirate\./);
    expect(gateway.model.requests[1]?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
  });

  it('lasts for the run without a chat_id, and leaves hidden tasks alone', async () => {
    const turns = [
      calls(['instruct', { to: 'Ahoy.' }]),
      says('ok'),
      says('ok'),
      calls(['instruct', { to: 'Ahoy.' }]),
      says('ok'),
      says('A title'),
    ];
    await using gateway = await gatewayWith(turns);
    await gateway.ask();
    await gateway.ask();
    await gateway.ask({ chat_id: 'a' });
    await gateway.ask({ chat_id: 'a', metadata: { task: 'title_generation' } });
    expect([1, 2, 4, 5].map((turn) => systemAt(gateway, turn))).toEqual(['Ahoy.', undefined, 'Ahoy.', undefined]);
  });
});

describe('a hand-over', () => {
  const presets = [
    { id: 'front', base_model: 'model', system: 'You are the desk.', tools: ['function:door'], sub_agents: ['billing'] },
    {
      id: 'billing',
      base_model: 'model',
      system: 'You are billing.',
      tools: ['function:light', 'function:set_tools'],
      sub_agents: ['front'],
    },
  ];
  const to = (agent: string): ScriptStep[] => calls(['transfer_to_agent', { agent }]);

  it('lasts for the chat until the conversation is handed back, and each run tells [S3-6, S3-15, S3-16]', async () => {
    const turns = [
      to('billing'),
      says('Billing.'),
      says('Still billing.'),
      to('front'),
      says('Desk.'),
      says('Still the desk.'),
      says('New.'),
    ];
    await using gateway = await gatewayWith(turns, presets);
    const ask = (chat?: string) => gateway.ask({ model: 'front', ...(chat !== undefined && { chat_id: chat }) });
    expect((await ask('a')).eventsOf('config.update')).toMatchObject([{ preset: 'billing', created: expect.any(String) }]);
    const second = await ask('a');
    expect(second.eventsOf('run.start')).toMatchObject([{ model: 'front' }]);
    expect(second.eventsOf('config.update')).toEqual([{ preset: 'billing', created: expect.any(String) }]);
    const third = await ask('a');
    expect(third.eventsOf('config.update')).toMatchObject([{ preset: 'billing' }, { preset: 'front' }]);
    expect((await ask('a')).eventsOf('config.update')).toEqual([]);
    await ask('b');
    expect([0, 1, 2, 3, 4, 5, 6].map((turn) => systemAt(gateway, turn))).toEqual(
      ['desk', 'billing', 'billing', 'billing', 'desk', 'desk', 'desk'].map((who) =>
        who === 'desk' ? 'You are the desk.' : 'You are billing.',
      ),
    );
    expect(offered(gateway, 2)).toEqual(['light', 'set_tools', 'transfer_to_agent']);
  });

  it('without a chat_id lasts for the run, and what functions change then belongs to the preset that acts [S3-16]', async () => {
    const turns = [
      to('billing'),
      says('Billing.'),
      says('Desk.'),
      to('billing'),
      calls(['set_tools', { to: ['function:light'] }]),
      says('ok'),
      says('ok'),
    ];
    await using gateway = await gatewayWith(turns, presets);
    await gateway.ask({ model: 'front' });
    await gateway.ask({ model: 'front' });
    expect(systemAt(gateway, 2)).toBe('You are the desk.');
    await gateway.ask({ model: 'front', chat_id: 'a' });
    await gateway.ask({ model: 'front', chat_id: 'a' });
    expect([systemAt(gateway, 6), offered(gateway, 6)]).toEqual(['You are billing.', ['light', 'transfer_to_agent']]);
  });

  it('takes the approval rule along into later requests', async () => {
    const strict = presets.map((preset) => (preset.id === 'front' ? { ...preset, needs_approval: ['light'] } : preset));
    const turns = [to('billing'), says('Billing.'), calls(['light', {}])];
    await using gateway = await gatewayWith(turns, strict);
    await gateway.ask({ model: 'front', chat_id: 'a' });
    expect((await gateway.ask({ model: 'front', chat_id: 'a' })).eventsOf('approval.request')).toMatchObject([{ tool: 'light' }]);
  });

  it('to a preset that is gone by the next request leaves the chat with the one that it names', async () => {
    await using gateway = await gatewayWith([to('billing'), says('Billing.'), says('Desk.')], presets);
    await gateway.ask({ model: 'front', chat_id: 'a' });
    const headers = { host: '127.0.0.1' };
    expect((await gateway.app.server.inject({ method: 'DELETE', url: '/api/presets/billing', headers })).statusCode).toBeLessThan(300);
    await expect.poll(async () => (await gateway.ask({ model: 'front', chat_id: 'a' })).text).toBe('Desk.');
  });
});

it('what a resumed run changes stands before the list of its first request, too [S3-10]', async () => {
  const pay = functionModule('pay', { more: 'needsApproval: true' });
  const asked = { chat_id: 'a', tool_ids: ['function:set_tools', 'function:pay'] };
  const turns = [
    calls(['set_tools', { to: ['function:light', 'function:pay', 'function:instruct'] }]),
    calls(['pay', {}]),
    calls(['instruct', { to: 'Ahoy.' }]),
    says('Paid.'),
    says('ok'),
  ];
  await using gateway = await functionGateway({ ...files, 'pay.js': pay }, { turns });
  expect((await approveIn(gateway, asked)).json()).toMatchObject({ choices: [{ message: { content: 'Paid.' } }] });
  await gateway.ask(asked);
  expect([offered(gateway, 4), systemAt(gateway, 4)]).toEqual([['light', 'pay', 'instruct'], 'Ahoy.']);
});

it('a change that was made beside a call which waits for approval holds when the run goes on [S3-15]', async () => {
  const pay = functionModule('pay', { more: 'needsApproval: true' });
  const turns = [calls(['set_tools', { to: ['function:light'] }], ['instruct', { to: 'Ahoy.' }], ['pay', {}]), says('Paid.'), says('ok')];
  await using gateway = await functionGateway({ ...files, 'pay.js': pay }, { turns });
  expect((await approveIn(gateway, { chat_id: 'a' })).json()).toMatchObject({ choices: [{ message: { content: 'Paid.' } }] });
  await gateway.ask({ chat_id: 'a' });
  for (const turn of [1, 2]) expect([offered(gateway, turn), systemAt(gateway, turn)]).toEqual([['light'], 'Ahoy.']);
});
