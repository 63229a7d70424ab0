import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { ModelRecord } from '../../../src/core/models/model.ts';
import type { CatalogBackend } from '../../../src/models/catalog/catalog-backend.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { backendOf, listen } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { calls, ScriptedModel, says, type ScriptStep } from '../../_support/scripted-model.ts';
import { call } from '../approvals/approval-fixture.ts';
import { answerOf, documentOf, gatewayOf, serverOf, type Gateway } from '../gateway.ts';

const adminKey = 'sk-tw-fixed-administrator';
const down = new GatewayError('upstream_unreachable', 'The model backend "own" cannot be reached.');
const failed = new GatewayError('upstream_error', 'CUDA error', { status: 500, upstreamStatus: 500 });
const rejected = new GatewayError('upstream_rejected', 'The prompt is empty.', { status: 400, upstreamStatus: 400 });
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

interface Model {
  turns: ScriptStep[][];
  record?: Partial<ModelRecord>;
}

interface Fallen extends Gateway {
  /** How often each model was asked. */
  asked(): Record<string, number>;
  scripts: Record<string, ScriptedModel>;
}

/** `own` falls back to the others, in their order, unless `fallbacks` says otherwise. Each is a backend of its own with one model of that name. */
async function fallingBack(
  models: Record<string, Model>,
  options: { fallbacks?: string[]; environment?: NodeJS.ProcessEnv } = {},
): Promise<Fallen> {
  const { fallbacks = Object.keys(models).filter((id) => id !== 'own'), environment = {} } = options;
  const scripts: Record<string, ScriptedModel> = {};
  const backends = Object.entries(models).map(([id, { turns, record }]): CatalogBackend => {
    const script = new ScriptedModel(...turns);
    scripts[id] = script;
    return { ...backendOf(script, [id], record), name: `backend-${id}`, ...(id === 'own' && { fallbacks }) };
  });
  const servers = [serverOf('clock', documentOf({ now: { type: 'object', properties: {} } }))];
  const answers = { 'http://clock.test/now': answerOf('"noon"') };
  const gateway = await gatewayOf({ backends, servers, answers, environment });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const asked = (): Record<string, number> =>
    Object.fromEntries(Object.entries(scripts).flatMap(([id, { requests }]) => (requests.length === 0 ? [] : [[id, requests.length]])));
  return { ...gateway, scripts, asked };
}

const plain = { model: 'own', tool_ids: [] };
const withClock = { model: 'own', tool_ids: ['server:clock'] };
const tokens = (count: number): ScriptStep => ({
  type: 'usage',
  usage: { prompt_tokens: count, completion_tokens: count, total_tokens: 2 * count },
});

