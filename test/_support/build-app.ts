import { tmpdir } from 'node:os';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { buildApp } from '../../src/app/build-app.ts';
import type { App, AppParts } from '../../src/app/build-app.ts';
import { readConfig } from '../../src/app/config/config.ts';
import type { Config } from '../../src/app/config/config.ts';
import type { ModelRecord } from '../../src/core/models/model.ts';
import type { ModelBackend } from '../../src/core/models/model.ts';
import type { CatalogBackend } from '../../src/models/catalog/catalog-backend.ts';
import { createLogger } from '../../src/observability/logger.ts';

export interface TestApp extends App {
  config: Config;
  logLines: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** A change of the gateway, which an open one lets nobody make without the administrator key of this start. */
const changes = /^(?:POST|PUT|PATCH|DELETE) \/api\/(?:keys|tool-servers|presets|v1\/configs)\b/;

/**
 * The whole gateway as configured by the environment given, without a file, logging into memory. Changes by `app.server.inject` without a key
 * carry the administrator key of this start, unless `showsStartKey` is false.
 */
export async function testApp(
  environment: NodeJS.ProcessEnv,
  parts: Partial<AppParts> & { config?: Partial<Config>; showsStartKey?: boolean } = {},
): Promise<TestApp> {
  const { config: overrides, showsStartKey = true, ...rest } = parts;
  const config = {
    ...readConfig({ DRAIN_TIMEOUT_MS: '1000', TOOLWHARF_DATA_DIR: tmpdir(), ...environment }, () => undefined),
    ...overrides,
  };
  const logLines: string[] = [];
  const logger = createLogger({ level: 'trace', destination: { write: (line) => void logLines.push(line) } });
  const app = await buildApp(config, { logger, ...rest });
  if (showsStartKey && app.startKey !== undefined) showStartKey(app.server, app.startKey);
  return { ...app, config, logLines, [Symbol.asyncDispose]: () => app.close() };
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
