import { describe, expect, it } from 'vitest';
import { listSettings } from '../../../src/app/config/read-settings.ts';
import { addEnvFile, ConfigError, readConfig, settings } from '../../../src/app/config/config.ts';

const noFile = (): undefined => undefined;
const read = (environment: NodeJS.ProcessEnv) => readConfig(environment, noFile);
const readFile = (text: string, environment: NodeJS.ProcessEnv = {}) =>
  readConfig(environment, (path) => (path === './toolwharf.yaml' ? text : undefined));

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

function problemOf(run: () => unknown): string {
  const error = thrownBy(run);
  if (error instanceof ConfigError) return error.message;
  throw new Error('No ConfigError was thrown.', { cause: error });
}

describe('without any setting', () => {
  it('serves on loopback, tries the default Ollama and listens to nobody else', () => {
    expect(read({})).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      backends: [{ kind: 'ollama', url: 'http://127.0.0.1:11434', name: 'ollama', headers: {}, isExplicit: false }],
      toolServers: [],
      functionCalling: 'auto',
      maxToolRounds: 10,
      toolTimeoutMs: 30_000,
      toolTotalTimeoutMs: 300_000,
      browserToolTimeoutMs: 60_000,
      approvalTimeoutMs: 300_000,
      dataDir: './data',
      databaseUrl: 'sqlite:./data/toolwharf.db',
      egress: { mode: 'public', allow: [] },
      corsOrigins: [],
      firstByteTimeoutMs: 120_000,
      idleTimeoutMs: 60_000,
      clientStallTimeoutMs: 30_000,
      drainTimeoutMs: 25_000,
      wsPingIntervalMs: 25_000,
      bodyLimitBytes: 10 * 1024 * 1024,
      logLevel: 'info',
      logFormat: 'json',
      modules: { toolsDir: undefined, toolsets: [], hooks: [] },
    });
    expect(read({})).toMatchObject({ demo: undefined, adminKey: undefined, secret: undefined, taskModel: undefined });
  });

  it('is frozen to its last list', () => {
    const config = read({});
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.backends[0]?.headers)).toBe(true);
    expect(Object.isFrozen(config.egress.allow)).toBe(true);
  });

  it('prints for people on a terminal, unless told otherwise', () => {
    expect(readConfig({}, noFile, true).logFormat).toBe('pretty');
    expect(readConfig({ LOG_FORMAT: 'json' }, noFile, true).logFormat).toBe('json');
  });

  it('takes an empty variable for one that is not set', () => {
    const empty = Object.fromEntries(settings.map(({ name }) => [name, '']));
    expect(read(empty)).toEqual(read({}));
    expect(read({ PORT: '  ' }).port).toBe(8080);
  });
});

