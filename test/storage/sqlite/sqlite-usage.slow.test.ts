import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { UsageCounts } from '../../../src/core/usage-store.ts';
import { openStores } from '../../../src/storage/open-stores.ts';

const days = 30;
const rowsOfDay = 10_000;
const dayOf = (index: number): string => new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10);

test('reports and deletes what many people have used without holding up others', async () => {
  const { usage, connection } = openStores({ file: ':memory:', secret: 'a secret of tests' });
  onTestFinished(() => connection.close());
  const counts = { keyId: 'key', model: 'model', tool: '', requests: 1, tokensIn: 1, tokensOut: 1, toolCalls: 0, failures: 0 };
  for (let day = 0; day < days; day += 1) {
    const rows = Array.from({ length: rowsOfDay }, (_, index): UsageCounts => ({ ...counts, day: dayOf(day), personId: `p${index}` }));
    await usage.add(rows, []);
  }
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  await sleep(10);
  const everything = await usage.report({ by: 'key', from: '0000-01-01', to: '9999-12-31', owner: undefined, limit: 10_000 });
  const some = await usage.report({ by: 'key', from: dayOf(3), to: dayOf(5), owner: { keyId: 'key', personId: 'p7' }, limit: 2 });
  await usage.prune(dayOf(days - 1), 0);
  await sleep(10);
  delays.disable();
  expect(everything.map(({ day, requests }) => [day, requests])).toEqual(
    Array.from({ length: days }, (_, index) => [dayOf(days - 1 - index), rowsOfDay]),
  );
  expect(some.map(({ day, requests }) => [day, requests])).toEqual([dayOf(5), dayOf(4)].map((day) => [day, 1]));
  expect(await usage.report({ by: 'key', from: '0000-01-01', to: '9999-12-31', owner: undefined, limit: 10_000 })).toHaveLength(1);
  expect(delays.max / 1e6, 'milliseconds').toBeLessThan(50);
});
