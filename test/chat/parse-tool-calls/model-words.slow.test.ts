import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { callsIn } from './count-calls.ts';
import { piecesOf } from './judge-output.ts';
import { modelWords, offeredFunctions } from './model-words.ts';

it('there are words of every kind', () => {
  expect(modelWords.length).toBeGreaterThan(500);
  expect(new Set(modelWords.map(({ id }) => id)).size).toBe(modelWords.length);
});

describe('what a model means runs, and nothing else', () => {
  it.each(modelWords)('$id', async (words) => {
    expect(await callsIn(words)).toEqual(words.calls);
  });
});

const native = modelWords.filter(({ path }) => path === 'native');

it.each(native)('$id is read alike at every cut', ({ text }) => {
  const options = { tools: offeredFunctions, isNative: true, quotes: { isQuoted: () => false } };
  const whole = piecesOf([text], options);
  const others = Array.from(text, (_character, index) => index + 1).filter(
    (cut) => !isDeepStrictEqual(piecesOf([text.slice(0, cut), text.slice(cut)], options), whole),
  );
  expect(others).toEqual([]);
});
