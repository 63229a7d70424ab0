import { afterEach, describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../src/core/chat/chat.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import type { ModelRequest, OutputForm } from '../../src/core/models/model.ts';
import { adaptBackend } from '../../src/models/adapt-backend.ts';
import { constrainOutput, ollamaForms, openAiForms, toOllamaFormat, toResponseFormat } from '../../src/models/constrain-output.ts';
import { RefusalMemory, lessonMemoryMs, rememberedLessons } from '../../src/models/remedies/refusal-memory.ts';
import { createOllama } from '../../src/models/ollama/ollama.ts';
import { createOpenAiBackend } from '../../src/models/openai/openai-compatible.ts';
import { directSend } from '../_support/direct-send.ts';
import { askModel } from '../_support/model-answers.ts';
import { ollamaEnd, ollamaLine, startOllamaServer } from '../_support/ollama-server.ts';
import { says, ScriptedModel, answerOf } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';
import { respond, startUpstream } from '../_support/upstream-server.ts';

const schema = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false };
const strictSchema = { type: 'object', properties: { a: { type: ['string', 'null'] } }, required: ['a'], additionalProperties: false };
const output = { schema, strictSchema };
const refusal = new GatewayError('upstream_rejected', "Invalid parameter: 'response_format' of type 'json_schema' is not supported.");
const openAi = { profile: 'plain' } as const;
const ollama = { profile: 'ollama', forms: ollamaForms } as const;
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** What was asked for in each question, and what was answered. */
async function run(turns: ScriptStep[][], questions: { model?: string; at?: number; output?: OutputForm }[] = [{}]) {
  const model = new ScriptedModel(...turns);
  let time = 0;
  const memory = new RefusalMemory(() => time);
  const backend = adaptBackend(model, openAi, (name) => memory.of('backend', name));
  const events: ModelEvent[] = [];
  for (const { model: name = 'm', at = 0, output: form = output } of questions) {
    time = at;
    for await (const event of answerOf(backend, askModel({ model: name, output: form }))) events.push(event);
  }
  const forms = model.requests.map(({ parameters }) => (parameters['response_format'] as JsonObject | undefined)?.['type'] ?? 'none');
  return { model, events, forms, text: events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('') };
}