describe('auth.oidc', () => {
  const section = 'auth: {oidc: {issuer: "https://id.example/", audience: gateway, admins: {claim: groups, value: operators}}}';

  it('is nothing by default', () => {
    expect(read({}).oidc).toBeUndefined();
  });

  it('comes from the environment, from the file, or from both', () => {
    const environment = { OIDC_ISSUER: 'https://id.example/realms/one', OIDC_AUDIENCE: 'gateway' };
    expect(read(environment).oidc).toEqual({ issuer: 'https://id.example/realms/one', audience: 'gateway' });
    const admins = { claim: 'groups', value: 'operators' };
    // With its slash: issuers are compared exactly.
    expect(readFile(section).oidc).toEqual({ issuer: 'https://id.example/', audience: 'gateway', admins });
    expect(readFile(section, { OIDC_AUDIENCE: 'other' }).oidc).toEqual({ issuer: 'https://id.example/', audience: 'other', admins });
  });

  it('limits its callers as keys are limited', () => {
    const oidc = 'issuer: "https://id.example/", audience: gateway';
    const limited = readFile(`auth: {oidc: {${oidc}, limits: {requests_per_minute: 60, tokens_per_day: 100000}}}`).oidc;
    expect(limited?.limits).toEqual({ requestsPerMinute: 60, tokensPerDay: 100_000 });
    const problem = problemOf(() => readFile(`auth: {oidc: {${oidc}, limits: {requests: 60}}}`));
    expect(problem).toContain('auth.oidc.limits');
    expect(problem).toContain('those are requests_per_minute, concurrent_runs and tokens_per_day');
  });

  it('is among the settings in force, wherever it comes from', () => {
    const file = { path: './toolwharf.yaml', entries: { auth: { oidc: { issuer: 'https://id.example', audience: 'gateway' } } } };
    const shown = listSettings({ OIDC_AUDIENCE: 'other' }, file).filter(({ name }) => name.startsWith('OIDC_'));
    expect(shown).toEqual([
      { name: 'OIDC_ISSUER', origin: 'file', value: 'https://id.example' },
      { name: 'OIDC_AUDIENCE', origin: 'environment', value: 'other' },
      { name: 'OIDC_CLIENT_ID', origin: 'default', value: null },
      { name: 'OIDC_CLIENT_SECRET', origin: 'default', value: null },
      { name: 'OIDC_SCOPES', origin: 'default', value: 'openid profile email' },
    ]);
    const secret = listSettings({ OIDC_CLIENT_SECRET: 'CANARY' }, file).find(({ name }) => name === 'OIDC_CLIENT_SECRET');
    expect(secret).toEqual({ name: 'OIDC_CLIENT_SECRET', origin: 'environment', value: 'set' });
  });

  it('has a client for signing in to the console, which always asks for an ID token', () => {
    const environment = { OIDC_ISSUER: 'https://id.example', OIDC_AUDIENCE: 'gateway', OIDC_CLIENT_ID: 'console' };
    expect(read(environment).oidc?.client).toEqual({ id: 'console', scopes: ['openid', 'profile', 'email'] });
    const own = 'auth: {oidc: {issuer: "https://id.example", audience: gateway, client_id: console, client_secret: s, scopes: [api/use]}}';
    expect(readFile(own).oidc?.client).toEqual({ id: 'console', secret: 's', scopes: ['openid', 'api/use'] });
    expect(readFile(own, { OIDC_SCOPES: 'openid email' }).oidc?.client?.scopes).toEqual(['openid', 'email']);
  });

  it.each<[string, NodeJS.ProcessEnv, string]>([
    ['', { OIDC_ISSUER: 'https://id.example' }, 'OIDC_AUDIENCE (auth.oidc.audience) is not set'],
    ['', { OIDC_AUDIENCE: 'gateway' }, 'OIDC_ISSUER (auth.oidc.issuer) is not set'],
    ['', { OIDC_CLIENT_ID: 'console' }, 'OIDC_ISSUER (auth.oidc.issuer) is not set'],
    [
      '',
      { OIDC_ISSUER: 'https://x', OIDC_AUDIENCE: 'gateway', OIDC_CLIENT_SECRET: 's' },
      'OIDC_CLIENT_ID (auth.oidc.client_id) is not set',
    ],
    ['', { OIDC_ISSUER: 'https://x', OIDC_AUDIENCE: 'same', OIDC_CLIENT_ID: 'same' }, 'OIDC_CLIENT_ID is the same as OIDC_AUDIENCE'],
    ['auth: {oidc: {}}', {}, 'OIDC_ISSUER (auth.oidc.issuer) is not set'],
    ['', { OIDC_ISSUER: 'id.example', OIDC_AUDIENCE: 'gateway' }, 'OIDC_ISSUER: "id.example" is not an http'],
    ['auth: {oidc: {issuer: "ftp://x", audience: gateway}}', {}, 'auth.oidc.issuer in ./toolwharf.yaml: "ftp://x" is not an http'],
    ['auth: {oidc: {issuer: "https://x", audience: gateway, admins: {claim: groups}}}', {}, 'auth.oidc.admins.value in ./toolwharf.yaml'],
    ['auth: {oidc: {issuer: "https://x", audience: gateway, admin: x}}', {}, 'auth.oidc in ./toolwharf.yaml'],
    ['auth: {oicd: {}}', {}, 'auth in ./toolwharf.yaml'],
  ])('refuses %s %o', (text, environment, problem) => {
    expect(problemOf(() => readFile(text, environment))).toContain(problem);
  });
});

