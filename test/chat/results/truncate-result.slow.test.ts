import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { truncateResult, headWithin, resultShareBytes, shareAmong, modelResultBytes } from '../../../src/chat/results/truncate-result.ts';
import { createResultStore, keptResultsCharacters, keptResults } from '../../../src/chat/results/stored-results.ts';
import { createReadResultTool } from '../../../src/chat/results/read-result-tool.ts';
import { limits } from '../../../src/core/limits.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import { collect, eventsOf, runContext, toolNamed } from '../../_support/tools.ts';
import { loop, resultsBefore } from '../loop-fixture.ts';

const manyAlphabets = fc.string({ unit: 'binary', maxLength: 3_000, size: 'max' });
const invocation = { callId: 'c', run: runContext(), signal: runContext().signal, timeoutMs: 1 };

it('what fits stays untouched; what is cut keeps whole characters of both ends within the limit', () => {
  fc.assert(
    fc.property(manyAlphabets, fc.integer({ min: 300, max: 2_000 }), (text, maxBytes) => {
      const fitted = truncateResult(text, { maxBytes, results: createResultStore(), readerName: 'read_result' });
      const [head = '', tail = ''] = fitted.text.split(/\n?\[cut: characters [^\]]*\]\n?/u);
      expect(fitted.isCut).toBe(Buffer.byteLength(text) > maxBytes);
      expect(fitted.text === text).toBe(!fitted.isCut);
      expect(Buffer.byteLength(fitted.text)).toBeLessThanOrEqual(maxBytes);
      expect([text.startsWith(head), text.endsWith(tail)]).toEqual([true, true]);
      // 240 bytes are set aside for the mark, and the end gets three tenths of the rest.
      expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(Math.floor((maxBytes - 240) * 0.3));
    }),
  );
});

it('page by page a kept result can be read as a whole', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 2_000, size: 'max' }), async (text) => {
      const results = createResultStore();
      const reference = results.add(text) ?? '';
      const reader = createReadResultTool('read_result', results, 400);
      let read = '';
      while (read.length < text.length) {
        const outcome = await reader.run({ ...invocation, args: { reference, offset: read.length } });
        const page = outcome.type === 'result' ? String(outcome.value) : '';
        expect(Buffer.byteLength(page)).toBeLessThanOrEqual(400);
        read += page.slice(0, page.lastIndexOf('\n[characters '));
      }
      expect(read).toBe(text);
    }),
    { numRuns: 50 },
  );
});

it.each([
  ['a reference that this run has not given', { reference: 'result_9', offset: 0 }, "There is no result 'result_9'"],
  ['an offset behind the end', { reference: 'result_1', offset: 3 }, "'result_1' has 3 characters"],
])('reading %s is an error that says so', async (_name, args, message) => {
  const results = createResultStore();
  results.add('abc');
  const outcome = await createReadResultTool('read_result', results, 400).run({ ...invocation, args });
  expect(outcome).toMatchObject({ type: 'error', message: expect.stringContaining(message) });
});

it('a run keeps so many results and no more; the rest is cut without a reference', () => {
  const results = createResultStore();
  expect(results.isEmpty).toBe(true);
  const references = Array.from({ length: keptResults + 1 }, (_, n) => results.add(`${n}`));
  expect(references.at(-1)).toBeUndefined();
  expect(new Set(references).size).toBe(keptResults + 1);
  const fitted = truncateResult('x'.repeat(1_000), { maxBytes: 500, results, readerName: 'read_result' });
  expect(fitted.text).toMatch(/\[cut: characters \d+ to \d+ of 1000 are left out\.\]/u);
  expect(createResultStore().add('x'.repeat(keptResultsCharacters + 1))).toBeUndefined();
});

it.each([
  [undefined, modelResultBytes],
  [4_096, 4_300],
  [128_000, 134_400],
  [10_000_000, limits.toolResultBytes],
  [10, 1_000],
])('of a context of %o tokens one result may take %i bytes', (tokens, bytes) => {
  expect(resultShareBytes(tokens)).toBe(bytes);
});

it('many results at once together take what two would, and each at least a little', () => {
  expect([1, 2, 4, 8, 1_000].map((results) => shareAmong(10_000, results))).toEqual([10_000, 10_000, 5_000, 2_500, 1_000]);
});

it('text that is no valid Unicode is cut without an error', () => {
  expect(headWithin('\ud83d\ude00', 3)).toBe('');
  expect(headWithin('a\ud83d', 4)).toBe('a\ud83d');
});

it('a model that got a cut result is offered to read on, and the answer cites what it read', async () => {
  const text = `${'a'.repeat(3_000)}needle${'b'.repeat(3_000)}`;
  const model = new ScriptedModel(
    calls(['page', {}]),
    calls(['read_result', { reference: 'result_1', offset: 2_900 }]),
    says('Found the needle.'),
  );
  const events = await collect(loop(model, [toolNamed('page', text)], { contextTokens: 1_000 }));
  expect(model.requests.map((request) => request.tools.map((spec) => spec.name))).toEqual([
    ['page'],
    ['page', 'read_result'],
    ['page', 'read_result'],
  ]);
  const [cut, page] = resultsBefore(model, 2);
  expect(cut).toMatch(/^a+\n\[cut: .* call read_result with \{"reference":"result_1","offset":\d+\}\.\]\nb+$/u);
  expect(page).toContain('needle');
  expect(eventsOf(events, 'limit.reached')).toEqual([
    { limit: 'result_bytes', value: Buffer.byteLength(String(cut)), id: expect.any(String), bytes: 6_006, code: 'output_truncated' },
  ]);
  expect(eventsOf(events, 'tool.result')[0]).toMatchObject({ truncated: true });
  expect(events.filter((event) => event.type === 'source')).toHaveLength(2);
});

it('what the reader is called gives way to what is offered already', async () => {
  const model = new ScriptedModel(calls(['read_result', {}]), says('Done.'));
  await collect(loop(model, [toolNamed('read_result', 'x'.repeat(5_000))], { contextTokens: 1_000 }));
  expect(model.requests[1]?.tools.map((spec) => spec.name)).toEqual(['read_result', 'read_result_2']);
  expect(resultsBefore(model, 1)[0]).toContain('call read_result_2 with');
});

it('where no further call is possible, nothing is offered to read on', async () => {
  const model = new ScriptedModel(calls(['page', {}]), says('Done.'));
  const choice = { path: 'prompt', mayFallBack: false, isSingleCall: false } as const;
  await collect(loop(model, [toolNamed('page', 'x'.repeat(5_000))], { contextTokens: 1_000, choice, maxRounds: 1 }));
  expect(resultsBefore(model, 1)[0]).toMatch(/of 5000 are left out\.\]/u);
});
