import { describe, expect, it } from 'vitest';
import type { Lesson, LessonRule } from '../../../src/core/models/lesson.ts';
import type { ModelRequest, RequestOrigin } from '../../../src/core/models/model.ts';
import type { ToolSpec } from '../../../src/core/tools/tool.ts';
import { RefusalMemory, lessonMemoryMs } from '../../../src/models/remedies/refusal-memory.ts';
import { askModel } from '../../_support/model-answers.ts';

const search: ToolSpec = { name: 'search', description: 'Looks for things', parameters: { type: 'object', properties: {} } };
const lesson: Lesson = {
  kind: 'function',
  subject: 'search',
  change: 'simplified',
  content: 'schema',
  warning: { code: 'function_schema_refused', message: 'The function "search" is offered in a simpler form.' },
  servers: ['box'],
};
const words = "function 'search'";
const hello = { role: 'user', content: 'Hello.' } as const;
const earlierCall = { id: 'call_1', name: 'search', arguments: '{}' };

/** One run of a caller; `own`: the names of functions that came with its request. */
function runOf(callerId: string, own: readonly string[] = []): RequestOrigin {
  return { callerId, sourceOf: (name) => ({ server: 'box', isOwn: own.includes(name) }) };
}

function requestOf(origin: RequestOrigin, fields: Partial<ModelRequest> = {}): ModelRequest {
  return askModel({ tools: [search], origin, ...fields });
}

interface Taught {
  fields?: Partial<ModelRequest>;
  own?: readonly string[];
  pointsAt?: string | undefined;
  rule?: LessonRule;
  /** All words of the refusal. */
  refusal?: string;
}

interface Reach {
  run: boolean;
  /** Another run of Ada with the same parts. */
  same: boolean;
  /** One without them. */
  plain: boolean;
  /** A run of Bob with the same. */
  other: boolean;
  /** The same once Carl was refused in the same way. */
  confirmed: boolean;
}

/** Whom a lesson reaches that one run of Ada has taught. */
function reachOf({ fields = {}, own = [], rule, refusal, ...taught }: Taught): Reach {
  const lessons = new RefusalMemory(() => 0).of('llm', 'm');
  const request = requestOf(runOf('ada', own), fields);
  const proof = { pointsAt: 'pointsAt' in taught ? taught.pointsAt : words, ...(rule && { rule }), ...(refusal && { words: refusal }) };
  lessons.learn(lesson, { request, ...proof });
  const isTold = (asked: ModelRequest): boolean => lessons.recall('function', asked).length > 0;
  const reached = {
    run: isTold(request),
    same: isTold(requestOf(runOf('ada', own), fields)),
    plain: isTold(requestOf(runOf('ada'))),
    other: isTold(requestOf(runOf('bob', own), fields)),
  };
  const again = requestOf(runOf('carl', own), { ...fields, messages: [hello, hello, ...(fields.messages ?? [])] });
  lessons.learn(lesson, { request: again, ...proof });
  return { ...reached, confirmed: isTold(requestOf(runOf('bob', own), fields)) };
}

const forRun = { run: true, same: false, plain: false, other: false, confirmed: false };
const forCaller = { run: true, same: true, plain: false, other: false, confirmed: false };
const forEverybodyLater = { run: true, same: true, plain: true, other: false, confirmed: true };
const forEverybody = { run: true, same: true, plain: true, other: true, confirmed: true };