describe('each variable', () => {
  it.each<[string, string, object]>([
    ['HOST', '0.0.0.0', { host: '0.0.0.0' }],
    ['HOST', '[::1]', { host: '::1' }],
    ['PORT', '0', { port: 0 }],
    ['PORT', '9000\n', { port: 9000 }],
    ['TASK_MODEL', 'qwen3:4b', { taskModel: 'qwen3:4b' }],
    ['TASK_MODEL_EXTERNAL', 'gpt', { taskModelExternal: 'gpt' }],
    ['TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE', ' {{TOOLS}}\n', { selectionTemplate: ' {{TOOLS}}\n' }],
    ['RAG_TEMPLATE', '{{CONTEXT}} ${HOME}', { ragTemplate: '{{CONTEXT}} ${HOME}' }],
    ['FUNCTION_CALLING', 'legacy', { functionCalling: 'legacy' }],
    ['CHAT_RESPONSE_MAX_TOOL_CALL_ITERATIONS', '256', { maxToolRounds: 256 }],
    ['TOOL_TIMEOUT_MS', '1', { toolTimeoutMs: 1 }],
    ['TOOL_TOTAL_TIMEOUT_MS', '2', { toolTotalTimeoutMs: 2 }],
    ['BROWSER_TOOL_TIMEOUT_MS', '3', { browserToolTimeoutMs: 3 }],
    ['APPROVAL_TIMEOUT_MS', '4', { approvalTimeoutMs: 4 }],
    [
      'TOOLWHARF_DATA_DIR',
      '/var/lib/toolwharf/',
      { dataDir: '/var/lib/toolwharf/', databaseUrl: 'sqlite:/var/lib/toolwharf/toolwharf.db' },
    ],
    ['DATABASE_URL', 'sqlite:/tmp/x.db', { databaseUrl: 'sqlite:/tmp/x.db' }],
    ['TOOLWHARF_ADMIN_KEY', 'sk-tw-1', { adminKey: 'sk-tw-1' }],
    ['TOOLWHARF_SECRET', 'a-secret-of-enough-length', { secret: 'a-secret-of-enough-length' }],
    ['TOOLWHARF_DEMO', 'True', { demo: true }],
    ['TOOLWHARF_DEMO', 'false', { demo: false }],
    ['TOOL_SERVER_EGRESS', 'none', { egress: { mode: 'none', allow: [] } }],
    ['TOOL_SERVER_ALLOW', 'http://a.test:80/, https://b.test', { egress: { mode: 'public', allow: ['http://a.test', 'https://b.test'] } }],
    ['CORS_ALLOW_ORIGIN', '*', { corsOrigins: ['*'] }],
    ['CORS_ALLOW_ORIGIN', 'http://a.test;tauri://localhost', { corsOrigins: ['http://a.test', 'tauri://localhost'] }],
    ['UPSTREAM_FIRST_BYTE_TIMEOUT_MS', '5', { firstByteTimeoutMs: 5 }],
    ['UPSTREAM_IDLE_TIMEOUT_MS', '6', { idleTimeoutMs: 6 }],
    ['CLIENT_STALL_TIMEOUT_MS', '7', { clientStallTimeoutMs: 7 }],
    ['DRAIN_TIMEOUT_MS', '0', { drainTimeoutMs: 0 }],
    ['WS_PING_INTERVAL_MS', '8', { wsPingIntervalMs: 8 }],
    ['BODY_LIMIT_BYTES', '1048576', { bodyLimitBytes: 1_048_576 }],
    ['LOG_LEVEL', 'WARN', { logLevel: 'warn' }],
    ['LOG_FORMAT', 'pretty', { logFormat: 'pretty' }],
  ])('%s=%j is understood', (name, value, expected) => {
    expect(read({ [name]: value })).toMatchObject(expected);
  });

  it.each<[string, string, RegExp]>([
    ['HOST', 'http://x', /^HOST: "http:\/\/x" is not an address or host name; set it without scheme and port/],
    ['PORT', '65536', /^PORT: "65536" is not a whole number from 0 to 65535; set a number/],
    ['PORT', '0x50', /^PORT: "0x50" is not a whole number/],
    [
      'OLLAMA_BASE_URLS',
      'localhost:11434',
      /^OLLAMA_BASE_URLS: "localhost:11434" is not an http:\/\/ or https:\/\/ URL; begin it with http/,
    ],
    ['OPENAI_API_BASE_URL', 'https://a.test?key=1', /has a query/],
    ['FUNCTION_CALLING', 'magic', /^FUNCTION_CALLING: "magic" .*auto, native, function_call, default, legacy, prompt, react, simple/],
    ['CHAT_RESPONSE_MAX_TOOL_CALL_ITERATIONS', '-1', /"-1" is not a whole number from 1 to 256.*it cannot be unlimited/],
    ['CHAT_RESPONSE_MAX_TOOL_CALL_ITERATIONS', '0', /from 1 to 256/],
    ['TOOL_TIMEOUT_MS', '2147483648', /from 1 to 2147483647/],
    ['TOOL_TIMEOUT_MS', '30s', /milliseconds/],
    ['TOOLWHARF_DEMO', 'yes', /set true or false/],
    ['TOOL_SERVER_EGRESS', 'private', /public, any, none/],
    ['TOOL_SERVER_ALLOW', 'http://a.test/path', /is more than an origin; set http:\/\/a\.test/],
    ['CORS_ALLOW_ORIGIN', 'a.test', /CORS_ALLOW_ORIGIN/],
    ['LOG_LEVEL', 'loud', /trace, debug, info/],
    ['LOG_FORMAT', 'xml', /json, pretty/],
    ['TOOLS_FUNCTION_CALLING_PROMPT_TEMPLATE', 'no tools', /does not contain \{\{TOOLS\}\}; add/],
    ['TOOL_SERVER_CONNECTIONS', '[{', /^TOOL_SERVER_CONNECTIONS: its value is not valid JSON/],
    ['TOOL_SERVER_CONNECTIONS', '{}', /^TOOL_SERVER_CONNECTIONS: the value must be an array/],
    ['TOOL_SERVER_CONNECTIONS', '[{"url":"x"}]', /^TOOL_SERVER_CONNECTIONS: 0\.url: must be an http/],
    ['TOOLWHARF_CONFIG', '/nowhere.yaml', /^TOOLWHARF_CONFIG: the file "\/nowhere\.yaml" does not exist; create it/],
  ])('%s=%j stops the start with one line', (name, value, expected) => {
    const problem = problemOf(() => read({ [name]: value }));
    expect(problem).toMatch(expected);
    expect(problem).not.toContain('\n');
  });

  it.each([
    ['DATABASE_URL', 'mysql://user:CANARY@host'],
    ['DATABASE_URL', 'postgres:user:CANARY@host/x'],
    ['REDIS_URL', 'redis://user:CANARY@host'],
    ['TOOLWHARF_SECRET', 'CANARY'],
    ['TOOLWHARF_ADMIN_KEY', 'CANARY with spaces'],
    ['OPENAI_API_KEYS', 'CANARY with spaces'],
    ['TOOL_SERVER_CONNECTIONS', '[{"key":"CANARY"'],
    ['TOOL_SERVER_CONNECTIONS', '[{"url":"http://user:CANARY@a.test"}]'],
    ['OLLAMA_BASE_URLS', 'http://user:CANARY@a.test'],
    ['OLLAMA_BASE_URLS', 'ftp://user:CANARY/1@a.test'],
    ['OPENAI_API_BASE_URL', 'sk-proj-CANARY'],
  ])('%s is refused without printing its value', (name, value) => {
    const problem = problemOf(() => read({ [name]: value }));
    expect(problem).toContain(name);
    expect(problem).not.toContain('CANARY');
  });

  it.each([['REDIS_URL', 'redis://r', /^REDIS_URL: this version runs as one process and cannot use Redis; unset it/]])(
    '%s=%s says that it is not supported',
    (name, value, expected) => {
      expect(problemOf(() => read({ [name]: value, TOOLWHARF_SECRET: 'a-secret-of-enough-length' }))).toMatch(expected);
    },
  );

  it('reads an empty REDIS_URL as none', () => {
    expect(() => read({ REDIS_URL: ' ' })).not.toThrow();
  });
});

