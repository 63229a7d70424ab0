import { expect, it, onTestFinished } from 'vitest';
import type { LoggedRun } from '../../../../src/core/runs/run-log.ts';
import { openStores } from '../../../_support/memory-stores.ts';
import { countTurns } from '../../../_support/count-turns.ts';

const anyRun: LoggedRun = { id: '', callerId: '', status: 'completed', model: 'model', created: 1, finished: 1, events: [] };

it.each([
  { of: 'many', runs: 5_000, characters: 1 },
  { of: 'large', runs: 10, characters: 4 * 1024 * 1024 },
])('deletes $of rows of a key and its people some at a time, and nothing of others', async ({ runs: count, characters }) => {
  const { runs, database } = openStores({ file: ':memory:', secret: 'a secret of tests' });
  onTestFinished(() => database.close());
  const events = [{ type: 'run.error', time: 1, data: { text: 'x'.repeat(characters) } }] as unknown as LoggedRun['events'];
  const owned = Array.from({ length: count }, (_, index): LoggedRun => ({
    ...anyRun,
    id: `run-${index}`,
    callerId: `key/p${index}`,
    events,
  }));
  await runs.save([...owned, { ...anyRun, id: 'other', callerId: 'key2' }]);
  const turns = countTurns();
  await runs.deleteAllOf('key');
  expect(turns()).toBeGreaterThanOrEqual(5);
  expect((await runs.list({ limit: 10, since: 0, callerId: undefined, after: undefined })).runs.map(({ id }) => id)).toEqual(['other']);
});