describe('a model that cannot answer', () => {
  it('is replaced by its fallback, and the answer says so', async () => {
    const gateway = await fallingBack({ own: { turns: [[down]] }, other: { turns: [says('hello')] } });
    const seen = await gateway.ask(plain);
    expect([seen.status, seen.text, seen.finish]).toEqual([200, 'hello', ['stop']]);
    expect(seen.eventsOf('warning')).toEqual([
      {
        code: 'model_fallback',
        message: 'own could not answer, so other does. The reason: The model backend "own" cannot be reached.',
        model: 'other',
      },
    ]);
    expect(gateway.asked()).toEqual({ own: 1, other: 1 });
  });

  it('leaves what only it can read to itself: its fallback gets its turn without, and keeps its own', async () => {
    const signed = (name: string): ScriptStep[] => [
      { type: 'thought', fields: { reasoning_details: [{ data: `of ${name}` }] } },
      ...calls(['now', {}]),
    ];
    const gateway = await fallingBack({ own: { turns: [signed('own'), [down]] }, other: { turns: [signed('other'), says('noon')] } });
    expect((await gateway.ask(withClock)).text).toBe('noon');
    const turns = gateway.scripts['other']?.requests
      .at(-1)
      ?.messages.flatMap((message) => (message.role === 'assistant' ? [message.extra] : []));
    expect(turns).toEqual([undefined, { reasoning_details: [{ data: 'of other' }] }]);
  });

  it.each([false, true])(
    'gets back only what it wrote itself, and so does its fallback, with calls of the client (stream: %s)',
    async (stream) => {
      const signed = (name: string): ScriptStep[] => [
        { type: 'thought', fields: { reasoning_details: [{ data: `of ${name}` }] } },
        ...calls(['mine', {}]),
      ];
      const own = [[down], [down], signed('own'), says('Done.')];
      const gateway = await fallingBack({ own: { turns: own }, other: { turns: [signed('other'), signed('other again')] } });
      const tools = [{ type: 'function', function: { name: 'mine', parameters: { type: 'object', properties: {} } } }];
      const messages: JsonObject[] = [{ role: 'user', content: 'hello' }];
      for (let turn = 0; turn < 3; turn += 1) {
        const { raw } = await gateway.ask({ ...plain, tools, messages, stream });
        const [, id = ''] = /"tool_calls":\[\{[^}]*?"id":"([^"]+)"/.exec(raw) ?? [];
        messages.push({
          role: 'assistant',
          content: null,
          tool_calls: [{ id, type: 'function', function: { name: 'mine', arguments: '{}' } }],
        });
        messages.push({ role: 'tool', tool_call_id: id, content: 'done' });
      }
      expect((await gateway.ask({ ...plain, tools, messages, stream })).raw).toContain('Done.');
      const read = (name: string) =>
        gateway.scripts[name]?.requests
          .at(-1)
          ?.messages.flatMap((message) => (message.role === 'assistant' ? [message.extra?.['reasoning_details'] ?? null] : []));
      expect(read('other')).toEqual([[{ data: 'of other' }]]);
      expect(read('own')).toEqual([null, null, [{ data: 'of own' }]]);
    },
  );

  it('is replaced once after a 500, and the fallback is not again', async () => {
    const gateway = await fallingBack({ own: { turns: [[failed]] }, other: { turns: [[failed]] }, third: { turns: [says('no')] } });
    const seen = await gateway.ask(plain);
    expect([seen.status, seen.raw]).toEqual([500, expect.stringContaining('CUDA error')]);
    expect(gateway.asked()).toEqual({ own: 1, other: 1 });
  });

  it('has three attempts with all its fallbacks, and its own failure is what the client reads', async () => {
    const late = new GatewayError('upstream_timeout', 'Late.');
    const turns = [[late]];
    const gateway = await fallingBack({ own: { turns: [[down]] }, b: { turns }, c: { turns: [[late]] }, d: { turns: [says('no')] } });
    const seen = await gateway.ask(plain);
    expect([seen.status, seen.raw]).toEqual([502, expect.stringContaining('cannot be reached')]);
    expect(gateway.asked()).toEqual({ own: 1, b: 1, c: 1 });
  });

  it('is not replaced when the request itself is refused', async () => {
    const gateway = await fallingBack({ own: { turns: [[rejected]] }, other: { turns: [says('no')] } });
    expect((await gateway.ask(plain)).status).toBe(400);
    expect(gateway.asked()).toEqual({ own: 1 });
  });

  it('is not replaced after the first event of its answer', async () => {
    const gateway = await fallingBack({ own: { turns: [[{ type: 'reasoning', text: 'Hm' }, down]] }, other: { turns: [says('no')] } });
    expect((await gateway.ask(plain)).raw).toContain('upstream_unreachable');
    expect(gateway.asked()).toEqual({ own: 1 });
  });

  it('is not replaced in a request that its client has left', async () => {
    const open = Promise.withResolvers<void>();
    const gateway = await fallingBack({ own: { turns: [[open.promise, down]] }, other: { turns: [says('no')] } });
    const url = await listen(gateway.app);
    const leaving = new AbortController();
    const body = JSON.stringify({ ...plain, messages: [{ role: 'user', content: 'hello' }] });
    const headers = { 'content-type': 'application/json' };
    const left = fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body, signal: leaving.signal }).catch(() => 'left');
    await expect.poll(() => gateway.asked(), { timeout: 45_000 }).toEqual({ own: 1 });
    leaving.abort();
    expect(await left).toBe('left');
    await expect.poll(() => gateway.app.logLines.some((line) => line.includes('chat cut off')), { timeout: 45_000 }).toBe(true);
    expect(gateway.asked()).toEqual({ own: 1 });
  });

  it('stays replaced for the rest of the run, also once text has been shown', async () => {
    const spoken: ScriptStep[] = [{ type: 'text', text: 'Let me see. ' }, ...calls(['now', {}])];
    const gateway = await fallingBack({ own: { turns: [[down], says('no')] }, other: { turns: [spoken, says('It is noon.')] } });
    const seen = await gateway.ask(withClock);
    expect(seen.text).toContain('It is noon.');
    expect(seen.eventsOf('warning')).toHaveLength(1);
    expect(gateway.asked()).toEqual({ own: 1, other: 2 });
    expect(gateway.sent).toHaveLength(1);
  });

  it('is replaced in a later round, whose results the fallback reads; the calls are not made again', async () => {
    const gateway = await fallingBack({ own: { turns: [calls(['now', {}]), [down]] }, other: { turns: [says('It is noon.')] } });
    expect((await gateway.ask(withClock)).text).toBe('It is noon.');
    expect(gateway.sent).toHaveLength(1);
    expect(gateway.scripts['other']?.requests[0]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'noon' });
  });

  it('is not replaced once text of the run has been shown', async () => {
    const spoken: ScriptStep[] = [{ type: 'text', text: 'Let me see. ' }, ...calls(['now', {}])];
    const gateway = await fallingBack({ own: { turns: [spoken, [down]] }, other: { turns: [says('no')] } });
    expect((await gateway.ask(withClock)).raw).toContain('upstream_unreachable');
    expect(gateway.asked()).toEqual({ own: 2 });
  });

  it('is replaced in a selection by a prompt and in the answer after it', async () => {
    const gateway = await fallingBack({ own: { turns: [[down]] }, other: { turns: [says('{"tool_calls":[]}'), says('hello')] } });
    const seen = await gateway.ask({ ...withClock, params: { function_calling: 'default' } });
    expect(seen.text).toBe('hello');
    expect(gateway.asked()).toEqual({ own: 1, other: 2 });
  });
});

