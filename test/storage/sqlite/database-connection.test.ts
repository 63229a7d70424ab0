import { expect, onTestFinished, test } from 'vitest';
import { createDatabaseConnection } from '../../../src/storage/sqlite/database-connection.ts';
import { countTurns } from '../../_support/count-turns.ts';

test('writes that wait for each other let a turn of the event loop pass in between', async () => {
  const connection = createDatabaseConnection({ file: ':memory:', now: Date.now });
  onTestFinished(() => connection.close());
  await connection.write(() => undefined);
  const turns = countTurns();
  const seen = await Promise.all(Array.from({ length: 20 }, () => connection.write(turns)));
  expect(new Set(seen).size).toBe(20);
});
