import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadSecret } from '../../src/storage/secrets/secret-file.ts';
import { openStores } from '../_support/memory-stores.ts';
import { toolServerRecord } from './records.ts';

/** One of several processes that begin with the same empty folder at the given time: stores a tool server with a key, and says which secret it has. */
const [folder = '', id = '', beginning = '0'] = process.argv.slice(2);
await sleep(Math.max(0, Number(beginning) - Date.now()));
const secret = loadSecret(folder, undefined);
const registry = openStores({ file: join(folder, 'toolwharf.db'), secret }).registry;
await registry.createToolServer(toolServerRecord({ id, key: `key of ${id}` }));
await registry.close();
process.stdout.write(secret);
