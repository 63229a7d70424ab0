import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../../core/errors.ts';
import { createAtomically } from '../atomic-create.ts';
import { errorCodeOf } from '../storage-fault.ts';

/** 256 random bits in hex: what is written and expected. */
const secretForm = /^[0-9a-f]{64}$/;

/**
 * The secret that signs and encrypts: the configured one, else the one in `<data dir>/secret`, created at the first use with rights for its owner only.
 * Processes that start at the same time end with the same one.
 * @throws GatewayError `storage_unavailable` when it can be neither read nor made, or is damaged; a new one would lock away every stored credential.
 */
export function loadSecret(dataDir: string, configured: string | undefined): string {
  if (configured !== undefined) return configured;
  return inFile(join(dataDir, 'secret'), (file) => readSecret(file) ?? createSecret(file));
}

/** The same without making one: undefined where the first start would. @throws GatewayError `storage_unavailable` */
export function findSecret(dataDir: string, configured: string | undefined): string | undefined {
  return configured ?? inFile(join(dataDir, 'secret'), readSecret);
}

function inFile<Value>(file: string, work: (file: string) => Value): Value {
  try {
    return work(file);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError(
      'storage_unavailable',
      `${file} cannot be read or created (${errorCodeOf(error)}). Correct the permissions of its folder, or set TOOLWHARF_SECRET.`,
      { cause: error },
    );
  }
}

function createSecret(file: string): string {
  createAtomically(file, (draft) => writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' }));
  // Read again, because another process may have been first.
  return readSecret(file) ?? createSecret(file);
}

function readSecret(file: string): string | undefined {
  const text = readText(file)?.trim();
  if (text === undefined || secretForm.test(text)) return text;
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
