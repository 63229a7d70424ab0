import { basename } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../../core/errors.ts';
import { schemaSteps } from '../../sql/migrations.ts';

/** "twhf": marks a database of the gateway (SQLite's `application_id`). */
const applicationId = 0x74_77_68_66;

/** `user_version` counts the steps that were applied. */
const migrations: readonly string[] = schemaSteps.map(({ sqlite }) => sqlite);

interface MigrationOptions {
  /** For error messages. */
  file: string;
  steps?: readonly string[];
}

/**
 * Rejects databases that this release must not change, without writing to them.
 * @throws GatewayError `storage_unavailable` for a database of a newer release, and for one of another program.
 */
export function requireKnownSchema(database: DatabaseSync, { file, steps = migrations }: MigrationOptions): void {
  const version = readPragma(database, 'user_version');
  const hasTables = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined;
  if (readPragma(database, 'application_id') !== applicationId && (version > 0 || hasTables)) {
    throw new GatewayError('storage_unavailable', `${basename(file)} is a database of another program. Set DATABASE_URL to another file.`);
  }
  if (version <= steps.length) return;
  throw new GatewayError(
    'storage_unavailable',
    `${basename(file)} was written by a newer release (schema ${version}, this one knows ${steps.length}). Start that release, or restore an older backup.`,
  );
}

/** Applies the missing steps in one transaction. @throws as `requireKnownSchema`; SQLite's error 5 (SQLITE_BUSY) while another process migrates. */
export function migrate(database: DatabaseSync, options: MigrationOptions): void {
  const { steps = migrations } = options;
  if (readPragma(database, 'user_version') === steps.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    // Check again under the lock: another process may have migrated in between.
    requireKnownSchema(database, options);
    for (const step of steps.slice(readPragma(database, 'user_version'))) database.exec(step);
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${steps.length}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** An integer PRAGMA. */
export function readPragma(
  database: DatabaseSync,
  name: 'user_version' | 'application_id' | 'data_version' | 'page_size' | 'page_count' | 'max_page_count' | 'freelist_count',
): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}