describe('backends', () => {
  const shape = (environment: NodeJS.ProcessEnv) => read(environment).backends.map(({ kind, url, key }) => [kind, url, key]);

  it('puts OpenAI ones after Ollama ones, in the order listed, without trailing slashes', () => {
    const environment = { OPENAI_API_BASE_URLS: 'http://c/v1/;http://d/v1', OLLAMA_BASE_URLS: 'http://a/;http://b;' };
    expect(shape(environment)).toEqual([
      ['ollama', 'http://a', undefined],
      ['ollama', 'http://b', undefined],
      ['openai', 'http://c/v1', undefined],
      ['openai', 'http://d/v1', undefined],
    ]);
    expect(read(environment).backends.map((backend) => backend.name)).toEqual(['ollama', 'ollama-2', 'openai', 'openai-2']);
    expect(read(environment).backends.every((backend) => backend.isExplicit)).toBe(true);
  });

  it('pairs keys with addresses by position', () => {
    expect(shape({ OLLAMA_BASE_URL: 'http://o', OPENAI_API_BASE_URLS: 'http://a;http://b;http://c', OPENAI_API_KEYS: 'k1;;k3' })).toEqual([
      ['ollama', 'http://o', undefined],
      ['openai', 'http://a', 'k1'],
      ['openai', 'http://b', undefined],
      ['openai', 'http://c', 'k3'],
    ]);
  });

  it.each<[NodeJS.ProcessEnv, unknown]>([
    [{ OPENAI_API_KEY: 'k' }, ['openai', 'https://api.openai.com/v1', 'k']],
    [{ OPENAI_API_BASE_URL: 'http://a', OPENAI_API_KEYS: 'k', OPENAI_API_KEY: 'unused' }, ['openai', 'http://a', 'k']],
    [{ OPENAI_API_BASE_URLS: ';http://b', OPENAI_API_KEYS: 'k' }, ['openai', 'https://api.openai.com/v1', 'k']],
  ])('reads %j', (environment, first) => {
    expect(shape(environment)[1]).toEqual(first);
  });

  it('refuses more keys than addresses', () => {
    expect(problemOf(() => read({ OPENAI_API_BASE_URLS: 'http://a', OPENAI_API_KEYS: 'k1;k2' }))).toMatch(
      /^OPENAI_API_KEYS: 2 keys for 1 URL/,
    );
    expect(problemOf(() => read({ OPENAI_API_KEYS: 'k1;k2' }))).toMatch(/2 keys for 0 URLs/);
  });

  it("never sends the file's keys to addresses of the environment", () => {
    const problem = problemOf(() => readFile('openai_api_keys: [CANARY]', { OPENAI_API_BASE_URLS: 'http://elsewhere' }));
    expect(problem).toMatch(/set both in the same one/);
    expect(problem).not.toContain('CANARY');
  });

  it('keeps the default Ollama beside an OpenAI backend, and drops it when the file says so', () => {
    expect(read({ OPENAI_API_KEY: 'k' }).backends[0]).toMatchObject({ kind: 'ollama', isExplicit: false });
    expect(readFile('ollama_base_urls: []').backends).toEqual([]);
  });
});

