import { existsSync } from 'node:fs';
import { bundledTimeFact } from '../bundled-time-server.ts';
import type { Config } from '../config/config.ts';
import { GatewayError } from '../../core/errors.ts';
import type { BackendConfig } from '../../core/models/backend-config.ts';
import type { PresetRecord } from '../../core/stores/preset.ts';
import type { Registry, ToolServerRecord } from '../../core/stores/registry.ts';
import { broken, count, note } from './finding.ts';
import type { Finding } from '../../core/finding.ts';
import { keysOfAnotherSecret } from '../../admin/derive-key-hash.ts';
import { createBackendEntries } from '../../storage/backend-entries.ts';
import { createLayeredRegistry } from '../../storage/layered-registry.ts';
import { createMemoryStores, createStores } from '../../storage/open-stores.ts';
import { databaseFile } from '../../storage/sqlite/connection/open-database.ts';
import { openSqlite } from '../../storage/sqlite/sqlite-database.ts';
import { createPresetStore } from '../../storage/preset-store.ts';
import { findSkippedServers } from '../../tools/servers/opening-marks.ts';
import { findSecret } from '../../storage/secrets/secret-file.ts';

/** The stored and configured records, and problems with them. */
interface StoreExamination {
  toolServers: readonly ToolServerRecord[];
  backends: readonly BackendConfig[];
  /** Tool servers that the gateway skips, and until when. */
  skipped: ReadonlyMap<string, number>;
  /** Number of stored keys, whether they work or not. */
  keys: number;
  /** Whether the gateway has run with this store before; if so, a missing bundled server was deleted. */
  isUsed: boolean;
  /** Presets of the file, and stored ones. */
  presets: readonly PresetRecord[];
  findings: Finding[];
}

/**
 * Opens what the gateway would find at its start, without creating anything: a missing database or secret is not an error.
 * @throws GatewayError `storage_unavailable`, `invalid_request` for a DATABASE_URL that names no file
 */
export async function openStored({ databaseUrl, dataDir, secret: configured, toolServers }: Config): Promise<Registry> {
  if (!databaseUrl.startsWith('sqlite:')) return openOnServer(databaseUrl, configured, toolServers);
  const file = databaseFile(databaseUrl);
  if (!existsSync(file)) return withoutDatabase(toolServers);
  const secret = findSecret(dataDir, configured);
  if (secret === undefined) {
    throw new GatewayError(
      'storage_unavailable',
      `${file} exists, but the secret that encrypts it is missing: restore the file "secret" of the data folder, or set TOOLWHARF_SECRET`,
    );
  }
  return createLayeredRegistry({
    fixed: toolServers,
    store: createStores(openSqlite({ file, now: Date.now, isReadOnly: true }), { secret }).registry,
  });
}

/** Reads alone. @throws GatewayError `storage_unavailable` */
async function openOnServer(url: string, secret: string | undefined, toolServers: readonly ToolServerRecord[]): Promise<Registry> {
  if (secret === undefined) throw new GatewayError('storage_unavailable', 'TOOLWHARF_SECRET is not set, which PostgreSQL needs');
  const { openPostgres } = await import('../../storage/postgres/postgres-database.ts');
  const { registry } = createStores(openPostgres({ url, now: Date.now }), { secret });
  await registry.refresh();
  return createLayeredRegistry({ fixed: toolServers, store: registry });
}

function withoutDatabase(toolServers: readonly ToolServerRecord[]): Registry {
  return createLayeredRegistry({ fixed: toolServers, store: createMemoryStores({ secret: '' }).registry });
}

/** If the store cannot be read, only its entries are missing. */
export async function examineStore(config: Config, openRegistry: (config: Config) => Promise<Registry>): Promise<StoreExamination> {
  const findings: Finding[] = [];
  const report = (error: unknown): void => {
    const text = `The database cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    findings.push(broken(text, 'Repair or restore the database that DATABASE_URL names, or start with an empty data folder.'));
  };
  const registry = await openRegistry(config).catch((error: unknown) => {
    report(error);
    return withoutDatabase(config.toolServers);
  });
  try {
    const keys = await registry.listKeys().catch(report);
    const toolServers = await Promise.resolve(registry.listToolServers()).catch(() => config.toolServers);
    const backends = await createBackendEntries({ registry, fixed: config.backends }).list();
    const fact = await registry.readFact(bundledTimeFact).catch(() => undefined);
    findings.push(...examineKeys(config, keys ?? []));
    const skipped = await findSkippedServers(registry, toolServers, Date.now()).catch(() => new Map<string, number>());
    const presetStore = createPresetStore({ registry, fixed: config.presets, now: Date.now });
    const presets = await presetStore.list().catch(report);
    return {
      toolServers,
      backends,
      skipped,
      keys: keys?.length ?? 0,
      isUsed: fact !== undefined,
      presets: presets ?? config.presets,
      findings,
    };
  } finally {
    await registry.close();
  }
}

type StoredKeys = Awaited<ReturnType<Registry['listKeys']>>;

function examineKeys(config: Config, keys: StoredKeys): Finding[] {
  if (keys.length === 0) return [];
  const useless = keysOfAnotherSecret(keys, findSecret(config.dataDir, config.secret));
  const expired = keys.filter(({ expiresAt }) => expiresAt !== undefined && expiresAt <= Date.now());
  const cure =
    'Set the secret they were made with; or delete them (GET and DELETE /api/keys, with TOOLWHARF_ADMIN_KEY where no key works) and make new ones.';
  const all = count(keys.length, 'key');
  return [
    ...(useless.length === 0 ? [] : [broken(`${useless.length} of ${all} made with another TOOLWHARF_SECRET: rejected`, cure)]),
    ...(expired.length === 0 ? [] : [note(`${expired.length} of ${all} expired`)]),
  ];
}