describe('a lesson that takes something away', () => {
  it.each<[string, Taught]>([
    ['points at it, and the caller brought nothing', {}],
    ['is asked for with other samplings', { fields: { parameters: { temperature: 0, stop: ['x'], max_tokens: 5 } } }],
    ['may call whatever it likes', { fields: { toolChoice: 'auto', parallelToolCalls: true } }],
  ])('is for the caller, and for everybody once another key confirms it, where the refusal %s', (_name, taught) => {
    expect(reachOf(taught)).toEqual(forEverybodyLater);
  });

  it.each<[string, string, Partial<ModelRequest>, string, boolean]>([
    ['another key with another request', 'key_2/bob', { messages: [hello, hello] }, 'simplified', true],
    ['another key with the same request', 'key_2/bob', {}, 'simplified', false],
    ['another person of the same key', 'key_1/bob', { messages: [hello, hello] }, 'simplified', false],
    ['the same caller with another request', 'key_1/ada', { messages: [hello, hello] }, 'simplified', false],
    ['another key that needed another change', 'key_2/bob', { messages: [hello, hello] }, 'left out', false],
  ])('is confirmed or not by %s', (_name, callerId, fields, change, isConfirmed) => {
    const memory = new RefusalMemory(() => 0);
    const lessons = memory.of('llm', 'm');
    lessons.learn(lesson, { request: requestOf(runOf('key_1/ada'), { messages: [hello] }), pointsAt: words });
    lessons.learn({ ...lesson, change }, { request: requestOf(runOf(callerId), { messages: [hello], ...fields }), pointsAt: words });
    expect(lessons.recall('function', requestOf(runOf('key_3'))).length > 0).toBe(isConfirmed);
    expect(memory.remembered().filter(({ scope }) => scope === 'everybody')).toHaveLength(isConfirmed ? 1 : 0);
  });

  it('is not confirmed by what was learned more than an hour ago', () => {
    let time = 0;
    const lessons = new RefusalMemory(() => time).of('llm', 'm');
    lessons.learn(lesson, { request: requestOf(runOf('ada')), pointsAt: words });
    time = lessonMemoryMs + 1;
    lessons.learn(lesson, { request: requestOf(runOf('bob'), { messages: [hello, hello] }), pointsAt: words });
    expect(lessons.recall('function', requestOf(runOf('carl')))).toEqual([]);
  });

  it.each<[string, Taught]>([
    ['a function', { fields: { callerTools: [{ type: 'function', function: { name: 'mine' } }] } }],
    ['a tool of the provider', { fields: { callerTools: [{ type: 'web_search' }] } }],
    ['a format', { fields: { parameters: { response_format: { type: 'json_object' } } } }],
    ['an unknown parameter', { fields: { parameters: { provider: { only: ['x'] } } } }],
    ['a demand of a call', { fields: { toolChoice: 'required' } }],
    ['single calls', { fields: { parallelToolCalls: false } }],
    ['a picture', { fields: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }] } }],
    ['a name in a message', { fields: { messages: [{ role: 'user', content: 'Hello.', extra: { name: 'ada' } }] } }],
    ['an earlier call', { fields: { messages: [{ role: 'assistant', content: null, toolCalls: [earlierCall] }, hello] } }],
    ['an earlier result', { fields: { messages: [{ role: 'tool', toolCallId: 'call_1', content: 'sunny' }, hello] } }],
    ['an answer to continue', { fields: { messages: [{ role: 'assistant', content: 'Well', toolCalls: [] }] } }],
    ['a tool server', { own: ['search'] }],
  ])('is for the caller and the same parts where they brought %s', (_name, taught) => {
    expect(reachOf(taught)).toEqual(forCaller);
  });

  it.each<[string, Taught]>([
    ['does not say what it is about', { pointsAt: undefined }],
    ['may quote a message', { fields: { messages: [{ role: 'user', content: `Say: ${words}.` }] } }],
    ['may quote a parameter', { fields: { parameters: { stop: [words] } } }],
    ['may quote the name of a parameter', { fields: { parameters: { [words]: 1 } } }],
    ['may quote another function', { fields: { tools: [search, { ...search, name: 'other', description: words }] } }],
    ['may quote a deep schema', { fields: { tools: [search, { ...search, name: 'other', parameters: deep(20_000) }] } }],
  ])('is for the run where the refusal %s', (_name, taught) => {
    expect(reachOf(taught)).toEqual(forRun);
  });

  it('may be quoted from the function itself, which it is about', () => {
    expect(reachOf({ fields: { tools: [{ ...search, description: words }] } })).toEqual(forEverybodyLater);
  });
});

function deep(levels: number): ToolSpec['parameters'] {
  let schema: ToolSpec['parameters'] = { description: words };
  for (let level = 0; level < levels; level += 1) schema = { items: schema };
  return schema;
}

it('a lesson that loses nothing is for everybody, whoever teaches it and however', () => {
  const fields = { messages: [{ role: 'user' as const, content: words }], parameters: { response_format: { type: 'json_object' } } };
  expect(reachOf({ fields, pointsAt: undefined, rule: 'lossless' })).toEqual(forEverybody);
});

it('a lesson that loses nothing is for the run alone where its words may be quoted', () => {
  expect(reachOf({ fields: { messages: [{ role: 'user', content: words }] }, rule: 'lossless' })).toEqual(forRun);
});

it.each([
  ['a picture that the backend loads', { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } }, forRun],
  ['a file', { type: 'file', file: { file_data: 'data:text/plain;base64,AAAA' } }, forRun],
  ['a picture in the request', { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }, forEverybody],
])('remembers a lesson that is lossless no longer than what it may quote allows: %s', (_what, part, reach) => {
  const content = [{ type: 'text' as const, text: 'Look.' }, part];
  expect(reachOf({ fields: { messages: [{ role: 'user', content }] }, rule: 'lossless' })).toEqual(reach);
});

