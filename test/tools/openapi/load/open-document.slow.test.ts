import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { createRegisteredBudget, createRequestBudget } from '../../../../src/tools/openapi/conversion-budget.ts';
import { openForeignDocument, type DocumentReader } from '../../../../src/tools/openapi/load/open-foreign-document.ts';
import { openDocumentInWorker, type FromDocumentJob, type ToDocumentJob } from '../../../../src/tools/openapi/load/open-document-job.ts';
import { openDocument, type DocumentJob, type OpenedDocument } from '../../../../src/tools/openapi/load/open-document.ts';
import { begunJobs, watchWorkerJobs } from '../../../_support/worker-jobs.ts';

const lines = Array.from({ length: 2_000 }, (_, index) => `  /path${index}: { get: { summary: s } }`);
const bigYaml = `openapi: 3.1.0\ninfo: { title: Big, version: "1" }\npaths:\n${lines.join('\n')}\n`;
const never = new AbortController().signal;
const reader: DocumentReader = { kind: 'requested', caller: 'key-1', signal: never };
const noFiles = (): Promise<never> => Promise.reject(new Error('no files here'));

function jobOf(source: DocumentJob['source'], more: Partial<DocumentJob> = {}): DocumentJob {
  return { source, budget: createRegisteredBudget(), isChecked: false, ...more };
}

function openInWorker(source: DocumentJob['source'], more: Partial<DocumentReader> = {}): Promise<OpenedDocument> {
  return openForeignDocument(jobOf(source), noFiles, { ...reader, ...more });
}

describe('openDocument', () => {
  it('gives the functions, and of the document only what is not functions', async () => {
    const document = { openapi: '3.1.0', info: { title: 'T' }, servers: [{ url: '/api' }], paths: { '/a': { get: {} } }, components: {} };
    const opened = await openDocument(jobOf(document), noFiles);
    expect(opened.conversion.operations.map(({ spec }) => spec.name)).toEqual(['get_a']);
    expect(opened.head).toEqual({ openapi: '3.1.0', info: { title: 'T' }, servers: [{ url: '/api' }], paths: { '/a': {} } });
    expect(opened.notes).toEqual([]);
  });

  it('says what a validator says, where that is wanted', async () => {
    const { notes } = await openDocument(jobOf({ openapi: '3.1.0', paths: {} }, { isChecked: true }), noFiles);
    expect(notes.join()).toContain('info');
  });
});

describe('a document that repeats a credential', () => {
  const secrets = ['canary-4f9a8b7c6d5e'];
  const key = secrets[0] ?? '';

  it('gives no function its name', async () => {
    const operation = { get: { responses: {} } };
    const paths = { '/a': { get: { operationId: `get ${key}` } }, '/b': { get: { operationId: `get_${key}` } }, [`/c/${key}`]: operation };
    const { conversion } = await openDocument(jobOf({ openapi: '3.1.0', paths }, { secrets }), noFiles);
    const names = conversion.operations.flatMap(({ operationId, spec }) => [operationId, spec.name]);
    expect(new Set(names).size).toBeGreaterThanOrEqual(3);
    expect(names.filter((name) => name.includes('canary'))).toEqual([]);
    expect(conversion.operations.map(({ path }) => path)).toEqual(['/a', '/b', `/c/${key}`]);
  });

  it.each([`{"openapi": ${key}`, `openapi: "3.1.0\n${key}: *${key}`, `[${key}]`])('does not say a piece of it about %s', async (text) => {
    const source = Buffer.from(text);
    await expect(openDocument(jobOf(source, { secrets }), noFiles)).rejects.toThrow(/^(?!.*canar)/);
    await expect(openDocument(jobOf(text, { secrets }), noFiles)).rejects.toThrow(/^(?!.*canar)/);
  });

  it('does not say a piece of it about a file that it refers to', async () => {
    const paths = { '/a': { get: { operationId: 'a', parameters: [{ $ref: 'more.json#/x' }] } } };
    const job = jobOf({ openapi: '3.1.0', paths }, { secrets, url: 'http://docs.test/openapi.json' });
    const { conversion } = await openDocument(job, () => Promise.resolve(Buffer.from(`{"x": ${key}`)));
    expect(conversion.warnings.join()).toContain('could not be used');
    expect(JSON.stringify(conversion)).not.toContain('canar');
  });
});

