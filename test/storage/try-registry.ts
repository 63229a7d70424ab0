import { openStores } from '../_support/memory-stores.ts';

const user = Number(process.argv[4] ?? Number.NaN);
if (Number.isInteger(user)) {
  process.setgid?.(user);
  process.setuid?.(user);
}

/** A process that reads, writes and reads again, and says as JSON how each of them ended; for a user with fewer rights than the tests have. */
const [file = '', id = 'tried'] = process.argv.slice(2);
const registry = openStores({ file, secret: 's' }).registry;

async function endOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return error instanceof Error && 'code' in error ? `${String(error.code)}: ${error.message}` : String(error);
  }
}

const before = await endOf(() => registry.readFact('seen'));
const written = await endOf(() => registry.writeFact(id, 'yes'));
const after = await endOf(() => registry.readFact('seen'));
await registry.close();
process.stdout.write(JSON.stringify({ before, written: written ?? 'written', after }));
