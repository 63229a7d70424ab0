import { setTimeout as sleep } from 'node:timers/promises';
import type { ToolServerRecord } from '../../../src/core/stores/registry.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { createOAuthClient } from '../../../src/tools/credentials/oauth/oauth-client.ts';
import { createOwnCredentials } from '../../../src/tools/credentials/own-credentials.ts';
import { directSend } from '../../_support/direct-send.ts';

/**
 * A process that asks for the token of `key/ada` many times, from `begin` on (milliseconds since 1970), and prints what it got.
 * Usage: node refresh-in-process.ts <database> <tool server as JSON> <begin>
 */
const [file = '', json = '', begin = ''] = process.argv.slice(2);
const record = JSON.parse(json) as ToolServerRecord;
const { credentials: store, oauthClients: clients, database } = openStores({ file, secret: 'secret' });
const now = Date.now;
const oauth = createOAuthClient({ send: directSend, clients, publicUrl: undefined, signInOf: async () => undefined, now });
const credentials = createOwnCredentials({
  store,
  oauth,
  serversOf: async () => [record],
  allServers: () => [record],
  now,
  onChanged: () => undefined,
});
await sleep(Math.max(0, Number(begin) - now()));
const found = await Promise.all(Array.from({ length: 10 }, () => credentials.ownRecord(record, { id: 'key/ada' })));
await database.close();
process.stdout.write(JSON.stringify(found.map((own) => own?.key)));
