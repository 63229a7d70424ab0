import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { openStores } from '../../_support/memory-stores.ts';
import { authorizationServer } from '../../_support/authorization-server.ts';
import { protectedMcpServer } from '../../_support/protected-servers.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { credentialOf, oauthClient, oauthRecord } from './oauth-fixture.ts';

const newFolder = temporaryFolders();
const program = fileURLToPath(new URL('refresh-in-process.ts', import.meta.url));

it('processes over one database refresh a token once for all who wait in each of them', async () => {
  const authorization = await authorizationServer();
  const record = oauthRecord((await protectedMcpServer(authorization)).url);
  const file = join(newFolder(), 'toolwharf.db');
  const { credentials, oauthClients: clients, database } = openStores({ file, secret: 'secret' });
  const signedIn = await credentialOf(oauthClient({ clients }), record);
  await credentials.save('key/ada', record.id, { ...signedIn, expires: 0, refreshFrom: 0 });

  // Late enough that all of them run by then.
  const begin = String(Date.now() + 2_500);
  const ended = await Promise.all(
    Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, [program, file, JSON.stringify(record), begin])),
  );
  const tokens = ended.flatMap(({ stdout }) => JSON.parse(stdout) as string[]);
  const stored = (await credentials.find('key/ada', record.id))?.credential;
  await database.close();
  // One used twice would have ended the whole sign-in.
  expect(authorization.grants('refresh_token')).toMatchObject([{ status: 200 }]);
  expect(tokens).toHaveLength(40);
  expect(new Set(tokens)).toEqual(new Set([stored?.kind === 'oauth' && stored.accessToken]));
  expect(await authorization.verify(tokens[0] ?? '', record.url)).toMatchObject({ subject: 'ada' });
});
