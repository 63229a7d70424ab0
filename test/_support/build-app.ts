import { buildApp } from '../../src/app.ts';
import type { App, AppParts } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import type { Config } from '../../src/config.ts';
import type { ModelRecord } from '../../src/core/model.ts';
import type { ModelBackend } from '../../src/core/model.ts';
import type { CatalogBackend } from '../../src/models/model-catalog.ts';
import { createLogger } from '../../src/observability/logger.ts';

export interface TestApp extends App {
  config: Config;
  logLines: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** The whole gateway as configured by the environment given, without a file, logging into memory. */
export async function testApp(
  environment: NodeJS.ProcessEnv,
  parts: Partial<AppParts> & { config?: Partial<Config> } = {},
): Promise<TestApp> {
  const { config: overrides, ...rest } = parts;
  const config = { ...readConfig({ DRAIN_TIMEOUT_MS: '1000', ...environment }, () => undefined), ...overrides };
  const logLines: string[] = [];
  const logger = createLogger({ level: 'trace', format: 'json', destination: { write: (line) => void logLines.push(line) } });
  const app = await buildApp(config, { logger, ...rest });
  return { ...app, config, logLines, [Symbol.asyncDispose]: () => app.close() };
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
