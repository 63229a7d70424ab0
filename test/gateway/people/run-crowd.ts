// `npm run test:people`: a hundred people behind two keys and ten thousand chats in between each other, over a database file. Minutes long, so it is no part
// of `npm test`, which runs the same with fewer.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStores } from '../../_support/memory-stores.ts';
import { runCrowd } from './crowd.ts';

const seed = Number(process.argv[2] ?? Date.now() % 1_000_000);
const folder = mkdtempSync(join(tmpdir(), 'toolwharf-crowd-'));
const file = join(folder, 'toolwharf.db');
const { database, registry: _registry, ...stores } = openStores({ file, secret: 'a secret of tests', now: Date.now });
const megabytes = (bytes: number): number => Math.round(bytes / 1e6);
console.log(`seed ${seed}; the same order again: npm run test:people ${seed}`);

const started = performance.now();
try {
  const report = await runCrowd({ people: 100, chats: 10_000, atOnce: 32, browsers: 12, seed, stores });
  const { crossings, faults, ...counts } = report;
  const seconds = Math.round((performance.now() - started) / 1_000);
  console.log({ ...counts, seconds, memoryMb: megabytes(process.memoryUsage().rss), databaseMb: megabytes(statSync(file).size) });
  for (const line of [...crossings, ...faults].slice(0, 50)) console.error(line);
  console.log(`${crossings.length} crossings, ${faults.length} other faults`);
  if (crossings.length + faults.length > 0) process.exitCode = 1;
} finally {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
}
// A socket that a client has just closed may linger.
process.exit();
