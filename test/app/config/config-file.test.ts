import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../../src/app/config/config.ts';

const read = (text: string, environment: NodeJS.ProcessEnv = {}) =>
  readConfig(environment, (path) => (path === (environment['TOOLWHARF_CONFIG'] ?? './toolwharf.yaml') ? text : undefined));

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

describe('toolwharf.yaml', () => {
  it('holds the settings under their names in lower case, lists as lists', () => {
    const config = read('port: 9000\nollama_base_urls: [http://a, http://b]\ntoolwharf_demo: false\ntool_server_allow: [http://x.test]\n');
    expect(config).toMatchObject({ port: 9000, demo: false, egress: { allow: ['http://x.test'] } });
    expect(config.backends.map((backend) => backend.url)).toEqual(['http://a', 'http://b']);
  });

  it('comes after the environment, and an empty variable or key counts as not set', () => {
    expect(read('port: 9000\nhost: 0.0.0.0\nlog_level:\n', { PORT: '9001', HOST: '' })).toMatchObject({
      port: 9001,
      host: '0.0.0.0',
      logLevel: 'info',
    });
    expect(read('ollama_base_urls: http://file', { OLLAMA_BASE_URL: 'http://env' }).backends[0]?.url).toBe('http://env');
  });

  it('may be empty, or lie elsewhere', () => {
    expect(read('').port).toBe(8080);
    expect(read('port: 1', { TOOLWHARF_CONFIG: '/etc/toolwharf.yaml' }).port).toBe(1);
  });

  it('lists backends with everything a variable cannot hold', () => {
    const text = `
openai_api_base_url: http://a/v1
backends:
  - { type: openai, url: https://api.groq.test/v1/, key: "\${GROQ_KEY}", prefix: groq/, name: groq, headers: { x-team: one } }
  - { type: ollama, url: http://gpu:11434, max_context: 65536 }
`;
    expect(read(text, { GROQ_KEY: 'k' }).backends).toEqual([
      {
        kind: 'openai',
        url: 'http://a/v1',
        urls: ['http://a/v1'],
        name: 'openai',
        origin: 'file',
        headers: {},
        maxContext: 32_768,
        isExplicit: true,
      },
      {
        kind: 'openai',
        url: 'https://api.groq.test/v1',
        urls: ['https://api.groq.test/v1'],
        key: 'k',
        prefix: 'groq',
        name: 'groq',
        origin: 'file',
        headers: { 'x-team': 'one' },
        maxContext: 32_768,
        isExplicit: true,
      },
      {
        kind: 'ollama',
        url: 'http://gpu:11434',
        urls: ['http://gpu:11434'],
        name: 'ollama',
        origin: 'file',
        headers: {},
        maxContext: 65_536,
        isExplicit: true,
      },
    ]);
  });

  it('takes several servers, models, limits and fallbacks of a backend', () => {
    const text = `
backends:
  - id: lab
    type: anthropic
    urls: [http://a/v1, http://b/v1/]
    models: [one, two, one]
    max_concurrent: 4
    queue: 0
    fallbacks: [cloud/small]
    tool_images: never
    schemas: plain
`;
    expect(read(text, { OLLAMA_BASE_URLS: ';' }).backends).toEqual([
      {
        kind: 'anthropic',
        url: 'http://a/v1',
        urls: ['http://a/v1', 'http://b/v1'],
        name: 'lab',
        origin: 'file',
        models: ['one', 'two'],
        maxConcurrent: 4,
        queue: 0,
        fallbacks: ['cloud/small'],
        toolImages: 'never',
        schemas: 'plain',
        headers: {},
        maxContext: 32_768,
        isExplicit: true,
      },
    ]);
  });

  it('takes the older name of an id', () => {
    const idOf = (fields: string) =>
      read(`backends: [{ type: openai, url: "http://a", ${fields} }]`, { OLLAMA_BASE_URLS: ';' }).backends[0]?.name;
    expect(idOf('name: My server')).toBe('My server');
    expect(idOf('id: lab, name: lab')).toBe('lab');
    expect(idOf('prefix: p')).toBe('openai');
  });

  it('says where each backend was entered', () => {
    const text = 'ollama_base_urls: http://a\nbackends: [{ type: openai, url: "http://b" }]';
    const origins = (environment: NodeJS.ProcessEnv) => read(text, environment).backends.map(({ url, origin }) => [url, origin]);
    expect(origins({ OPENAI_API_KEY: 'k' })).toEqual([
      ['http://a', 'file'],
      ['https://api.openai.com/v1', 'environment'],
      ['http://b', 'file'],
    ]);
  });

  it('lists tool servers beside those of the environment', () => {
    const environment = { TOOL_SERVER_CONNECTIONS: '[{"id":"time","url":"http://a.test"}]' };
    const config = read(
      'tool_servers:\n  - { url: "http://a.test", info: { id: time } }\n  - { id: maps, url: "http://b.test" }',
      environment,
    );
    expect(config.toolServers.map(({ id, origin }) => [id, origin])).toEqual([
      ['time', 'environment'],
      ['time-2', 'file'],
      ['maps', 'file'],
    ]);
    expect(problemOf(() => read('tool_servers: [{ id: time, url: "http://b.test" }]', environment))).toBe(
      'tool_servers in ./toolwharf.yaml: 0.id: "time" is already used; give each connection its own id',
    );
  });

  it('keeps what is said of functions and hooks, the last toolset of an id', () => {
    const text =
      'toolsets: [{ id: a, enable: false }, { id: a, tools: [x] }]\nhooks: [./h.js, { module: b.js, on_failure: ignore }]\ntools_dir: ./tools';
    expect(read(text).modules).toEqual({
      toolsDir: resolve('tools'),
      toolsets: [{ id: 'a', tools: ['x'], isEnabled: true, isDefault: undefined }],
      hooks: [
        { path: resolve('h.js'), name: './h.js', timeoutMs: 5_000, onFailure: undefined },
        { path: resolve('b.js'), name: 'b.js', timeoutMs: 5_000, onFailure: 'ignore' },
      ],
    });
  });

  it.each<[string, RegExp]>([
    ['prot: 1', /^\.\/toolwharf\.yaml: "prot" is not a known setting; did you mean "port"\?/],
    ['redis_url: redis://r', /redis_url: this version runs as one process and cannot use Redis; remove it/],
    ['tool_server: []', /did you mean "tool_servers"/],
    [
      'mcpServers: {fs: {command: npx, args: [-y, "@scope/server fs", /srv], env: {API_KEY: CANARY}}, "a b": {url: "https://mcp.test/mcp?key=CANARY"}}',
      /"mcpServers" is the form of other programs; write it as tool_servers: \[\{id: fs, type: mcp, command: npx, args: \["-y", "@scope\/server fs", \/srv\], env: \{API_KEY: "\$\{API_KEY\}"\}\}, \{id: "a b", type: mcp, url: "?https:\/\/mcp\.test\/mcp"?\}\]\.$/,
    ],
    ['tool_servers: [{id: fs, command: npx}]', /0\.type: must be "mcp" for a server that is started by a command/],
    ['tool_servers: [{id: fs, type: mcp, command: [npx, -y]}]', /0\.command: must be the name of the program; put the rest into args/],
    ['tool_servers: ["https://tools.test"]', /0: must be an object such as \{"url": "https:\/\/tools\.example"\}/],
    ['OLLAMA_BASE_URLS: x', /did you mean "ollama_base_urls"/],
    ['port: abc', /^port in \.\/toolwharf\.yaml: "abc" is not a whole number/],
    ['port: [1]', /^port in .*is not text/],
    ['- a', /must contain settings by name/],
    ['port: 1\nport: 2', /is not valid YAML: .*unique.* line 2/],
    ['key: "CANARY', /is not valid YAML/],
    ['backends: [{ type: openai }]', /^backends\.0\.url in \.\/toolwharf\.yaml: /],
    ['backends: [{ type: groq, url: "http://a" }]', /^backends\.0\.type/],
    ['backends: [{ type: openai, url: "http://a", id: a/b }]', /^backends\.0\.id in .*letters, digits/],
    ['backends: [{ type: openai, url: "http://a", id: a, name: b }]', /^backends\.0\.name in .*leave it out/],
    ['backends: [{ type: openai, url: "http://a", urls: ["http://b"] }]', /^backends\.0\.urls in .*leave one of them out/],
    ['backends: [{ type: openai, urls: ["http://a", "http://a/"] }]', /^backends\.0\.urls\.1 in .*twice/],
    ['backends: [{ type: openai, urls: ["http://u:CANARY@a"] }]', /^backends\.0\.urls\.0 in .*user name or password/],
    ['backends: [{ type: openai, url: "http://a", models: [] }]', /^backends\.0\.models in .*must not be empty/],
    ['backends: [{ type: openai, url: "http://a", max_concurrent: 0 }]', /^backends\.0\.max_concurrent in .*at least 1/],
    ['backends: [{ type: openai, url: "http://a", queue: 9 }]', /^backends\.0\.queue in .*set that too/],
    ['backends: [{ type: openai, url: "http://a", fallbacks: b }]', /^backends\.0\.fallbacks in .*must be a list/],
    ['backends: [{ type: openai, url: "http://a", tool_images: yes }]', /^backends\.0\.tool_images in .*"auto" or "never"/],
    ['backends: [{ type: openai, url: "http://a", schemas: x }]', /^backends\.0\.schemas in .*"plain"/],
    ['backends: [{ type: openai, url: "http://a", kee: CANARY }]', /backends\.0 in .*kee/],
    ['backends: [{ type: openai, url: "http://u:CANARY@a" }]', /^backends\.0\.url/],
    ['backends: [{ type: openai, url: "http://a", name: n }, { type: openai, url: "http://b", name: n }]', /"n" is used twice/],
    ['tools_dir: [a]', /^tools_dir in .*set it to the path of a folder/],
    ['toolsets: [{ id: A }]', /^toolsets\.0\.id in .*lowercase letters/],
    ['toolsets: [{ id: a, tools: [x] }]', /tools_dir, which is not set/],
    ['hooks: ./h.js', /^hooks in .*write a list/],
    ['hooks: [{ module: a.js, on_failure: retry }]', /^hooks\.0/],
    ['models: {}', /^models in .*must be a list/],
    ['models: [{ id: a }]', /^models in .*entry 1: base_model: is missing/],
    ['models: [{ id: a, base_model: m }, { id: a, base_model: m }]', /the id "a" is used twice/],
    ['tool_servers: [{ url: "ftp://a" }]', /^tool_servers in \.\/toolwharf\.yaml: 0\.url: must be/],
  ])('%j stops the start with one line', (text, expected) => {
    const problem = problemOf(() => read(text));
    expect(problem).toMatch(expected);
    expect(problem).not.toContain('CANARY');
  });

  it('says when it cannot be read', () => {
    const unreadable = (): string => {
      throw new Error('EACCES: permission denied');
    };
    expect(problemOf(() => readConfig({}, unreadable))).toMatch(/^\.\/toolwharf\.yaml cannot be read \(EACCES.*check its permissions/);
  });
});

describe('${NAME} in toolwharf.yaml', () => {
  it('becomes the value of the variable, also within text and lists', () => {
    const config = read('port: ${P}\nollama_base_urls: ["http://${H}:1", "${U}"]', { P: '7', H: 'h', U: 'http://u' });
    expect(config.port).toBe(7);
    expect(config.backends.map((backend) => backend.url)).toEqual(['http://h:1', 'http://u']);
  });

  it('is expanded once, after parsing: a value adds neither structure nor further expansions', () => {
    expect(read('tools_dir: ${A}', { A: 'x"\nport: 1\n${B}', B: 'no' }).modules.toolsDir).toBe(resolve('x"\nport: 1\n${B}'));
  });

  it('is written literally as $${', () => {
    expect(read('tools_dir: "a$${B}c"').modules.toolsDir).toBe(resolve('a${B}c'));
  });

  it.each<[string, RegExp]>([
    [
      'tool_servers: [{ url: "${NOWHERE}" }]',
      /^\.\/toolwharf\.yaml: tool_servers\.0\.url uses \$\{NOWHERE\}, which is not set in the environment; set NOWHERE/,
    ],
    ['tools_dir: ${EMPTY}', /\$\{EMPTY\}, which is not set/],
    ['tools_dir: "${A:-b}"', /tools_dir has a "\$\{" without a variable's name; write \$\{NAME\}/],
  ])('is an error in %j', (text, expected) => {
    expect(problemOf(() => read(text, { EMPTY: '' }))).toMatch(expected);
  });

  it('means nothing in the environment', () => {
    expect(read('', { TASK_MODEL: '${HOME}', HOME: '/root' }).taskModel).toBe('${HOME}');
  });
});