describe('a fallback is passed over', () => {
  it.each<[string, Partial<ModelRecord>, JsonObject]>([
    ['that has no native calls, for a request with functions', { capabilities: ['completion'] }, withClock],
    [
      'that cannot see, for a request with an image',
      { capabilities: ['completion', 'tools'] },
      { ...plain, messages: [{ role: 'user', content: [image] }] },
    ],
    [
      'whose list says that it takes text alone',
      { details: { architecture: { input_modalities: ['text'] } } },
      { ...plain, messages: [{ role: 'user', content: [image] }] },
    ],
    [
      'whose list says that it has no structured output, for a request with a schema',
      { details: { supported_parameters: ['tools'] } },
      { ...plain, response_format: { type: 'json_object' } },
    ],
  ])('%s', async (_name, record, request) => {
    const gateway = await fallingBack({ own: { turns: [[down]] }, weak: { turns: [says('no')], record }, able: { turns: [says('yes')] } });
    expect((await gateway.ask(request)).text).toBe('yes');
    expect(gateway.asked()).toEqual({ own: 1, able: 1 });
  });

  it('that the backend does not have, or that is the model itself', async () => {
    const models = { own: { turns: [[down]] }, other: { turns: [says('yes')] } };
    const gateway = await fallingBack(models, { fallbacks: ['own', 'gone', 'other'] });
    expect((await gateway.ask(plain)).text).toBe('yes');
    expect(gateway.asked()).toEqual({ own: 1, other: 1 });
  });

  it('that the key of the caller may not use', async () => {
    const models = { own: { turns: [[down]] }, dear: { turns: [says('no')] }, cheap: { turns: [says('yes')] } };
    const gateway = await fallingBack(models, { environment: { TOOLWHARF_ADMIN_KEY: adminKey } });
    const made = await call(gateway, 'POST /api/keys', { key: adminKey, payload: { name: 'k', role: 'user', models: ['own', 'cheap'] } });
    const { key } = made.json<{ key: string }>();
    const payload = { ...plain, messages: [{ role: 'user', content: 'hello' }] };
    const answer = (await call(gateway, 'POST /v1/chat/completions', { key, payload })).json<JsonObject>();
    expect(answer).toMatchObject({ model: 'cheap', choices: [{ message: { content: 'yes' } }] });
    expect(gateway.asked()).toEqual({ own: 1, cheap: 1 });
  });

  it('that refuses functions, which teaches nothing about the model of the run', async () => {
    const refusal = new GatewayError('tools_unsupported', 'weak does not support tools');
    const models = { own: { turns: [[down], says('back')] }, weak: { turns: [[refusal]] }, able: { turns: [says('yes')] } };
    const gateway = await fallingBack(models);
    expect((await gateway.ask(withClock)).text).toBe('yes');
    const again = await gateway.ask(withClock);
    expect(again.text).toBe('back');
    expect(again.eventsOf('run.start')).toMatchObject([{ mode: 'native' }]);
  });
});

