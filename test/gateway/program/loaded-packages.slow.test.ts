import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const sources = fileURLToPath(new URL('../../../src/toolwharf.js', import.meta.url));
/** Writes the URL of every module that is loaded. */
const hook = `import { registerHooks } from 'node:module';
registerHooks({ load(url, context, next) { process.stderr.write('loads ' + url + '\\n'); return next(url, context); } });`;

/** The modules that are loaded until the gateway listens. */
async function loadedUntilListening(settings: Record<string, string>): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'toolwharf-loaded-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'hook.mjs'), hook);
  const environment = {
    PATH: process.env['PATH'],
    HOST: '127.0.0.1',
    PORT: '0',
    TOOLWHARF_DATA_DIR: join(folder, 'data'),
    LOG_FORMAT: 'json',
  };
  const args = ['--import', join(folder, 'hook.mjs'), sources, 'serve'];
  const child = execFile(process.execPath, args, { cwd: folder, env: { ...environment, OLLAMA_BASE_URLS: ';', ...settings } });
  const listening = Promise.withResolvers<void>();
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let told = '';
  const read = (chunk: string): void => {
    told += chunk;
    if (told.includes('listens on')) listening.resolve();
  };
  child.stdout?.on('data', read);
  child.stderr?.on('data', read);
  void ended.then(() => listening.reject(new Error(told.slice(-2_000))));
  await listening.promise;
  child.kill('SIGTERM');
  await ended;
  return [...told.matchAll(/^loads (.+)$/gm)].map(([, url = '']) => url);
}

/** prom-client loads the API, without any implementation of it. */
const isOfTracing = (url: string): boolean => /opentelemetry\/(?!api\/)|\/observability\/tracing\//.test(url);

it('loads OpenTelemetry only if a collector is configured', { timeout: 120_000 }, async () => {
  const without = await loadedUntilListening({});
  expect(without.filter(isOfTracing)).toEqual([]);
  expect(without.length).toBeGreaterThan(300);
  const loaded = await loadedUntilListening({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  expect(loaded.filter(isOfTracing).length).toBeGreaterThan(10);
});
