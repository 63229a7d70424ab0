import { GatewayError } from '../../../src/core/errors.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { RefusalMemory } from '../../../src/models/remedies/refusal-memory.ts';
import { askModel } from '../../_support/model-answers.ts';
import type { ModelBackend, ModelRecord } from '../../../src/core/models/model.ts';
import { modelListTtlMs } from '../../../src/models/catalog/backend-models.ts';
import { createModelCatalog } from '../../../src/models/catalog/model-catalog.ts';
import type { CatalogBackend } from '../../../src/models/catalog/catalog-backend.ts';
import { generatedBy } from '../../_support/scripted-model.ts';

const signal = AbortSignal.timeout(60_000);

/** A backend whose list a test can change, count, break and hang. */
class ScriptedList implements CatalogBackend {
  readonly backend: ModelBackend = generatedBy(async function* () {});
  readonly isLocal: boolean = true;
  readonly name: string;
  readonly prefix?: string;
  models: string[];
  fault: Error | 'hang' | undefined;
  capabilities: string[] | undefined;
  lists = 0;

  constructor(name: string, models: string[], prefix?: string) {
    this.name = name;
    this.models = models;
    if (prefix !== undefined) this.prefix = prefix;
  }

  async list(wanted: AbortSignal): Promise<ModelRecord[]> {
    this.lists++;
    if (this.fault === 'hang')
      return new Promise((_resolve, reject) => wanted.addEventListener('abort', () => reject(wanted.reason as Error)));
    if (this.fault !== undefined) throw this.fault;
    return this.models.map((id) => ({ id, owner: this.name, isLocal: true, created: 0, capabilities: this.capabilities, details: {} }));
  }
}

let time = 0;
const catalogOf = (...backends: CatalogBackend[]) => createModelCatalog({ backends, now: () => time });
const idsOf = async (catalog: ReturnType<typeof catalogOf>) => (await catalog.list(signal)).map((record) => record.id);

beforeEach(() => {
  time = 1_000_000;
});

describe('backends that change', () => {
  it('are found and listed by the next question, and those that stay keep their lists', async () => {
    const [stays, goes, comes] = [new ScriptedList('stays', ['a']), new ScriptedList('goes', ['b']), new ScriptedList('comes', ['c'])];
    const catalog = catalogOf(stays, goes);
    expect(await idsOf(catalog)).toEqual(['a', 'b']);
    const before = await catalog.require('b', signal);
    catalog.replaceBackends([comes, stays]);
    expect(await catalog.require('c', signal)).toMatchObject({ backend: comes.backend });
    await expect(Promise.resolve(catalog.require('b', signal))).rejects.toMatchObject({ code: 'model_not_found' });
    expect(await idsOf(catalog)).toEqual(['c', 'a']);
    expect(before.backend).toBe(goes.backend);
    expect([stays.lists, comes.lists]).toEqual([1, 1]);
  });
});

