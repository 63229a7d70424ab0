import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../../core/errors.ts';
import { createAtomically } from '../atomic-create.ts';
import { errorCodeOf, isForLackOfRoom } from '../storage-fault.ts';

/** 256 random bits in hex. */
const secretPattern = /^[0-9a-f]{64}$/;

/**
 * The configured secret, else the one in `<data dir>/secret`, which is created on first use and readable only by its owner. Processes that start at
 * the same time get the same secret.
 * @throws GatewayError `storage_unavailable` if the file is damaged, or can be neither read nor created. A damaged one is never replaced, because a new
 *   secret would make every stored credential undecryptable.
 */
export function loadSecret(dataDir: string, configured: string | undefined): string {
  if (configured !== undefined) return configured;
  return withFileErrors(join(dataDir, 'secret'), (file) => readSecret(file) ?? createSecret(file));
}

/** Like `loadSecret`, but undefined where that would create a secret. @throws GatewayError `storage_unavailable` */
export function findSecret(dataDir: string, configured: string | undefined): string | undefined {
  return configured ?? withFileErrors(join(dataDir, 'secret'), readSecret);
}

function withFileErrors<Value>(file: string, work: (file: string) => Value): Value {
  try {
    return work(file);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const problem = isForLackOfRoom(error, file)
      ? 'be created: the disk is full. Free some space'
      : `be read or created (${errorCodeOf(error)}). Correct the permissions of its folder`;
    throw new GatewayError('storage_unavailable', `${file} cannot ${problem}, or set TOOLWHARF_SECRET.`, { cause: error });
  }
}

function createSecret(file: string): string {
  createAtomically(file, (draft) => writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' }));
  // Read it back, because another process may have created it first.
  return readSecret(file) ?? createSecret(file);
}

function readSecret(file: string): string | undefined {
  const text = readText(file)?.trim();
  if (text === undefined || secretPattern.test(text)) return text;
  throw new GatewayError(
    'storage_unavailable',
    `${file} does not hold 64 hexadecimal digits. Restore it from a backup, or set TOOLWHARF_SECRET.`,
  );
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
