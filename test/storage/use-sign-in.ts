import { setTimeout as sleep } from 'node:timers/promises';
import { openStores } from '../_support/memory-stores.ts';

/** One of several processes that use the same links and states at the given time; says how many of each it was the first to use. */
const [file = '', count = '0', beginning = '0'] = process.argv.slice(2);
const { signIns, database } = openStores({ file, secret: 'secret' });
const used: Record<'links' | 'states', string[]> = { links: [], states: [] };
await signIns.find('0', 1);
await sleep(Math.max(0, Number(beginning) - Date.now()));
for (let number = 0; number < Number(count); number += 1) {
  const begun = { state: `state ${process.pid} ${number}`, browser: '', expires: 50, pending: {} };
  if (await signIns.use(`link ${number}`, 1, begun)) used.links.push(String(number));
  if (await signIns.finish(`begun ${number}`, 1)) used.states.push(String(number));
}
await database.close();
process.stdout.write(JSON.stringify(used));