describe('the list of models', () => {
  it('joins all backends; an id on several is one model, of the first', async () => {
    const catalog = catalogOf(new ScriptedList('one', ['a', 'b']), new ScriptedList('two', ['b', 'org/c']));
    expect((await catalog.list(signal)).map((record) => [record.id, record.owner])).toEqual([
      ['a', 'one'],
      ['b', 'one'],
      ['org/c', 'two'],
    ]);
  });

  it('shows both of two equal ids when one backend has a prefix', async () => {
    const catalog = catalogOf(new ScriptedList('one', ['b']), new ScriptedList('two', ['b', 'org/c'], 'x'));
    expect(await idsOf(catalog)).toEqual(['b', 'x/b', 'x/org/c']);
  });

  it('is kept for a while and then read again, once for all who wait', async () => {
    const backend = new ScriptedList('one', ['a']);
    const catalog = catalogOf(backend);
    await Promise.all([catalog.list(signal), catalog.list(signal), catalog.require('a', signal), catalog.backends()]);
    time += 29_999;
    await catalog.list(signal);
    expect(backend.lists).toBe(1);
    time += 1;
    backend.models = ['z'];
    expect(await idsOf(catalog)).toEqual(['z']);
    expect(backend.lists).toBe(2);
  });

  it('loses only the models of a backend that fails, as soon as its list is read again', async () => {
    const [one, two] = [new ScriptedList('one', ['a']), new ScriptedList('two', ['b'])];
    const catalog = catalogOf(one, two);
    await catalog.list(signal);
    one.fault = new Error('refused');
    time += 30_000;
    expect(await idsOf(catalog)).toEqual(['b']);
    expect(await catalog.backends()).toEqual([
      { name: 'one', state: 'unreachable', models: 0, error: 'refused' },
      { name: 'two', state: 'ok', models: 1 },
    ]);
    one.fault = undefined;
    expect(await idsOf(catalog)).toEqual(['b']);
    time += 5_000;
    expect(await idsOf(catalog)).toEqual(['a', 'b']);
  });

  it('lets a caller go who leaves while it is read, and goes on for the others', async () => {
    const backend = new ScriptedList('one', ['a']);
    const catalog = catalogOf(backend);
    const leaving = new AbortController();
    const left = catalog.list(leaving.signal);
    const stayed = idsOf(catalog);
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(await stayed).toEqual(['a']);
    expect(() => catalog.require('a', leaving.signal)).toThrow('gone');
  });
});

describe('a backend that hangs', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('costs two seconds, once, and its own models', async () => {
    const [dead, alive] = [new ScriptedList('dead', ['a']), new ScriptedList('alive', ['b'])];
    dead.fault = 'hang';
    const catalog = catalogOf(dead, alive);
    const listed = idsOf(catalog);
    await vi.advanceTimersByTimeAsync(1_999);
    expect(await Promise.race([listed, Promise.resolve('waiting')])).toBe('waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect(await listed).toEqual(['b']);
    time += 4_999;
    expect(await idsOf(catalog)).toEqual(['b']);
    expect(dead.lists).toBe(1);
  });

  it('does not hold up a chat with a model of another one that it has held up before', async () => {
    const [dead, alive] = [new ScriptedList('dead', ['a']), new ScriptedList('alive', ['b'])];
    dead.fault = 'hang';
    const catalog = catalogOf(dead, alive);
    const first = catalog.require('b', signal);
    await vi.advanceTimersByTimeAsync(2_000);
    await first;
    time += 30_000;
    expect((await catalog.require('b', signal)).name).toBe('b');
    await vi.advanceTimersByTimeAsync(2_000);
  });

  it('cannot outlive the limit by ignoring its signal', async () => {
    const deaf: CatalogBackend = {
      name: 'deaf',
      isLocal: false,
      backend: generatedBy(async function* () {}),
      list: () => new Promise(() => {}),
    };
    const listed = idsOf(catalogOf(deaf));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await listed).toEqual([]);
  });
});

