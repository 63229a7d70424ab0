import { setTimeout as sleep } from 'node:timers/promises';
import { openStores } from '../_support/memory-stores.ts';

/** One of several processes that refresh the same credentials at the given time; says which of them it was that did. */
const [file = '', name = '', count = '0', beginning = '0'] = process.argv.slice(2);
const { credentials, database } = openStores({ file, secret: 'secret' });
const refreshed: string[] = [];
const read = await Promise.all(
  Array.from({ length: Number(count) }, async (_, number) => {
    const server = `server ${number}`;
    return { server, stored: await credentials.find('key/ada', server) };
  }),
);
await sleep(Math.max(0, Number(beginning) - Date.now()));
for (const { server, stored } of read) {
  if (stored?.credential.kind !== 'oauth') throw new Error(`${server} is not there`);
  const { revision, credential } = stored;
  // On a busy machine the other process may be done before this one has read.
  if (credential.accessToken.startsWith('new from')) continue;
  const now = Date.now();
  if (!(await credentials.claim('key/ada', server, { revision, now, until: now + 10_000 }))) continue;
  await sleep(2);
  if (await credentials.replace('key/ada', server, { revision, credential: { ...credential, accessToken: `new from ${name}` } }))
    refreshed.push(server);
}
await database.close();
process.stdout.write(JSON.stringify(refreshed));