describe('a form of the answer', () => {
  it('is asked for as a schema, which is enforced where it can be', async () => {
    const { model } = await run([says('{}')]);
    expect(model.requests[0]?.parameters).toEqual({
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: strictSchema } },
    });
    expect(model.requests[0]).not.toHaveProperty('output');
    expect(toResponseFormat({ schema, strictSchema: undefined }, 'schema')).toMatchObject({
      response_format: { json_schema: { strict: false, schema } },
    });
  });

  it('that is refused for one schema is asked for again with another', async () => {
    const odd: OutputForm = {
      schema: { type: 'object', properties: { a: { type: 'string', pattern: '(?<=x)' } } },
      strictSchema: undefined,
    };
    const turns = [[refusal], [refusal], says('a'), says('b'), says('c')];
    const { forms } = await run(turns, [{ output: odd }, {}, { output: odd }]);
    expect(forms).toEqual(['json_schema', 'json_object', 'none', 'json_schema', 'none']);
  });

  it('that is refused becomes plain JSON, then nothing, and what worked is remembered for the model and the schema', async () => {
    const { forms, text } = await run([[refusal], says('a'), says('b'), says('c')], [{}, {}, { model: 'other' }]);
    expect(forms).toEqual(['json_schema', 'json_object', 'json_object', 'json_schema']);
    expect(text).toBe('abc');
    expect((await run([[refusal], [refusal], says('a'), says('b')], [{}, {}])).forms).toEqual([
      'json_schema',
      'json_object',
      'none',
      'none',
    ]);
  });

  it('is tried again after an hour', async () => {
    const times = [{ at: 1 }, { at: lessonMemoryMs }, { at: lessonMemoryMs + 2 }];
    expect((await run([[refusal], says('a'), says('b'), says('c')], times)).forms).toEqual([
      'json_schema',
      'json_object',
      'json_object',
      'json_schema',
    ]);
  });

  it('is forgotten for the model that was learned first when there are too many', async () => {
    const learned = Array.from({ length: rememberedLessons + 1 }, (_, index) => ({ model: `m${index}` }));
    const turns = [...learned.flatMap(() => [[refusal], says('a')]), says('b'), says('c')];
    const { forms } = await run(turns, [...learned, { model: 'm1' }, { model: 'm0' }]);
    expect(forms.slice(-2)).toEqual(['json_object', 'json_schema']);
  });

  it.each<[string, GatewayError, Partial<ModelRequest>, string[]]>([
    ['the form itself', refusal, {}, ['json_object', 'json_schema']],
    ['the form beside a parameter of the caller', refusal, { parameters: { think: true } }, ['json_object', 'json_schema']],
    [
      'the form in words of the request',
      refusal,
      { messages: [{ role: 'user', content: 'What is response_format?' }] },
      ['json_schema', 'json_schema'],
    ],
    [
      'what the model wrote',
      new GatewayError('upstream_error', 'Generated JSON leaves the json_schema'),
      {},
      ['json_schema', 'json_schema'],
    ],
    ['nothing in particular', new GatewayError('upstream_rejected', 'Bad request.', { status: 400 }), {}, ['json_schema', 'json_schema']],
  ])('that is refused because of %s is remembered for as many as that proves', async (_name, fault, fields, later) => {
    const model = new ScriptedModel([fault], says('a'), says('b'), says('c'));
    const memory = new RefusalMemory(() => 0);
    const backend = adaptBackend(model, openAi, (name) => memory.of('backend', name));
    const askAs = (callerId: string, more: Partial<ModelRequest>): Promise<ModelEvent[]> =>
      Array.fromAsync(answerOf(backend, askModel({ output, origin: { callerId, sourceOf: () => undefined }, ...more })));
    await askAs('ada', fields);
    await askAs('ada', fields);
    await askAs('bob', fields);
    const forms = model.requests.map(({ parameters }) => (parameters['response_format'] as JsonObject)['type']);
    expect(forms).toEqual(['json_schema', 'json_object', ...later]);
  });

  it('that is refused to two keys is asked of the model in the simpler way for a third', async () => {
    const model = new ScriptedModel([refusal], says('a'), [refusal], says('b'), says('c'));
    const memory = new RefusalMemory(() => 0);
    const backend = adaptBackend(model, openAi, (name) => memory.of('backend', name));
    for (const callerId of ['ada', 'bob', 'carl']) {
      const messages = [{ role: 'user' as const, content: `I am ${callerId}.` }];
      await Array.fromAsync(answerOf(backend, askModel({ output, messages, origin: { callerId, sourceOf: () => undefined } })));
    }
    const forms = model.requests.map(({ parameters }) => (parameters['response_format'] as JsonObject)['type']);
    expect(forms).toEqual(['json_schema', 'json_object', 'json_schema', 'json_object', 'json_object']);
  });

  it('under which a model says nothing is given up, and the answer is asked for again', async () => {
    const { forms, text, events } = await run([says(' \n'), says('{}')]);
    expect(forms).toEqual(['json_schema', 'json_object']);
    expect(text.trim()).toBe('{}');
    expect(events.filter((event) => event.type === 'finish')).toHaveLength(1);
  });

  describe('of a model that thinks and says nothing', () => {
    const silent: ScriptStep[] = [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'finish', reason: 'stop' },
    ];
    const kept = (model: ScriptedModel): unknown[] =>
      model.requests.map(({ parameters }) => (parameters['chat_template_kwargs'] as JsonObject | undefined)?.['enable_thinking'] ?? true);

    it('is kept, and the thinking switched off, which is remembered', async () => {
      const { forms, model, text } = await run([silent, says('{}'), says('{}')], [{}, {}]);
      expect(forms).toEqual(['json_schema', 'json_schema', 'json_schema']);
      expect(kept(model)).toEqual([true, false, false]);
      expect(text).toBe('{}{}');
    });

    it('is kept, and the thinking switched off, for the caller whose words made it think', async () => {
      const model = new ScriptedModel(silent, says('{}'), says('{}'));
      const memory = new RefusalMemory(() => 0);
      const backend = adaptBackend(model, openAi, (name) => memory.of('backend', name));
      for (const callerId of ['ada', 'bob'])
        await Array.fromAsync(answerOf(backend, askModel({ output, origin: { callerId, sourceOf: () => undefined } })));
      expect(kept(model)).toEqual([true, false, true]);
    });

    it('is asked for with thoughts by the next one, where a limit of the request ended them', async () => {
      const cut: ScriptStep[] = [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'finish', reason: 'length' },
      ];
      const { model, text } = await run([cut, says('{}'), says('{}')], [{}, {}]);
      expect(kept(model)).toEqual([true, false, true]);
      expect(text).toBe('{}{}');
    });

    it('is tried less strictly, with its thoughts, where it stays silent without them; that is not remembered', async () => {
      const { forms, model, text } = await run([silent, says(''), says('{}'), says('{}')], [{}, {}]);
      expect(forms).toEqual(['json_schema', 'json_schema', 'json_object', 'json_schema']);
      expect(kept(model)).toEqual([true, false, true, true]);
      expect(text).toBe('{}{}');
    });

    it('is asked for as before by a server that refuses the switch', async () => {
      const { forms, model } = await run([silent, [refusal], says('{}')]);
      expect(forms).toEqual(['json_schema', 'json_schema', 'json_object']);
      expect(kept(model)).toEqual([true, false, true]);
    });

    it('ends in silence after all ways', async () => {
      const { forms, events, model } = await run([silent, says(''), silent, silent]);
      expect(forms).toEqual(['json_schema', 'json_schema', 'json_object', 'none']);
      expect(kept(model)).toEqual([true, false, true, true]);
      expect(events.filter(({ type }) => type === 'finish')).toHaveLength(1);
    });

    it('is not asked for twice where thinking was off already', async () => {
      const model = new ScriptedModel(silent, says('{}'));
      const parameters = { chat_template_kwargs: { enable_thinking: false, other: 1 } };
      await Array.fromAsync(answerOf(adaptBackend(model, openAi), askModel({ output, parameters })));
      expect(model.requests.map((request) => (request.parameters['response_format'] as JsonObject)['type'])).toEqual([
        'json_schema',
        'json_object',
      ]);
    });

    it('is asked of Ollama with its own switch', async () => {
      const model = new ScriptedModel(silent, says('{}'));
      await Array.fromAsync(answerOf(adaptBackend(model, ollama), askModel({ output })));
      expect(model.requests.map(({ parameters }) => parameters)).toEqual([{ format: schema }, { format: schema, think: false }]);
    });

    it('is told of each question', async () => {
      const told: unknown[] = [];
      const model = new ScriptedModel(silent, [refusal], [refusal], says('{}'));
      const onRepeat: ModelRequest['onRepeat'] = ({ purpose, output: form }, fault) =>
        told.push([purpose?.reason, form !== undefined && form.degree !== 'none', fault === refusal]);
      await Array.fromAsync(answerOf(adaptBackend(model, openAi), askModel({ output, onRepeat })));
      expect(told).toEqual([
        ['no_words', true, false],
        ['form_refused', true, true],
        ['form_refused', false, true],
      ]);
    });
  });

  it('is not what other faults are about', async () => {
    const faults: GatewayError[] = [
      new GatewayError('upstream_timeout', 'Silent.'),
      new GatewayError('upstream_rate_limited', 'Slow down.'),
      new GatewayError('upstream_rejected', 'Not there.', { status: 404 }),
      new GatewayError('upstream_error', 'Out of memory.'),
    ];
    for (const fault of faults) await expect(run([[fault]])).rejects.toBe(fault);
    expect((await run([[new GatewayError('upstream_error', 'failed to parse grammar')], says('a')])).text).toBe('a');
  });

  it('refused in every way gives the last fault, and nothing is remembered', async () => {
    const model = new ScriptedModel([refusal], [refusal], [refusal], says('a'));
    const backend = adaptBackend(model, openAi);
    await expect(Array.fromAsync(answerOf(backend, askModel({ output })))).rejects.toBe(refusal);
    await Array.fromAsync(answerOf(backend, askModel({ output })));
    expect(model.requests.at(-1)?.parameters).toMatchObject({ response_format: { type: 'json_schema' } });
  });

  it('amid which the answer fails is not asked for again', async () => {
    const model = new ScriptedModel([{ type: 'text', text: '{' }, refusal]);
    await expect(Array.fromAsync(answerOf(adaptBackend(model, openAi), askModel({ output })))).rejects.toBe(refusal);
  });

  it('costs nothing where there is none', async () => {
    const readers: unknown[] = [];
    const emit = (): undefined => undefined;
    await constrainOutput({ answer: async (_request, reader) => void readers.push(reader) }, openAiForms).answer(askModel({}), emit);
    expect(readers).toEqual([emit]);
  });
});

