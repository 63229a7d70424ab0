import { expect, test } from 'vitest';
import { EarlierTexts } from '../../../src/chat/modes/earlier-texts.ts';

const long = 'some words of a page. '.repeat(10_000);

test('anything may stand in messages that could not be prepared', async () => {
  // A thread cannot be sent a function: the work fails before it begins.
  const texts = [long, () => 0] as unknown as string[];
  const earlier = new EarlierTexts(texts, { isReact: true, caller: { id: 'ada' }, signal: new AbortController().signal });
  expect(earlier.mayCheck()).toBe(false);
  await earlier.prepare();
  expect(earlier.mayCheck()).toBe(true);
  expect(earlier.isQuoted('get_time')).toBe(true);
  expect(earlier.isActionQuoted('get_time', '{}')).toBe(true);
});

test('a run that is over asks nothing more', async () => {
  const earlier = new EarlierTexts([long], { isReact: false, caller: { id: 'ada' }, signal: AbortSignal.abort(new Error('Over.')) });
  await expect(earlier.prepare()).rejects.toThrow('Over.');
});
