import { describe, expect, it } from 'vitest';
import { withRemedies } from '../../../src/shared/refusals/with-remedies.ts';
import type { Emit } from '../../../src/shared/async/emit.ts';

type Event = { type: string };

/** Fails with its name after its events, unless it is the last. */
function failing(events: string[], last: string) {
  return async (request: string, emit: Emit<Event>): Promise<string> => {
    await emit(events.map((type) => ({ type })));
    if (request !== last) throw new Error(request);
    return request;
  };
}
const emit = (): undefined => undefined;
const more = (_error: unknown, failed: string): string => `${failed}+`;

describe('a request that fails', () => {
  it('is made again as its remedy says', async () => {
    expect(await withRemedies('a', failing(['run-event'], 'a+'), { emit, remedy: more })).toBe('a+');
    expect(
      await withRemedies<string, Event, string>('a', failing([], 'a++'), {
        emit,
        remedy: async (_error, failed: string) => `${failed}+`,
        maxRepeats: 2,
      }),
    ).toBe('a++');
  });

  it('is not made more often than it may be', async () => {
    await expect(withRemedies('a', failing([], 'a++'), { emit, remedy: more })).rejects.toThrow('a+');
  });

  it('fails with its error where there is no remedy', async () => {
    await expect(withRemedies('a', failing([], 'b'), { emit, remedy: () => undefined })).rejects.toThrow('a');
  });

  it('is not made again once its answer has begun', async () => {
    await expect(withRemedies('a', failing(['run-event', 'text'], 'a+'), { emit, remedy: more })).rejects.toThrow('a');
    const isAnswer = ({ type }: Event): boolean => type === 'text';
    expect(await withRemedies('a', failing(['reasoning'], 'a+'), { emit, remedy: more, isAnswer })).toBe('a+');
  });
});
