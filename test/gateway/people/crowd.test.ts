import { describe, expect, it } from 'vitest';
import { runCrowd } from './crowd.ts';

const small = { people: 12, chats: 240, atOnce: 12, browsers: 3, seed: 20_261_123 };

describe('people behind one key, all at once', () => {
  it('get nothing of each other, whatever they use and try', async () => {
    const { crossings, faults, kinds } = await runCrowd(small);
    expect({ crossings, faults }).toEqual({ crossings: [], faults: [] });
    expect(Object.keys(kinds)).toHaveLength(8);
  });

  it('would be seen to get something of another', async () => {
    const { crossings } = await runCrowd({ ...small, chats: 40, leaks: 0 });
    expect(crossings.length).toBeGreaterThan(5);
  });
});
