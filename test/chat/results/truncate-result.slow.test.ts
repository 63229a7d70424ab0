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

it('leaves a text that fits unchanged, and keeps whole characters of both ends of one that does not', () => {
  fc.assert(
    fc.property(manyAlphabets, fc.integer({ min: 300, max: 2_000 }), (text, maxBytes) => {
      const fitted = truncateResult(text, { maxBytes, reader: { results: createResultStore(), name: 'read_result' } });
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

it('returns a stored result completely, page by page', async () => {
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
])('reports an error for reading %s', async (_name, args, message) => {
  const results = createResultStore();
  results.add('abc');
  const outcome = await createReadResultTool('read_result', results, 400).run({ ...invocation, args });
  expect(outcome).toMatchObject({ type: 'error', message: expect.stringContaining(message) });
});

it('stores a limited number of results, and truncates the others without a reference', () => {
  const results = createResultStore();
  expect(results.isEmpty).toBe(true);
  const references = Array.from({ length: keptResults + 1 }, (_, n) => results.add(`${n}`));
  expect(references.at(-1)).toBeUndefined();
  expect(new Set(references).size).toBe(keptResults + 1);
  const fitted = truncateResult('x'.repeat(1_000), { maxBytes: 500, reader: { results, name: 'read_result' } });
  expect(fitted.text).toMatch(/\[cut: characters \d+ to \d+ of 1000 are left out\.\]/u);
  expect(createResultStore().add('x'.repeat(keptResultsCharacters + 1))).toBeUndefined();
});

it.each([
  [undefined, modelResultBytes],
  [4_096, 4_300],
  [128_000, 134_400],
  [10_000_000, limits.toolResultBytes],
  [10, 1_000],
])('gives one result of a context of %o tokens %i bytes', (tokens, bytes) => {
  expect(resultShareBytes(tokens)).toBe(bytes);
});

it('gives many results together the room of two, and each a minimum', () => {
  expect([1, 2, 4, 8, 1_000].map((results) => shareAmong(10_000, results))).toEqual([10_000, 10_000, 5_000, 2_500, 1_000]);
});

it('truncates text that is not valid Unicode without an error', () => {
  expect(headWithin('\ud83d\ude00', 3)).toBe('');
  expect(headWithin('a\ud83d', 4)).toBe('a\ud83d');
});

it('offers read_result after a truncated result, and cites what it returns', async () => {
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

it('names read_result differently when that name is taken', async () => {
  const model = new ScriptedModel(calls(['read_result', {}]), says('Done.'));
  await collect(loop(model, [toolNamed('read_result', 'x'.repeat(5_000))], { contextTokens: 1_000 }));
  expect(model.requests[1]?.tools.map((spec) => spec.name)).toEqual(['read_result', 'read_result_2']);
  expect(resultsBefore(model, 1)[0]).toContain('call read_result_2 with');
});

it('does not offer read_result when no further call is possible', async () => {
  const model = new ScriptedModel(calls(['page', {}]), says('Done.'));
  const choice = { path: 'prompt', mayFallBack: false, isSingleCall: false } as const;
  await collect(loop(model, [toolNamed('page', 'x'.repeat(5_000))], { contextTokens: 1_000, choice, maxRounds: 1 }));
  expect(resultsBefore(model, 1)[0]).toMatch(/of 5000 are left out\.\]/u);
});