it('answers from the results when it refuses functions after its calls, which teaches nothing about the model of the run', async () => {
  const refusal = new GatewayError('tools_unsupported', 'weak does not support tools');
  const models = {
    own: { turns: [[down]] },
    weak: { turns: [calls(['now', {}]), [refusal], says('It is noon.')] },
  };
  const gateway = await fallingBack(models);
  expect((await gateway.ask(withClock)).text).toBe('It is noon.');
  expect(gateway.sent).toHaveLength(1);
  const { body: findings } = await gateway.get('/api/doctor');
  expect(findings).toContain('weak (backend-weak)');
  expect(findings).not.toContain('own (backend-own)');
});

it('ends the run when it refuses functions after it was replaced, instead of beginning again in another mode', async () => {
  const refusal = new GatewayError('tools_unsupported', 'weak does not support tools');
  const models = { own: { turns: [[down], says('{"tool_calls":[]}'), says('no')] }, weak: { turns: [says('No call.'), [refusal]] } };
  const gateway = await fallingBack(models);
  const seen = await gateway.ask({ ...withClock, tool_choice: 'required' });
  expect(seen.raw).toContain('upstream_rejected');
  expect(gateway.asked()).toEqual({ own: 1, weak: 2 });
});

describe('an answer of a fallback names it', () => {
  const messages = [{ role: 'user', content: 'hello' }];
  const warned = [{ code: 'model_fallback' }];
  it.each<[route: string, body: JsonObject, expected: JsonObject]>([
    ['/v1/chat/completions', { messages }, { model: 'other', warnings: warned }],
    ['/v1/responses', { input: 'hello' }, { model: 'other', warnings: warned }],
    ['/v1/messages', { messages, max_tokens: 50 }, { model: 'other', warnings: warned }],
    ['/v1/completions', { prompt: 'hello' }, { model: 'other', warnings: warned }],
    ['/api/chat', { messages, stream: false }, { model: 'other', warnings: warned }],
    ['/api/generate', { prompt: 'hello', stream: false }, { model: 'other', warnings: warned }],
  ])('%s', async (route, body, expected) => {
    const gateway = await fallingBack({ own: { turns: [[down]] }, other: { turns: [says('hello')] } });
    const url = `POST ${route}`;
    const answer = await call(gateway, url, { payload: { model: 'own', tool_ids: [], ...body } });
    expect(answer.json()).toMatchObject(expected);
  });

  it.each<[route: string, body: JsonObject]>([
    ['/v1/chat/completions', { messages, stream: true }],
    ['/v1/responses', { input: 'hello', stream: true }],
    ['/v1/messages', { messages, max_tokens: 50, stream: true }],
    ['/v1/completions', { prompt: 'hello', stream: true }],
    ['/api/chat', { messages }],
    ['/api/generate', { prompt: 'hello' }],
  ])('%s as a stream', async (route, body) => {
    const gateway = await fallingBack({ own: { turns: [[down]] }, other: { turns: [says('hello')] } });
    const { body: raw } = await call(gateway, `POST ${route}`, { payload: { model: 'own', tool_ids: [], ...body } });
    expect(raw).toContain('"model":"other"');
    expect(raw).not.toContain('"model":"own"');
    expect(raw).toContain('model_fallback');
  });

  it('over a socket', async () => {
    const gateway = await fallingBack({ own: { turns: [[down]] }, other: { turns: [says('hello')] } });
    const browser = await connectFakeBrowser({ url: await listen(gateway.app) });
    onTestFinished(() => browser.close());
    browser.send({ type: 'message', data: { content: 'hello', model: 'own', tool_ids: [] } });
    const end = await browser.next('assistant_end');
    expect(end).toMatchObject({ data: { model: 'other', warnings: warned } });
  });
});

