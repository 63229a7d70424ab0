import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../../core/errors.ts';
import { claimFile, codeOf } from '../claim-file.ts';

/** 256 random bits in hex: what is written and expected. */
const secretForm = /^[0-9a-f]{64}$/;

/**
 * The secret that signs and encrypts: the configured one, else the one in `<data dir>/secret`, made at the first use with rights for its owner only.
 * Processes that start at the same time end with the same one.
 * @throws GatewayError `storage_unavailable` when it can be neither read nor made, or is damaged; a new one would lock away every stored credential.
 */
export function loadSecret(dataDir: string, configured: string | undefined): string {
  if (configured !== undefined) return configured;
  return inFile(join(dataDir, 'secret'), (file) => readSecret(file) ?? createSecret(dataDir, file));
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
      `${file} cannot be read or created (${codeOf(error)}). Correct the permissions of its folder, or set TOOLWHARF_SECRET.`,
      { cause: error },
    );
  }
}

function createSecret(dataDir: string, file: string): string {
  mkdirSync(dataDir, { recursive: true });
  const draft = `${file}.${randomBytes(6).toString('hex')}.new`;
  try {
    writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
    claimFile(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
  // Read again, because another process may have been first.
  return readSecret(file) ?? createSecret(dataDir, file);
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
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
