import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { listen } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentWith } from '../../tools/scripted-send.ts';
import { gatewayOf, selects, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { recordedTextCharacters, recordedPromptCharacters, recordedRunCharacters } from '../../../src/observability/prompt-log.ts';

interface ShownPrompt {
  question: number;
  time: string;
  request: JsonObject & { messages: JsonObject[]; tools?: unknown[] };
  answer: JsonObject;
}

const clocks = serverOf('time', documentWith('now'));
const answers = { 'http://time.test/now': { time: '12:00' } };
const recording = { RECORD_PROMPTS: 'true' };

function gatewayWith(turns: ScriptStep[][], options: GatewayOptions = {}): Promise<Gateway> {
  return gatewayOf({ turns, servers: [clocks], answers, environment: recording, ...options });
}

async function runsOf({ app }: Gateway, key?: string): Promise<JsonObject[]> {
  const headers = { host: '127.0.0.1:8080', ...(key !== undefined && { 'x-api-key': key }) };
  const list = await app.server.inject({ url: '/api/runs', headers });
  const ids = list.json<{ data: { id: string }[] }>().data.map(({ id }) => id);
  const runs = await Promise.all(ids.map((id) => app.server.inject({ url: `/api/runs/${id}`, headers })));
  return runs.map((run) => run.json<JsonObject>());
}

async function promptsOf(gateway: Gateway): Promise<ShownPrompt[]> {
  const [run] = await runsOf(gateway);
  return (run?.['prompts'] ?? []) as unknown as ShownPrompt[];
}

it('without the setting no prompt is recorded', async () => {
  await using gateway = await gatewayWith([calls(['now', {}]), says('Noon.')], { environment: {} });
  await gateway.ask();
  expect(await runsOf(gateway)).toEqual([expect.not.objectContaining({ prompts: expect.anything() as unknown })]);
});

it('each model request of a run is recorded with what was sent and what was answered [S1-24]', async () => {
  const thought: ScriptStep = { type: 'reasoning', text: 'I need the time.' };
  await using gateway = await gatewayWith([[thought, ...calls(['now', { city: 'Osaka' }])], says('Noon.')]);
  await gateway.ask({
    temperature: 0.3,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What time is it?' },
    ],
  });
  const prompts = await promptsOf(gateway);
  expect(prompts).toMatchObject([
    {
      question: 1,
      request: {
        model: 'model',
        parameters: { temperature: 0.3 },
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'What time is it?' },
        ],
        tools: [{ name: 'now', parameters: { type: 'object' } }],
      },
      answer: {
        reasoning: 'I need the time.',
        tool_calls: [{ function: { name: 'now', arguments: '{"city":"Osaka"}' } }],
        finish_reason: 'tool_calls',
      },
    },
    {
      question: 2,
      // Its specification stands with the first request.
      request: {
        messages: [{}, {}, { role: 'assistant', tool_calls: [{}] }, { role: 'tool', content: '{\n  "time": "12:00"\n}' }],
        tools: ['now'],
      },
      answer: { text: 'Noon.', finish_reason: 'stop' },
    },
  ]);
  expect(Date.parse(prompts[0]?.time ?? '')).toBeGreaterThan(0);
});

it('the selection of a prompt-based mode is recorded, and what a sub-agent is asked', async () => {
  await using gateway = await gatewayWith([selects(['now', {}]), says('Noon.')]);
  await gateway.ask({ params: { function_calling: 'default' } });
  const [selection, answer] = await promptsOf(gateway);
  expect(selection?.request.messages[0]?.['content']).toContain('tool_calls');
  expect(selection?.answer['text']).toContain('"now"');
  expect(JSON.stringify(answer?.request.messages)).toContain('Tool `time/now` Output:');

  const turns = [calls(['helper', { request: 'Say hi.' }]), says('Hi.'), says('It says hi.')];
  await using other = await gatewayWith(turns);
  const payload = { id: 'helper', base_model: 'model', system: 'You help.' };
  await other.app.server.inject({ method: 'POST', url: '/api/presets', headers: { host: '127.0.0.1:8080' }, payload });
  await other.ask({ tool_ids: ['preset:helper'] });
  const prompts = await promptsOf(other);
  expect(prompts.map(({ answer: { text = '' } }) => text)).toEqual(['', 'Hi.', 'It says hi.']);
  expect(JSON.stringify(prompts[1]?.request.messages)).toContain('You help.');
});