it('counts the tokens of a fallback as its own, and the request for the model that was named', async () => {
  const gateway = await fallingBack({ own: { turns: [[down]] }, other: { turns: [[tokens(7), ...says('hello')]] } });
  expect((await gateway.ask(plain)).usage).toMatchObject({ total_tokens: 14 });
  const { data } = (await gateway.get('/api/usage?by=model')).json<{ data: JsonObject[] }>();
  expect(data).toHaveLength(2);
  expect(data).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ model: 'own', requests: 1, tokens_in: 0, tokens_out: 0 }),
      expect.objectContaining({ model: 'other', requests: 0, tokens_in: 7, tokens_out: 7 }),
    ]),
  );
  const { body: metrics } = await gateway.get('/metrics');
  expect(metrics).toContain('toolwharf_model_requests_total{model="own"} 1');
  expect(metrics).toContain('toolwharf_model_requests_total{model="other"} 1');
  expect(metrics).toContain('toolwharf_tokens_total{model="other",kind="prompt"} 7');
});

it('shows each attempt in the log of the run', async () => {
  const gateway = await fallingBack({ own: { turns: [[down]] }, other: { turns: [says('hello')] } });
  await gateway.ask(plain);
  const { data } = (await gateway.get('/api/runs')).json<{ data: { id: string }[] }>();
  const run = (await gateway.get(`/api/runs/${data[0]?.id}`)).json<{ events: { type: string; data: JsonObject }[] }>();
  expect(run.events.filter(({ type }) => type.startsWith('model.'))).toMatchObject([
    { type: 'model.request', data: { question: 1, model: 'own' } },
    { type: 'model.response', data: { error: { code: 'upstream_unreachable' } } },
    { type: 'model.request', data: { question: 2, model: 'other', reason: 'model_failed' } },
    { type: 'model.response', data: { finish_reason: 'stop' } },
  ]);
});

describe('a preset', () => {
  const createPreset = (gateway: Gateway, payload: JsonObject) => call(gateway, 'POST /api/presets', { payload });

  it('has fallbacks of its own in the place of those of its backend', async () => {
    const models = { own: { turns: [[down], [down]] }, other: { turns: [says('no')] }, third: { turns: [says('yes')] } };
    const gateway = await fallingBack(models, { fallbacks: ['other'] });
    const made = await createPreset(gateway, { id: 'clerk', base_model: 'own', tools: [], fallbacks: ['third'] });
    expect([made.statusCode, made.json()]).toEqual([201, expect.objectContaining({ fallbacks: ['third'], warnings: [] })]);
    await createPreset(gateway, { id: 'upper', base_model: 'clerk', tools: [] });
    await createPreset(gateway, { id: 'alone', base_model: 'own', tools: [], fallbacks: [] });
    expect((await gateway.ask({ model: 'upper' })).text).toBe('yes');
    expect((await gateway.ask({ model: 'alone' })).status).toBe(502);
    expect(gateway.asked()).toEqual({ own: 2, third: 1 });
  });

  it('warns of a fallback that does not exist', async () => {
    const gateway = await fallingBack({ own: { turns: [] } });
    const made = await createPreset(gateway, { id: 'clerk', base_model: 'own', fallbacks: ['gone'] });
    expect(made.json()).toMatchObject({ warnings: [expect.stringMatching(/^fallbacks: The model "gone" is not known/)] });
  });

  it('that is called as a tool falls back within its call, which does not change the model of the answer', async () => {
    const models = {
      own: { turns: [[down]] },
      other: { turns: [says('noon')] },
      outer: { turns: [calls(['clerk', { request: 'x' }]), says('It is noon.')] },
    };
    const gateway = await fallingBack(models, { fallbacks: ['other'] });
    await createPreset(gateway, { id: 'clerk', base_model: 'own', tools: [] });
    await createPreset(gateway, { id: 'boss', base_model: 'outer', tools: ['preset:clerk'] });
    const payload = { model: 'boss', messages: [{ role: 'user', content: 'time?' }] };
    const answer = (await call(gateway, 'POST /v1/chat/completions', { payload })).json<JsonObject>();
    expect(answer).toMatchObject({
      model: 'boss',
      choices: [{ message: { content: 'It is noon.' } }],
      warnings: [{ code: 'model_fallback' }],
    });
  });
});