describe('a document whose references double at each step', () => {
  const doubling = (steps: number): JsonObject => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: {
      '/a': { get: { parameters: [{ name: 'q', in: 'query', schema: { $ref: `#/components/schemas/S${steps}` } }], responses: {} } },
    },
    components: {
      schemas: Object.fromEntries(
        Array.from({ length: steps + 1 }, (_, step) => {
          const before = { $ref: `#/components/schemas/S${step - 1}` };
          return [`S${step}`, step === 0 ? { type: 'string' } : { anyOf: [before, before] }];
        }),
      ),
    },
  });

  it.each([20, 45, 5_000])('is converted and not checked (%s steps)', async (steps) => {
    const { conversion, notes } = await openDocument(jobOf(doubling(steps), { isChecked: true }), noFiles);
    expect([...conversion.operations, ...conversion.omitted]).toHaveLength(1);
    expect(notes).toEqual([expect.stringContaining('was not checked') as string]);
  });

  it('is checked where that is little', async () => {
    const { notes } = await openDocument(jobOf(doubling(5), { isChecked: true }), noFiles);
    expect(notes).toEqual([]);
  });
});

describe('openForeignDocument', () => {
  it('reads large documents in a thread, with the same result', async () => {
    const events = watchWorkerJobs();
    const json = JSON.stringify({ openapi: '3.0.0', paths: { '/a': { get: { description: 'd'.repeat(100_000) } } } });
    const object = JSON.parse(json) as JsonObject;
    for (const source of [bigYaml, new TextEncoder().encode(bigYaml), json, object]) {
      const direct = await openDocument(jobOf(source), noFiles);
      expect(await openInWorker(source)).toEqual(direct);
    }
    expect(begunJobs(events)).toBe(4);
  });

  it('starts no thread for a small one', async () => {
    const events = watchWorkerJobs();
    await openInWorker('{"openapi":"3.0.0","paths":{}}');
    await openInWorker({ openapi: '3.0.0', paths: {} });
    expect(begunJobs(events)).toBe(0);
  });

  it('checks one small document itself, and others meanwhile in threads', async () => {
    const events = watchWorkerJobs();
    const check = (): Promise<OpenedDocument> =>
      openForeignDocument(jobOf('{"openapi":"3.0.0","paths":{}}', { isChecked: true }), noFiles, reader);
    for (const { notes } of await Promise.all([check(), check(), check()])) expect(notes.join()).toContain('info');
    expect(begunJobs(events)).toBe(2);
    await check();
    expect(begunJobs(events)).toBe(2);
  });

  it('ends its own attempt at a small one that takes long, and begins anew in a thread', async () => {
    const events = watchWorkerJobs();
    const requested: string[] = [];
    const fetchFile = (url: string): Promise<Uint8Array> => {
      requested.push(url);
      const properties = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`p${index}`, { type: 'string' }]));
      return Promise.resolve(new TextEncoder().encode(JSON.stringify({ type: 'object', properties })));
    };
    const requestBody = { content: { 'application/json': { schema: { $ref: 'big.json' } } } };
    const paths = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`/p${index}`, { post: { requestBody } }]));
    const source = JSON.stringify({ openapi: '3.1.0', paths });
    const direct = await openDocument(jobOf(source, { url: 'http://a.test/openapi.json' }), fetchFile);
    requested.length = 0;
    const [budget, spent] = [createRegisteredBudget(), createRegisteredBudget()];
    await openDocument(jobOf(source, { url: 'http://a.test/openapi.json', budget: spent }), fetchFile);
    requested.length = 0;
    const opened = await openForeignDocument(jobOf(source, { url: 'http://a.test/openapi.json', budget }), fetchFile, reader);
    expect(opened).toEqual(direct);
    expect(opened.conversion.operations).toHaveLength(60);
    expect(begunJobs(events)).toBe(1);
    // The file is fetched once, and the attempt costs nothing.
    expect(requested).toEqual(['http://a.test/big.json']);
    expect(budget).toEqual(spent);
  });

  it.each([
    ['YAML', (index: number) => `  p${index}: { type: string, description: ${'d'.repeat(30)} }`, 'type: object\nproperties:\n', '\n'],
    [
      'JSON',
      (index: number) => `"p${index}":{"type":"string","description":"${'d'.repeat(400)}"}`,
      '{"type":"object","properties":{',
      '}}',
    ],
  ])('reads large files of a small one in a thread (%s)', async (_, line, head, end) => {
    const events = watchWorkerJobs();
    const lineEnd = end === '}}' ? ',' : '\n';
    const text = `${head}${Array.from({ length: 250 }, (_unused, index) => line(index)).join(lineEnd)}${end}`;
    const fetchFile = (): Promise<Uint8Array> => Promise.resolve(new TextEncoder().encode(text));
    const requestBody = { content: { 'application/json': { schema: { $ref: 'big' } } } };
    const job = jobOf({ openapi: '3.1.0', paths: { '/a': { post: { requestBody } } } }, { url: 'http://a.test/openapi.json' });
    const opened = await openForeignDocument(job, fetchFile, reader);
    expect(opened.conversion.warnings).toEqual([]);
    expect(Object.keys(opened.conversion.operations[0]?.spec.parameters['properties'] ?? {})).toHaveLength(250);
    expect(begunJobs(events)).toBe(1);
  });

  it('takes what a small one cost from the budget', async () => {
    const [budget, spent] = [createRegisteredBudget(), createRegisteredBudget()];
    const source = { openapi: '3.1.0', paths: { '/a': { get: {} } } };
    await openDocument(jobOf(source, { budget: spent }), noFiles);
    await openForeignDocument(jobOf(source, { budget }), noFiles, reader);
    expect(budget).toEqual(spent);
    expect(budget).not.toEqual(createRegisteredBudget());
  });

  it('is read in slices, so that nothing waits for the whole of it', async () => {
    const { port1, port2 } = new MessageChannel();
    const sizes: number[] = [];
    port1.on('message', (message: FromDocumentJob) => {
      sizes.push(message.operations?.length ?? 0);
      // eslint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
      port1.postMessage({ id: message.id } satisfies ToDocumentJob);
    });
    const { opened } = await openDocumentInWorker({ job: jobOf(bigYaml), port: port2 });
    expect(opened.conversion.operations).toEqual([]);
    expect(sizes.length).toBeGreaterThan(3);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(lines.length);
  });

  it('reports what is wrong with a large one in the same words', async () => {
    await expect(openInWorker(`${bigYaml}\nx: [`)).rejects.toThrow('neither JSON nor valid YAML');
    await expect(openInWorker(`{"openapi":"3.0.0","x":"${'x'.repeat(100_000)}"`)).rejects.toThrow('not valid JSON');
  });

  it('ends the thread with the signal and rejects with its reason', async () => {
    const controller = new AbortController();
    const opening = openInWorker(bigYaml, { signal: controller.signal });
    controller.abort(new Error('left'));
    await expect(opening).rejects.toThrow('left');
  });

  it('gives each caller a thread before anyone a second one, and whoever leaves does not wait', async () => {
    const events = watchWorkerJobs();
    const leaver = new AbortController();
    const staying = ['a', 'a', 'a', 'b', 'c'].map((caller) => openInWorker(bigYaml, { caller }));
    const leaving = openInWorker(bigYaml, { caller: 'a', signal: leaver.signal });
    leaver.abort(new Error('left'));
    const first = await Promise.race([leaving.catch((error: unknown) => error), ...staying]);
    expect(first).toEqual(new Error('left'));
    expect(await Promise.all(staying)).toHaveLength(5);
    expect(events.filter(({ type }) => type === 'begun').map(({ caller }) => caller)).toEqual(['a', 'b', 'c', 'a', 'a']);
    const running = events.map((_, index) => events.slice(0, index + 1).reduce((sum, { type }) => sum + (type === 'begun' ? 1 : -1), 0));
    expect(Math.max(...running)).toBe(2);
  });

  it("reads registered servers' documents at once, whatever requests have brought", async () => {
    const events = watchWorkerJobs();
    const requested = ['a', 'b', 'c', 'd', 'e', 'f'].map((caller) => openInWorker(bigYaml, { caller }));
    await openInWorker(bigYaml, { kind: 'registered', caller: 'weather' });
    expect(
      events
        .filter(({ type }) => type === 'begun')
        .slice(0, 3)
        .map(({ caller }) => caller),
    ).toEqual(['a', 'b', 'weather']);
    await Promise.all(requested);
  });

  it('takes what a thread spent from the budget that several documents share', async () => {
    const budget = createRequestBudget();
    const before = budget.nodesLeft;
    const one = await openForeignDocument(jobOf(bigYaml, { budget }), noFiles, reader);
    const cost = before - budget.nodesLeft;
    expect(cost).toBeGreaterThan(lines.length);
    expect(one.conversion.operations).toHaveLength(lines.length);
    budget.nodesLeft = Math.floor(cost * 1.5);
    const both = await Promise.all([0, 1].map(() => openForeignDocument(jobOf(bigYaml, { budget }), noFiles, reader)));
    expect(both[0]?.conversion.operations).toHaveLength(lines.length);
    expect(both[1]?.conversion.operations.length).toBeLessThan(lines.length);
  });
});