it('a failed request is recorded with its error, and secrets are masked', async () => {
  const secret = 'sk-canary-123456789';
  await using gateway = await gatewayWith([[new Error(`no ${secret}`)]]);
  await gateway.ask({ messages: [{ role: 'user', content: `My key is ${secret}.` }], metadata: {}, extra: { password: 'canary-2' } });
  const [run] = await runsOf(gateway);
  const [prompt] = await promptsOf(gateway);
  expect(prompt?.answer['error']).toMatchObject({ code: 'internal_error' });
  expect(prompt?.request.messages[0]?.['content']).toBe('My key is sk-[redacted].');
  expect(JSON.stringify(run)).not.toContain('canary');
});

it('administrators see those of all callers, a caller only their own', async () => {
  const environment = { ...recording, TOOLWHARF_ADMIN_KEY: 'admin-key-of-this-test' };
  await using gateway = await gatewayWith([says('Noon.')], { environment });
  const create = async (name: string): Promise<string> => {
    const headers = { host: '127.0.0.1:8080', 'x-api-key': environment.TOOLWHARF_ADMIN_KEY };
    const created = await gateway.app.server.inject({ method: 'POST', url: '/api/keys', headers, payload: { name, role: 'user' } });
    return created.json<{ key: string }>().key;
  };
  const [ada, eve] = [await create('ada'), await create('eve')];
  const payload = { model: 'model', messages: [{ role: 'user', content: 'Mine?' }] };
  const headers = { host: '127.0.0.1:8080', 'x-api-key': ada };
  await gateway.app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
  const shown = { prompts: [{ request: { messages: [{ content: 'Mine?' }] } }] };
  expect(await runsOf(gateway, ada)).toMatchObject([shown]);
  expect(await runsOf(gateway, environment.TOOLWHARF_ADMIN_KEY)).toMatchObject([shown]);
  expect(await runsOf(gateway, eve)).toEqual([]);
});

it('what is too long is cut, and a run that has too much records no more, while its events stay', async () => {
  const long = 'x'.repeat(2 * recordedTextCharacters);
  const texts = Array.from({ length: 4 }, () => ({ role: 'user', content: long }));
  const rounds = Array.from({ length: 12 }, (_, index) => calls(['now', { city: `City ${index}` }]));
  await using gateway = await gatewayWith([...rounds, says('Noon.')]);
  await gateway.ask({ messages: texts, params: { max_tool_rounds: 20 } });
  const [run] = await runsOf(gateway);
  const prompts = (run?.['prompts'] ?? []) as JsonObject[];
  const sizes = prompts.map((prompt) => JSON.stringify(prompt).length);
  expect(Math.max(...sizes)).toBeLessThan(recordedPromptCharacters * 1.1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(recordedRunCharacters * 1.2);
  expect(prompts.length).toBeLessThan(13);
  expect(JSON.stringify(prompts[0])).toContain('more characters]');
  const events = run?.['events'] as { type: string; data: JsonObject }[];
  expect(events.filter(({ type }) => type === 'model.response')).toHaveLength(13);
  expect(events.filter(({ data }) => data['code'] === 'prompts_left_out')).toHaveLength(1);
});

it('prompts lie encrypted in the database, over a restart, and are gone when recording is switched off', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'toolwharf-prompts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const secret = 'a secret of this very test';
  async function within<Result>(environment: NodeJS.ProcessEnv, use: (gateway: Gateway) => Promise<Result>): Promise<Result> {
    const { database, runs, noteStores } = openStores({ file: path.join(folder, 'toolwharf.db'), secret });
    try {
      await using gateway = await gatewayWith([says('The hidden answer.')], { environment, runs, noteStores });
      await listen(gateway.app);
      return await use(gateway);
    } finally {
      await database.close();
    }
  }
  await within(recording, async (gateway) => void (await gateway.ask({ messages: [{ role: 'user', content: 'A hidden question?' }] })));
  expect(await within(recording, promptsOf)).toMatchObject([{ answer: { text: 'The hidden answer.' } }]);
  const bytes = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), 'latin1'));
  expect(bytes.join()).not.toContain('hidden');
  await within({}, async (gateway) => {
    await expect.poll(() => gateway.app.logLines.join()).toContain('deleted');
  });
  expect(await within(recording, promptsOf)).toEqual([]);
});

it('the start warns that prompts are recorded', async () => {
  await using gateway = await gatewayWith([]);
  await listen(gateway.app);
  expect(gateway.app.logLines.join()).toContain('RECORD_PROMPTS');
});