describe('over the wire', () => {
  it('an OpenAI-compatible server gets response_format, and its refusal is understood', async () => {
    const answer = { choices: [{ index: 0, message: { role: 'assistant', content: '{}' }, finish_reason: 'stop' }] };
    const server = await startUpstream((_request, count) =>
      count === 0 ? respond(400, { error: { message: 'This response_format type is unavailable now' } }) : respond(200, answer),
    );
    closers.push(() => server.close());
    const connection = { baseUrl: `${server.origin}/v1`, key: undefined, firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000 };
    const backend = adaptBackend(createOpenAiBackend(connection, directSend), openAi);
    await Array.fromAsync(answerOf(backend, askModel({ stream: false, output })));
    const bodies = server.requests.map((request) => JSON.parse(request.body) as JsonObject);
    expect(bodies.map((body) => (body['response_format'] as JsonObject)['type'])).toEqual(['json_schema', 'json_object']);
    expect(bodies.some((body) => Object.hasOwn(body, 'output'))).toBe(false);
  });

  it('an Ollama gets the schema as format', async () => {
    const server = await startOllamaServer([{ name: 'small:latest' }]);
    closers.push(() => server.close());
    server.answers.push([ollamaLine({ content: '{}' }), ollamaEnd()]);
    const connection = { baseUrl: server.url, firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000, maxContext: 32_768 };
    const backend = adaptBackend(createOllama(connection, directSend).backend, ollama);
    await Array.fromAsync(answerOf(backend, askModel({ model: 'small:latest', output })));
    expect(server.chats()).toMatchObject([{ format: schema }]);
    expect(toOllamaFormat(output, 'json')).toEqual({ format: 'json' });
  });

  it('an Ollama gets no schema whose grammar is too long for it', () => {
    const choices = { anyOf: Array.from({ length: 2_000 }, (_, index) => ({ const: `choice ${index}` })) };
    expect(toOllamaFormat({ schema: choices, strictSchema: undefined }, 'schema')).toEqual({ format: 'json' });
    const list = (items: JsonObject) => ({ type: 'object', properties: { list: items }, required: ['list'] });
    const long = list({ type: 'array', items: choices });
    expect(toOllamaFormat({ schema: long, strictSchema: undefined }, 'schema')).toEqual({ format: list({ type: 'array' }) });
  });

  it('an Ollama whose runner falls over the schema is asked for plain JSON', async () => {
    const server = await startOllamaServer([{ name: 'small:latest' }]);
    closers.push(() => server.close());
    const crash = { error: 'model runner has unexpectedly stopped, this may be due to resource limitations or an internal error' };
    server.answers.push([{ status: 500, body: JSON.stringify(crash) }], [ollamaLine({ content: '{}' }), ollamaEnd()]);
    const connection = { baseUrl: server.url, firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000, maxContext: 32_768 };
    const backend = adaptBackend(createOllama(connection, directSend).backend, ollama);
    await Array.fromAsync(answerOf(backend, askModel({ model: 'small:latest', output })));
    expect(server.chats().map((body) => body['format'])).toEqual([schema, 'json']);
  });
});
