import { expect, it } from 'vitest';
import { EarlierTexts } from '../../../src/chat/modes/earlier-texts.ts';
import { countTurns } from '../../_support/count-turns.ts';

const long = 'some words of a page. '.repeat(10_000);

it('counts every call as quoted when the messages could not be prepared', async () => {
  // A thread cannot be sent a function: the work fails before it begins.
  const texts = [long, () => 0] as unknown as string[];
  const earlier = new EarlierTexts(() => texts, { isReact: true, caller: { id: 'ada' }, signal: new AbortController().signal });
  expect(earlier.isQuoted('get_time')).toBe('not_known_yet');
  await earlier.search();
  expect(earlier.isQuoted('get_time')).toBe(true);
  expect(earlier.isActionQuoted('get_time', '{}')).toBe('not_known_yet');
  await earlier.search();
  expect(earlier.isActionQuoted('get_time', '{}')).toBe(true);
});

it('searches a long conversation over several ticks', async () => {
  const texts = Array.from({ length: 20 }, () => 'a'.repeat(100_000));
  const earlier = new EarlierTexts(() => texts, { isReact: true, caller: { id: 'ada' }, signal: new AbortController().signal });
  const turnsOf = async (ask: () => boolean | 'not_known_yet'): Promise<number> => {
    expect(ask()).toBe('not_known_yet');
    expect(earlier.isAwaited).toBe(true);
    const turns = countTurns();
    await earlier.search();
    expect(earlier.isAwaited).toBe(false);
    return turns();
  };
  // The first search also waits for a thread.
  await turnsOf(() => earlier.isQuoted('first'));
  const wanted = `${'a'.repeat(10_000)}b`;
  expect(await turnsOf(() => earlier.isQuoted(wanted))).toBeGreaterThan(5);
  expect(earlier.isQuoted(wanted)).toBe(false);
  expect(await turnsOf(() => earlier.isActionQuoted('use', wanted))).toBeGreaterThan(5);
  expect(earlier.isActionQuoted('use', wanted)).toBe(false);
});

it('stops the search when the run has ended', async () => {
  const earlier = new EarlierTexts(() => [long], { isReact: false, caller: { id: 'ada' }, signal: AbortSignal.abort(new Error('Over.')) });
  await expect(earlier.search()).rejects.toThrow('Over.');
});
