import { expect, it } from 'vitest';
import { EventLog } from '../../../../src/http/dialects/responses/stored/event-log.ts';
import { FairMap } from '../../../../src/shared/fairness/fair-map.ts';

const event = (number: number): string => `data: ${number}\n\n`;
const roomFor = (characters: number): FairMap<string> => new FairMap<string>({ entries: Infinity, characters });

/** A log of four events in three pieces. */
function logIn(memory: FairMap<string>, owner = 'ada'): EventLog {
  const log = new EventLog(memory, { owner, id: `of ${owner}` });
  log.append(event(0));
  log.append('');
  log.append(event(1) + event(2));
  log.append(event(3));
  return log;
}

async function read(log: EventLog, after: number, signal = new AbortController().signal): Promise<string> {
  let text = '';
  await log.follow(after, {
    signal,
    emit(events) {
      text += events.join('');
      return undefined;
    },
  });
  return text;
}

it('a reader gets the events after the one that it has, also in the middle of a piece', async () => {
  const log = logIn(roomFor(1_000));
  log.end();
  const all = [0, 1, 2, 3].map(event);
  for (const after of [-1, 0, 1, 2, 3, 9]) expect(await read(log, after)).toBe(all.slice(after + 1).join(''));
});

it('a reader waits for what is still to come, until the end or its leave', async () => {
  const log = logIn(roomFor(1_000));
  const reader = read(log, 2);
  const gone = new AbortController();
  const left = read(log, 2, gone.signal);
  gone.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  log.append(event(4));
  log.end();
  expect(await reader).toBe(event(3) + event(4));
});

it('a slow reader gets one piece after the other', async () => {
  const log = logIn(roomFor(1_000));
  log.end();
  const steps: string[] = [];
  const { promise: drained, resolve } = Promise.withResolvers<void>();
  const following = log.follow(-1, {
    signal: new AbortController().signal,
    emit(events) {
      steps.push(events.join(''));
      return drained;
    },
  });
  expect(steps).toEqual([event(0)]);
  resolve();
  await following;
  expect(steps).toEqual([event(0), event(1) + event(2), event(3)]);
});

it('whoever has the most loses the oldest events, and the last ones are there', async () => {
  const memory = roomFor(8 * event(0).length);
  const [ada, eve] = [logIn(memory), logIn(memory, 'eve')];
  for (const number of [4, 5, 6, 7]) eve.append(event(number));
  for (const log of [ada, eve]) log.end();
  expect([await read(ada, -1), await read(eve, -1)]).toEqual([[0, 1, 2, 3].map(event).join(''), [4, 5, 6, 7].map(event).join('')]);
});

it('a log that is forgotten leaves nothing', () => {
  const memory = roomFor(1_000);
  logIn(memory).forget();
  expect([...memory]).toEqual([]);
});
