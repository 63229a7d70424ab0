import { writeSync } from 'node:fs';
import { openStores } from '../_support/memory-stores.ts';
import { runOperation } from './numbered-operations.ts';

/** A process that writes one operation after the other, beginning with the given one, and says each number once it is acknowledged. */
const [file = '', first = '0'] = process.argv.slice(2);
const registry = openStores({ file, secret: 'the secret of the writer' }).registry;
for (let number = Number(first); ; number += 1) {
  await runOperation(registry, number);
  writeSync(1, `${number}\n`);
}