describe('a model', () => {
  it("is found under its id, with the backend's own name of it", async () => {
    const prefixed = new ScriptedList('two', ['org/c'], 'x');
    const catalog = catalogOf(new ScriptedList('one', ['a']), prefixed);
    expect(await catalog.require('x/org/c', signal)).toMatchObject({ record: { id: 'x/org/c' }, name: 'org/c', backend: prefixed.backend });
    await expect(catalog.require('org/c', signal)).rejects.toMatchObject({ code: 'model_not_found' });
  });

  it('of an Ollama is found without its tag', async () => {
    const catalog = catalogOf(new ScriptedList('ollama', ['llama3.2:latest', 'qwen3:8b']));
    expect(await catalog.require('llama3.2', signal)).toMatchObject({ name: 'llama3.2:latest', record: { id: 'llama3.2:latest' } });
    await expect(catalog.require('qwen3', signal)).rejects.toMatchObject({ code: 'model_not_found' });
  });

  it('that is new is found once the list is two seconds old', async () => {
    const backend = new ScriptedList('one', ['a']);
    const catalog = catalogOf(backend);
    await catalog.list(signal);
    backend.models = ['a', 'new'];
    time += 2_000;
    await expect(catalog.require('new', signal)).rejects.toMatchObject({ code: 'model_not_found' });
    expect(backend.lists).toBe(1);
    time += 1;
    expect((await catalog.require('new', signal)).name).toBe('new');
    expect(backend.lists).toBe(2);
  });

  it('that is unknown is refused with the ids that are known', async () => {
    const models = Array.from({ length: 11 }, (_, index) => `m${index}`);
    const refused = catalogOf(new ScriptedList('one', models)).require('gpt-9', signal);
    await expect(refused).rejects.toMatchObject({ code: 'model_not_found', status: 404, param: 'model' });
    await expect(refused).rejects.toThrow('The model "gpt-9" is not known. Known models: m0, m1, m2, m3, m4, m5, m6, m7 and 3 more.');
  });

  it('that is asked of an empty Ollama is refused with the command that helps', async () => {
    const refused = catalogOf(new ScriptedList('ollama', []), new ScriptedList('demo', ['demo'])).require('llama3.2:3b', signal);
    await expect(refused).rejects.toThrow(/Known models: demo\. .*Run: ollama pull llama3\.2:3b/u);
    const odd = catalogOf(new ScriptedList('ollama', [])).require('; rm -rf /', signal);
    await expect(odd).rejects.toThrow(/Run: ollama pull llama3\.2$/u);
  });

  it('that was listed before is found while the list of its backend fails, but not in place of one that is listed, nor for ever', async () => {
    const [failing, alive] = [new ScriptedList('failing', ['a', 'b']), new ScriptedList('alive', ['b'])];
    const catalog = catalogOf(failing, alive);
    await catalog.list(signal);
    failing.fault = new Error('too late');
    time += 60_000;
    expect((await catalog.require('a', signal)).record.owner).toBe('failing');
    expect((await catalog.require('b', signal)).record.owner).toBe('alive');
    expect(await idsOf(catalog)).toEqual(['b']);
    time += 600_000;
    await expect(catalog.require('a', signal)).rejects.toMatchObject({ code: 'model_not_found' });
  });

  it('that is asked of a dead backend is refused with the name of that backend', async () => {
    const dead = new ScriptedList('ollama', []);
    dead.fault = new Error('refused');
    await expect(catalogOf(dead).require('a', signal)).rejects.toThrow(
      /No backend lists any model\. Backends that do not answer: ollama\. The model may be on one of them\.$/u,
    );
  });

  it('that is asked of a backend which refuses the key is refused with that reason, and with no address', async () => {
    const refusing = new ScriptedList('openai-2', []);
    refusing.fault = new GatewayError('upstream_auth_failed', 'http://10.0.0.7/v1 refuses the key sk-CANARY.');
    const catalog = catalogOf(new ScriptedList('demo', ['demo']), refusing);
    await expect(catalog.require('a', signal)).rejects.toThrow(
      'The model "a" is not known. Known models: demo. Backends that refuse the gateway\'s key: openai-2. The model may be on one of them.',
    );
    expect((await catalog.backends())[1]).toMatchObject({ name: 'openai-2', state: 'key_refused', models: 0 });
  });

  it.each([
    [['completion', 'tools'], 'yes'],
    [['completion'], 'no'],
    [undefined, 'unknown'],
  ])('says by its capabilities %j whether it calls functions: %s', async (capabilities, nativeTools) => {
    const backend = new ScriptedList('one', ['a']);
    backend.capabilities = capabilities;
    expect(await catalogOf(backend).require('a', signal)).toMatchObject({ nativeTools });
  });

  it.each([
    [['completion', 'tools', 'vision'], ['completion', 'vision'], 'yes'],
    [undefined, ['completion'], 'unknown'],
  ])(
    'with %j that refused functions is shown without them for an hour, to others once two keys were refused',
    async (stated, shown, later) => {
      const backend = new ScriptedList('one', ['a'], 'x');
      backend.capabilities = stated;
      const memory = new RefusalMemory(() => time);
      const catalog = createModelCatalog({ backends: [backend], now: () => time, memory });
      const warning = { code: 'tools_unsupported', message: 'No tools.' };
      const lesson = { kind: 'tools', subject: '', change: 'left out', content: '', warning } as const;
      const learn = (callerId: string): void => {
        const origin = { callerId, sourceOf: () => undefined };
        const request = askModel({ messages: [{ role: 'user', content: `I am ${callerId}.` }], origin });
        memory.of('one', 'a').learn(lesson, { request, pointsAt: 'does not support tools' });
      };
      const [ada, bob] = [{ id: 'ada' }, { id: 'bob' }];
      learn('ada');
      expect(await catalog.require('x/a', signal, ada)).toMatchObject({ nativeTools: 'no' });
      expect(await catalog.list(signal, ada)).toMatchObject([{ id: 'x/a', capabilities: shown }]);
      expect(await catalog.require('x/a', signal, bob)).toMatchObject({ nativeTools: later });
      expect((await catalog.list(signal, bob))[0]?.capabilities).toEqual(stated);
      learn('bob');
      expect(await catalog.require('x/a', signal)).toMatchObject({ nativeTools: 'no' });
      expect(await catalog.list(signal, { id: 'carl' })).toMatchObject([{ id: 'x/a', capabilities: shown }]);
      time += 60 * 60 * 1000 + 1;
      expect(await catalog.require('x/a', signal)).toMatchObject({ nativeTools: later });
    },
  );

  it('is asked anew what it refuses once its backend was away', async () => {
    const backend = new ScriptedList('one', ['a']);
    const memory = new RefusalMemory(() => time);
    const catalog = createModelCatalog({ backends: [backend], now: () => time, memory });
    const warning = { code: 'tools_unsupported', message: 'No tools.' };
    const lesson = { kind: 'tools', subject: '', change: 'left out', content: '', warning } as const;
    await catalog.list(signal);
    memory.of('one', 'a').learn(lesson, { request: askModel(), pointsAt: 'does not support tools' });
    time += modelListTtlMs;
    await catalog.list(signal);
    expect(memory.remembered()).toHaveLength(1);
    backend.fault = new Error('away');
    time += modelListTtlMs;
    await catalog.list(signal);
    backend.fault = undefined;
    time += modelListTtlMs;
    await catalog.list(signal);
    expect(memory.remembered()).toEqual([]);
  });

  it('is asked anew what it refuses once another backend has taken the name, and keeps what others refuse', async () => {
    const [one, two] = [new ScriptedList('one', ['a']), new ScriptedList('two', ['b'])];
    const memory = new RefusalMemory(() => time);
    const catalog = createModelCatalog({ backends: [one, two], now: () => time, memory });
    const warning = { code: 'tools_unsupported', message: 'No tools.' };
    const lesson = { kind: 'tools', subject: '', change: 'left out', content: '', warning } as const;
    for (const [backend, model] of [
      ['one', 'a'],
      ['two', 'b'],
    ] as const)
      memory.of(backend, model).learn(lesson, { request: askModel(), pointsAt: 'does not support tools' });
    catalog.replaceBackends([new ScriptedList('one', ['a']), two]);
    expect(memory.remembered()).toMatchObject([{ backend: 'two' }]);
  });

  it('whose name belongs to the prototype is not known', async () => {
    await expect(catalogOf(new ScriptedList('one', ['a'])).require('__proto__', signal)).rejects.toMatchObject({ code: 'model_not_found' });
  });
});
