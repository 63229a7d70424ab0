import { tmpdir } from 'node:os';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { buildApp } from '../../src/app/build-app.ts';
import type { App, AppParts } from '../../src/app/build-app.ts';
import { readConfig } from '../../src/app/config/config.ts';
import type { Config } from '../../src/app/config/config.ts';
import type { NoteStores } from '../../src/core/stores/note-store.ts';
import type { ModelRecord } from '../../src/core/models/model.ts';
import type { ModelBackend } from '../../src/core/models/model.ts';
import type { CatalogBackend } from '../../src/models/catalog/catalog-backend.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { withoutUndefined } from '../../src/shared/json/without-undefined.ts';
import { createLayeredRegistry } from '../../src/storage/layered-registry.ts';
import { createMemoryStores } from '../../src/storage/open-stores.ts';
import type { Stores } from '../../src/storage/open-stores.ts';

export interface TestApp extends App {
  config: Config;
  logLines: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** A change of the gateway, which an open one lets nobody make without the administrator key of this start. */
const changes = /^(?:POST|PUT|PATCH|DELETE) \/api\/(?:keys|tool-servers|backends|presets|v1\/configs)\b/;

/**
 * The whole gateway as configured by the environment given, without a file, logging into memory. Changes by `app.server.inject` without a key
 * carry the administrator key of this start, unless `showsStartKey` is false.
 */
export async function testApp(
  environment: NodeJS.ProcessEnv,
  parts: Partial<Omit<AppParts, 'stores'>> & TestStores & { config?: Partial<Config>; showsStartKey?: boolean } = {},
): Promise<TestApp> {
  const { config: overrides, showsStartKey = true } = parts;
  const config = {
    ...readConfig({ DRAIN_TIMEOUT_MS: '1000', TOOLWHARF_DATA_DIR: tmpdir(), ...environment }, () => undefined),
    ...overrides,
  };
  const logLines: string[] = [];
  const logger = createLogger({ level: 'trace', destination: { write: (line) => void logLines.push(line) } });
  const stores = fillStores(parts, config);
  const app = await buildApp(config, { logger, ...parts, stores });
  if (showsStartKey && app.startKey !== undefined) showStartKey(app.server, app.startKey);
  async function close(): Promise<void> {
    await app.close();
    await stores.database.close();
  }
  return { ...app, close, config, logLines, [Symbol.asyncDispose]: close };
}

/** The stores that a test brings; the others are in memory. */
export interface TestStores extends Partial<Omit<Stores, 'noteStores' | 'database'>> {
  noteStores?: Partial<NoteStores>;
  requireWritable?: () => Promise<void>;
}

function fillStores({ requireWritable, ...given }: TestStores & Pick<Partial<AppParts>, 'now'>, config: Config): Stores {
  const {
    now = Date.now,
    registry,
    runs,
    waitingRuns,
    noteStores,
    chats,
    responses,
    credentials,
    oauthClients,
    signIns,
    grants,
    usage,
    audit,
  } = given;
  const stores = createMemoryStores({ secret: 'a secret of tests', now });
  const brought = withoutUndefined({ runs, waitingRuns, chats, responses, credentials, oauthClients, signIns, grants, usage, audit });
  return {
    ...stores,
    ...brought,
    registry: registry ?? createLayeredRegistry({ fixed: config.toolServers, store: stores.registry }),
    noteStores: { ...stores.noteStores, ...noteStores },
    database: { ...stores.database, ...(requireWritable && { requireWritable }) },
  };
}

function showStartKey(server: FastifyInstance, startKey: string): void {
  const inject = server.inject.bind(server) as (options: InjectOptions) => Promise<LightMyRequestResponse>;
  const withKey = (options: InjectOptions | string): Promise<LightMyRequestResponse> => {
    if (typeof options === 'string') return inject({ url: options });
    const { method = 'GET', url, headers = {} } = options;
    const hasKey = headers['authorization'] !== undefined || headers['x-api-key'] !== undefined;
    const isChange = typeof url === 'string' && changes.test(`${method} ${url}`);
    return inject(isChange && !hasKey ? { ...options, headers: { ...headers, 'x-api-key': startKey } } : options);
  };
  Object.assign(server, { inject: withKey });
}

/** Listens on a free port of the loopback address and gives the URL. */
export async function listen(app: App): Promise<string> {
  return app.server.listen({ host: '127.0.0.1', port: 0 });
}

/** One backend that lists the given models and answers with one script. */
export function backendOf(backend: ModelBackend, models: string[] = ['model'], details: Partial<ModelRecord> = {}): CatalogBackend {
  const list = async (): Promise<ModelRecord[]> =>
    models.map((id) => ({ id, owner: 'openai', isLocal: false, created: 0, capabilities: undefined, details: {}, ...details }));
  return { name: 'scripted', isLocal: false, backend, list };
}

/** The JSON of every `data:` line of a stream; `[DONE]` as text. */
export function readChunks(stream: string): (Record<string, unknown> | string)[] {
  return stream
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => (frame === 'data: [DONE]' ? '[DONE]' : (JSON.parse(frame.slice(6)) as Record<string, unknown>)));
}
