import * as fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import type { ModelEvent } from '../../../src/core/chat/chat.ts';
import { createOpenAiBackend } from '../../../src/models/openai/openai-compatible.ts';
import { answerWith, askModel } from '../../_support/model-answers.ts';

const connection = { baseUrl: 'http://lab.test/v1', key: undefined, firstByteTimeoutMs: 1_000, idleTimeoutMs: 1_000 };
const ending = ['data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n', 'data: [DONE]\n\n'];

/** What is read of an answer whose bytes arrive in these pieces, neighbouring texts joined, and the error that ends it. */
async function readingOf(pieces: readonly (string | Uint8Array)[]): Promise<unknown[]> {
  const backend = createOpenAiBackend(connection, answerWith(pieces.map((piece) => Buffer.from(piece))));
  const read: ModelEvent[] = [];
  const error = await backend
    .answer(askModel(), (events) => {
      for (const event of events) {
        const last = read.at(-1);
        if (event.type === 'text' && last?.type === 'text') read[read.length - 1] = { ...last, text: last.text + event.text };
        else read.push(event);
      }
      return undefined;
    })
    .catch((thrown: Error) => thrown.message);
  return [...read, error];
}

const inSingleBytes = (chunks: readonly string[]): Uint8Array[] => Array.from(Buffer.from(chunks.join('')), (byte) => Uint8Array.of(byte));

/** Literals as they stand in JSON, some of them not allowed there. */
const literals = [
  '',
  'word ',
  '日本語 🦊',
  String.raw`\"quoted\" \\`,
  String.raw`\n\u00e9`,
  String.raw`\ud83d`,
  '<think>',
  '</think>',
  '`',
  '[1]',
];
const wrong = [String.raw`\x`, '\t', String.raw`\u12`];
const plainChunk = (text: string): string =>
  `data: {"id":"1","choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":null}],"usage":null}\n\n`;
const countedChunk = (text: string): string =>
  `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n`;
const forms: ((literal: string) => string)[] = [
  plainChunk,
  (text) => `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"${text}"}}]}\n\n`,
  (text) => `data:{"choices":[{"index":0,"delta":{"content": "${text}"},"logprobs":null}],"system_fingerprint":"f"}\n\n`,
  (text) => `data: {"choices":[{"index":0,"delta":{"content":"${text}"},"logprobs":{"content":[{"token":"${text}"}]}}]}\n\n`,
  (text) => `data: {"choices":[{"index":0,"delta":{"content":"a","reasoning_content":"${text}"}}]}\n\n`,
  (text) => `data: {"choices":[{"index":0,"delta":{"content":"${text}","reasoning_content":"b"}}]}\n\n`,
  (text) => `data: {"prompt":{"content":"${text}"},"choices":[{"index":0,"delta":{"content":"c"}}]}\n\n`,
  (text) => `data: {"choices":[{"index":0,"delta":{"content":"${text}","content":"d"}}]}\n\n`,
  (text) => `data: {"choices":[{"index":1,"delta":{"content":"${text}"}}]}\n\n`,
  countedChunk,
  (text) => `: note\ndata: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`,
  (text) => `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\nevent: error\n\n`,
  (text) => `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\r\n\r\n`,
];
const chunks = fc
  .tuple(fc.constantFrom(...forms), fc.array(fc.constantFrom(...literals), { maxLength: 12 }))
  .map(([form, texts]) => texts.map((text) => form(text)));

it('chunks of a repeated form are read like all others, however they arrive', { timeout: 60_000 }, async () => {
  const answers = fc.tuple(
    fc.array(chunks, { maxLength: 4 }).map((runs) => runs.flat()),
    fc.constantFrom([], ...wrong.map((literal) => [plainChunk(literal)])),
    fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 8 }),
  );
  await fc.assert(
    fc.asyncProperty(answers, async ([runs, last, sizes]) => {
      const all = [...runs, ...last, ...ending];
      const together: string[] = [];
      for (let from = 0, step = 0; from < all.length; step += 1) {
        const to = from + 1 + (sizes[step % sizes.length] ?? 0);
        together.push(all.slice(from, to).join(''));
        from = to;
      }
      const expected = await readingOf(inSingleBytes(all));
      expect(await readingOf(all)).toEqual(expected);
      expect(await readingOf(together)).toEqual(expected);
    }),
    { numRuns: 50 },
  );
});

it.each([
  [
    'usage between two chunks of a form',
    [countedChunk('a'), countedChunk('b'), 'data: {"choices":[],"usage":{"prompt_tokens":3}}\n\n', countedChunk('c')],
  ],
  ['a line of an event that goes on as a chunk would begin', [plainChunk('a'), plainChunk('b'), 'data: {"choices":[]}\n', plainChunk('c')]],
])('%s', async (_case, pieces) => {
  const all = [...pieces, ...ending];
  expect(await readingOf(all)).toEqual(await readingOf(inSingleBytes(all)));
});

it('bytes that are no UTF-8 are replaced', async () => {
  const before = Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"');
  const after = Buffer.from('"}}]}\n\n');
  const texts = ['a', 'b', 'c'].map((text) => Buffer.concat([before, Buffer.from(text), Uint8Array.of(0xe2, 0x82, 0x20, 0xff), after]));
  expect(await readingOf([...texts, ...ending])).toContainEqual({ type: 'text', text: 'a\uFFFD \uFFFDb\uFFFD \uFFFDc\uFFFD \uFFFD' });
});

it('chunks that differ in their text alone are not parsed one by one', async () => {
  const texts = Array.from({ length: 500 }, (_, index) => plainChunk(`w${index} `));
  const parse = vi.spyOn(JSON, 'parse');
  await readingOf([...texts, ...ending]);
  expect(parse.mock.calls.length).toBeLessThan(10);
  parse.mockClear();
  // A backend whose chunks never repeat a form pays for few attempts.
  const padded = Array.from({ length: 500 }, (_, index) => plainChunk(`w${index} `).replace('"id":"1"', `"id":"${index}"`));
  await readingOf([...padded, ...ending]);
  expect(parse.mock.calls.length).toBeLessThan(520);
  parse.mockRestore();
});
