import { hash } from 'node:crypto';
import { GatewayError } from '../../core/errors.ts';
import { execute, selectFirst, type Database, type Script } from '../sql/database.ts';

const factName = 'secret';

/**
 * What is stored is encrypted with the secret, so a gateway with another one could read nothing, and would write what the others cannot read.
 * @throws GatewayError `storage_unavailable`
 */
export async function requireSameSecret(database: Database, secret: string): Promise<void> {
  const mark = hash('sha256', `toolwharf database ${secret}`);
  const known = await database.write('facts', () => findOrAdd(mark));
  if (known === mark) return;
  throw new GatewayError(
    'storage_unavailable',
    'The database of DATABASE_URL is encrypted with another TOOLWHARF_SECRET. Set the one it was created with, or use an empty database.',
  );
}

function* findOrAdd(mark: string): Script<string | undefined> {
  yield* execute('INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING', factName, mark);
  return (yield* selectFirst<{ value: string }>('SELECT value FROM facts WHERE name = ?', factName))?.value;
}