describe('a document in several files', () => {
  const root = 'http://tools.test:8000/docs/openapi.yaml';
  const files: Record<string, string> = {
    'http://tools.test:8000/docs/paths/pets.json':
      '{"get":{"operationId":"pets","parameters":[{"$ref":"../parameters.yaml#/limit"}]},"post":{"operationId":"add","requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"../schemas/Pet.json"}}}}}}',
    'http://tools.test:8000/docs/parameters.yaml':
      'limit: { name: limit, in: query, schema: { $ref: "#/size" } }\nsize: { type: integer, maximum: 9 }\n',
    'http://tools.test:8000/docs/schemas/Pet.json':
      '{"type":"object","properties":{"name":{"$ref":"../openapi.yaml#/components/schemas/Name"},"friend":{"$ref":"Pet.json"}}}',
  };
  const yaml = `openapi: 3.0.0
paths:
  /pets: { $ref: "./paths/pets.json" }
  /a: { get: { operationId: a, parameters: [{ $ref: "../secret.json" }] } }
  /b: { get: { operationId: b, parameters: [{ $ref: "http://other.test/docs/b.json" }] } }
  /c: { get: { operationId: c, parameters: [{ $ref: "none.json" }] } }
  /d: { get: { operationId: d } }
components: { schemas: { Name: { type: string, maxLength: 5 } } }
`;
  const asked: string[] = [];
  const fetchFile = (url: string): Promise<Uint8Array> => {
    asked.push(url);
    const text = files[url];
    return text === undefined ? Promise.reject(new Error('does not exist (HTTP 404).')) : Promise.resolve(new TextEncoder().encode(text));
  };

  it.each(['here', 'in a thread'])('becomes one, %s', async (place) => {
    asked.length = 0;
    const source = place === 'here' ? yaml : `${yaml}# ${'x'.repeat(100_000)}\n`;
    const { conversion, isOneFile } = await openForeignDocument(jobOf(source, { url: root }), fetchFile, reader);
    const { operations, omitted, warnings } = conversion;
    expect(operations.map(({ spec }) => [spec.name, spec.parameters])).toEqual([
      ['pets', { type: 'object', properties: { limit: { type: 'integer', maximum: 9 } }, required: [] }],
      [
        'add',
        expect.objectContaining({
          properties: { name: { type: 'string', maxLength: 5 }, friend: { $ref: '#/$defs/Pet' } },
        }),
      ],
      ['d', expect.anything()],
    ]);
    expect(omitted.map(({ operation, reason }) => `${operation} ${reason}`)).toEqual([
      expect.stringContaining('GET /a the reference "../secret.json" leaves the document'),
      expect.stringContaining('GET /b the reference "http://other.test/docs/b.json" leaves'),
      expect.stringContaining('GET /c the reference "none.json" leaves'),
    ]);
    expect(warnings).toEqual(['http://tools.test:8000/docs/none.json could not be used: does not exist (HTTP 404).']);
    expect(asked.toSorted()).toEqual([...Object.keys(files), 'http://tools.test:8000/docs/none.json'].toSorted());
    expect(isOneFile).toBe(false);
  });

  it.each([
    '/docs/../secret.json',
    '/secret.json',
    '//other.test/docs/a.json',
    'https://tools.test:8000/docs/a.json',
    'file:///docs/a.json',
    '..%2fsecret.json',
    '%2e%2e/secret.json',
    '..\\secret.json',
    'http://user@tools.test:8000/docs/a.json',
  ])('never asks for %s', async (reference) => {
    asked.length = 0;
    const document = { openapi: '3.0.0', paths: { '/a': { $ref: reference } } };
    const { conversion } = await openDocument(jobOf(document, { url: root }), fetchFile);
    expect(asked).toEqual([]);
    expect(conversion.omitted).toHaveLength(1);
  });

  it('without an address asks for none', async () => {
    asked.length = 0;
    const { conversion } = await openDocument(jobOf(yaml), fetchFile);
    expect(asked).toEqual([]);
    expect(conversion.operations.map(({ spec }) => spec.name)).toEqual(['d']);
  });
});