describe.each<LessonRule>(['lossless', 'proven'])('a lesson that is %s', (rule) => {
  it.each([
    `1 validation error for list[function-wrap[__log_extra_fields__()]] Invalid JSON: EOF while parsing [type=json_invalid, input_value='[{"name": "f", "parameters": {"note": "${words}', input_type=str]`,
    `Model output is no call: ${words}`,
    `parse error at line 1, column 20; last read: '"${words}'`,
    `Could not use what was generated (${words})`,
  ])('is for the run alone where the model may have written its words: %s', (refusal) => {
    expect(reachOf({ rule, refusal })).toEqual(forRun);
  });

  it.each([`Invalid schema for ${words}`, `${words} is invalid. Failed to parse it: type`])(
    'is for everybody where the server has written them: %s',
    (refusal) => {
      expect(reachOf({ rule, refusal })).toEqual(rule === 'lossless' ? forEverybody : forEverybodyLater);
    },
  );
});

it('a lesson about what a caller brought is theirs alone, even where nothing else could be the cause', () => {
  expect(reachOf({ rule: 'own' })).toEqual({ ...forCaller, plain: true });
});

/** Two keys learn the same, so that it is for everybody. */
function teach(memory: RefusalMemory, by = 'ada'): void {
  const lessons = memory.of('llm', 'm');
  lessons.learn(lesson, { request: requestOf(runOf('key_2'), { messages: [hello, hello] }), pointsAt: words });
  lessons.learn(lesson, { request: requestOf(runOf(by), { messages: [hello] }), pointsAt: words });
}

describe('what is remembered', () => {
  it('is of one model of one backend', () => {
    const memory = new RefusalMemory(() => 0);
    teach(memory);
    const found = (backend: string, model: string): number => memory.of(backend, model).recall('function', requestOf(runOf('bob'))).length;
    expect([found('llm', 'm'), found('llm', 'n'), found('other', 'm')]).toEqual([1, 0, 0]);
  });

  it('lasts an hour', () => {
    let time = 0;
    const memory = new RefusalMemory(() => time);
    teach(memory);
    const isThere = (): boolean[] => [
      memory.of('llm', 'm').recall('function', requestOf(runOf('bob'))).length > 0,
      memory.holds({ backend: 'llm', model: 'm' }, 'function'),
      memory.remembered().length > 0,
    ];
    expect(memory.remembered()).toMatchObject([{ ...lesson, backend: 'llm', model: 'm', scope: 'everybody', until: lessonMemoryMs }]);
    time = lessonMemoryMs;
    expect(isThere()).toEqual([true, true, true]);
    time += 1;
    expect(isThere()).toEqual([false, false, false]);
  });

  it('does not last longer when the clock is set back', () => {
    let time = 30 * 24 * lessonMemoryMs;
    const memory = new RefusalMemory(() => time);
    teach(memory);
    time = 0;
    expect(memory.remembered()).toEqual([]);
  });

  it.each<[string, (memory: RefusalMemory) => void, number]>([
    ['its tool server', (memory) => memory.forgetServer('box'), 0],
    ['another tool server', (memory) => memory.forgetServer('cup'), 1],
    ['its backend', (memory) => memory.forgetBackend('llm'), 0],
    ['another backend', (memory) => memory.forgetBackend('other'), 1],
    ['the caller who confirmed it', (memory) => memory.forgetAllOf('key_1/ada'), 0],
    ['the key of the caller', (memory) => memory.forgetAllOf('key_1'), 0],
    ['another caller', (memory) => memory.forgetAllOf('key_3'), 1],
  ])('is cleared or stays with %s', (_name, forget, left) => {
    const memory = new RefusalMemory(() => 0);
    teach(memory, 'key_1/ada');
    forget(memory);
    expect([memory.remembered().length, memory.of('llm', 'm').recall('function', requestOf(runOf('bob'))).length]).toEqual([left, left]);
  });

  it('is replaced by what the same subject taught later', () => {
    const memory = new RefusalMemory(() => 0);
    for (const change of ['simplified', 'left out'])
      memory.of('llm', 'm').learn({ ...lesson, change }, { request: requestOf(runOf('ada')), pointsAt: words });
    expect(memory.remembered().map(({ change }) => change)).toEqual(['left out']);
  });

  it('is shown once in each run', () => {
    const lessons = new RefusalMemory(() => 0).of('llm', 'm');
    const [one, other] = [requestOf(runOf('ada')), requestOf(runOf('ada'))];
    expect([one, one, other].map((request) => lessons.isNewTo(lesson, request))).toEqual([true, false, true]);
  });
});