describe('the list of settings', () => {
  it('has each with its origin and value, and no secret', () => {
    const listed = listSettings({ PORT: '9000', TOOLWHARF_ADMIN_KEY: 'sk-tw-canary', HOST: '127.0.0.1' }, undefined);
    const byName = new Map(listed.map((setting) => [setting.name, setting]));
    expect(byName.get('PORT')).toEqual({ name: 'PORT', origin: 'environment', value: '9000' });
    expect(byName.get('HOST')).toEqual({ name: 'HOST', origin: 'default', value: '127.0.0.1' });
    expect(byName.get('TASK_MODEL')).toEqual({ name: 'TASK_MODEL', origin: 'default', value: null });
    expect(byName.get('TOOLWHARF_ADMIN_KEY')).toEqual({ name: 'TOOLWHARF_ADMIN_KEY', origin: 'environment', value: 'set' });
    expect(JSON.stringify(listed)).not.toContain('canary');
  });
});

describe('the .env beside the configuration file', () => {
  const filesOf =
    (files: Record<string, string>) =>
    (path: string): string | undefined =>
      files[path];

  it('adds what the environment does not set', () => {
    const environment: NodeJS.ProcessEnv = { PORT: '1', HOST: '' };
    const text = 'PORT=2\nHOST=0.0.0.0\n# a comment\nexport TASK_MODEL="small one"\nWEATHER_KEY=abc\n';
    const files = filesOf({ './toolwharf.yaml': 'rag_template: "${WEATHER_KEY} {{CONTEXT}}"', '.env': text });
    expect(addEnvFile(environment, files)).toBe('.env');
    expect(environment).toEqual({ PORT: '1', HOST: '', TASK_MODEL: 'small one', WEATHER_KEY: 'abc' });
    expect(readConfig(environment, files)).toMatchObject({ port: 1, taskModel: 'small one', ragTemplate: 'abc {{CONTEXT}}' });
  });

  it('is the one beside the file that TOOLWHARF_CONFIG names', () => {
    const environment: NodeJS.ProcessEnv = { TOOLWHARF_CONFIG: '/etc/toolwharf/my.yaml' };
    const files = filesOf({ '/etc/toolwharf/my.yaml': '', '/etc/toolwharf/.env': 'PORT=2', '.env': 'PORT=3' });
    expect(addEnvFile(environment, files)).toBe('/etc/toolwharf/.env');
    expect(environment['PORT']).toBe('2');
  });

  it('is left alone where there is no configuration file', () => {
    const environment: NodeJS.ProcessEnv = {};
    expect(addEnvFile(environment, filesOf({ '.env': 'PORT=3' }))).toBeUndefined();
    expect(environment).toEqual({});
  });

  it('sets neither databases nor the place of the files', () => {
    const environment: NodeJS.ProcessEnv = {};
    const text = 'DATABASE_URL=postgres://other.test/app\nREDIS_URL=redis://other.test\nTOOLWHARF_CONFIG=/x.yaml\nPORT=2';
    const files = filesOf({ './toolwharf.yaml': '', '.env': text });
    addEnvFile(environment, files);
    expect(environment).toEqual({ PORT: '2' });
  });

  it('that cannot be read is named', () => {
    const readFile = (path: string): string | undefined => {
      if (path === '.env') throw new Error('EACCES');
      return '';
    };
    expect(() => addEnvFile({}, readFile)).toThrow(/^\.env cannot be read \(EACCES\); check its permissions/);
  });
});
