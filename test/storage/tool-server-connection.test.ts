import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/core/errors.ts';
import { parseToolServerConnection, parseToolServerConnections } from '../../src/storage/tool-server-connection.ts';

const parse = (value: unknown) => parseToolServerConnection(value, 'file');
const ids = (value: unknown, taken?: ReadonlySet<string>) =>
  parseToolServerConnections(value, 'file', taken && { taken }).map((record) => record.id);

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

function refusalOf(run: () => unknown): GatewayError {
  const error = thrownBy(run);
  if (error instanceof GatewayError) return error;
  throw new Error('Nothing was refused.', { cause: error });
}

describe('a connection in the form of other programs', () => {
  const refusal = (value: unknown) => refusalOf(() => parseToolServerConnection(value, 'database')).message;

  it('is refused with the body that a request needs', () => {
    expect(refusal({ mcpServers: { docs: { url: 'https://mcp.test/mcp', headers: { authorization: 'CANARY' } } } })).toBe(
      'mcpServers: is the form of other programs. Send each server by itself, as {"id":"docs","type":"mcp","url":"https://mcp.test/mcp"}',
    );
  });

  it('is refused with the entry of the file for a command', () => {
    const message = refusal({ mcpServers: { fs: { command: 'npx', args: ['-y', 'server'], env: { TOKEN: 'CANARY' } } } });
    expect(message).toContain(
      'Put it into toolwharf.yaml as tool_servers: [{id: fs, type: mcp, command: npx, args: ["-y", server], env: {TOKEN: "${TOKEN}"}}]',
    );
    expect(message).not.toContain('CANARY');
  });

  it.each([
    [{ url: 'https://mcp.test/sse', type: 'sse' }, 'type: must be "openapi" or "mcp"; "mcp" is for Streamable HTTP, SSE and stdio'],
    [{ url: 'npx -y server' }, /^url: must be an http.*toolwharf\.yaml, with type: mcp, command and args$/],
    [{ url: 'tools.test' }, 'url: must be an http:// or https:// address'],
  ])('names the right form instead of %j', (value, message) => {
    expect(refusal(value)).toMatch(message);
  });
});

describe('a connection', () => {
  it.each<[string, object, string]>([
    ['lists of names', { config: { tags: Array.from({ length: 25_001 }, () => 'a') } }, 'entries'],
    ['names in one text', { config: { function_name_filter_list: 'a,'.repeat(25_001) } }, 'entries'],
    ['what nobody knows', { config: { other: Array.from({ length: 25_001 }, () => 1) } }, 'entries'],
    ['a text of names that is longer than any list', { config: { function_name_filter_list: 'a'.repeat(640_001) } }, 'characters'],
  ])('may not hold more than anybody reads, in %s', (_what, fields, problem) => {
    expect(refusalOf(() => parse({ url: 'http://localhost:8000', ...fields })).message).toContain(problem);
  });

  it('may have a document of any number of values, and lists of as many functions as a document has', () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `function_${index}`);
    const spec = { openapi: '3.1.0', paths: {}, 'x-rows': Array.from({ length: 30_000 }, () => 1) };
    const config = { function_name_filter_list: names.join(), needs_approval: names };
    expect(parse({ url: 'http://localhost:8000', spec, config })).toMatchObject({ extra: { config: { needs_approval: names } } });
  });

  it('needs no more than its address', () => {
    expect(parse({ url: ' http://localhost:8000/ ' })).toEqual({
      id: 'localhost-8000',
      origin: 'file',
      url: 'http://localhost:8000/',
      path: 'openapi.json',
      type: 'openapi',
      authType: 'none',
      headers: {},
      isEnabled: true,
      isDefault: true,
      functionFilter: [],
      tags: [],
      extra: {},
    });
  });

  it('has every field of the gateway', () => {
    const value = {
      id: 'time',
      url: 'https://a.test/api',
      path: 'https://docs.test/time.yaml',
      base_path: '/v2',
      type: 'openapi',
      spec: { openapi: '3.1.0' },
      auth_type: 'header',
      auth_name: 'X-Token',
      key: 'k',
      headers: { 'x-user': '{{USER_ID}}', 'x-number': 1 },
      config: {
        enable: false,
        default: false,
        function_name_filter_list: ['a', ' !b '],
        tags: ['t'],
        timeout_ms: 5,
        max_result_bytes: 6,
        needs_approval: ['a'],
      },
      info: { id: 'other', name: 'Time', description: 'Clocks', version: '1' },
      since: 2026,
    };
    expect(parseToolServerConnection(value, 'environment')).toEqual({
      id: 'time',
      origin: 'environment',
      url: 'https://a.test/api',
      path: 'https://docs.test/time.yaml',
      basePath: '/v2',
      type: 'openapi',
      spec: { openapi: '3.1.0' },
      authType: 'header',
      authName: 'X-Token',
      key: 'k',
      headers: { 'x-user': '{{USER_ID}}', 'x-number': '1' },
      name: 'Time',
      description: 'Clocks',
      isEnabled: false,
      isDefault: false,
      functionFilter: ['a', '!b'],
      tags: ['t'],
      timeoutMs: 5,
      maxResultBytes: 6,
      extra: { since: 2026, config: { needs_approval: ['a'] }, info: { version: '1' } },
    });
  });

  it("is read in Open WebUI's shape, with its empty and null fields", () => {
    const value = {
      url: 'http://a.test',
      path: 'openapi.json',
      type: 'openapi',
      auth_type: 'bearer',
      headers: null,
      key: '',
      config: { enable: true, function_name_filter_list: 'a, !b,', access_control: null },
      spec_type: 'url',
      spec: '',
      info: { id: '', name: 'Time', description: '' },
    };
    expect(parse(value)).toMatchObject({
      id: 'a-test',
      authType: 'bearer',
      functionFilter: ['a', '!b'],
      name: 'Time',
      extra: { spec_type: 'url' },
    });
    expect(parse(value)).not.toHaveProperty('key');
    expect(parse(value)).not.toHaveProperty('spec');
    expect(parse(value)).not.toHaveProperty('description');
  });

  it('counts its own document unless spec_type says that the address counts', () => {
    expect(parse({ url: 'http://a', spec: '{}', spec_type: 'json' }).spec).toBe('{}');
    expect(parse({ url: 'http://a', spec: '{}' }).spec).toBe('{}');
    expect(parse({ url: 'http://a', spec: '{}', spec_type: 'url' }).spec).toBeUndefined();
  });

  it('sends a key without a word about it as a bearer token', () => {
    expect(parse({ url: 'http://a', key: 'k' }).authType).toBe('bearer');
  });

  it.each<[string, object, string]>([
    ['no object', [], ''],
    ['no address', {}, 'url'],
    ['another scheme', { url: 'file:///etc/passwd' }, 'url'],
    ['a password in the address', { url: 'http://u:CANARY@a' }, 'url'],
    ['a query in the address', { url: 'http://a?key=CANARY' }, 'url'],
    ['a path to another scheme', { url: 'http://a', path: 'file:///CANARY' }, 'path'],
    ['an unknown type', { url: 'http://a', type: 'CANARY' }, 'type'],
    ['an unknown way of authentication', { url: 'http://a', auth_type: 'CANARY' }, 'auth_type'],
    ['a key of two lines', { url: 'http://a', key: 'CANARY\r\nx: y' }, 'key'],
    ['a basic key without colon', { url: 'http://a', auth_type: 'basic', key: 'CANARY' }, 'key'],
    ['a header of two lines', { url: 'http://a', headers: { a: 'CANARY\nx' } }, 'headers.a'],
    ['an illegal header', { url: 'http://a', headers: { 'a b': 'CANARY' } }, 'headers.a b'],
    ['a header of the connection', { url: 'http://a', headers: { Host: 'CANARY' } }, 'headers.Host'],
    ['a name that is no header', { url: 'http://a', auth_type: 'header', auth_name: 'a b', key: 'CANARY' }, 'auth_name'],
    ['a time limit of nothing', { url: 'http://a', config: { timeout_ms: 0 } }, 'config.timeout_ms'],
    ['a text for a switch', { url: 'http://a', config: { enable: 'CANARY' } }, 'config.enable'],
    ['a typing error in a protection', { url: 'http://a', config: { needs_approval: 'CANARY' } }, 'config.needs_approval'],
  ])('with %s is refused by the name of the field, without its value', (_case, value, path) => {
    const refusal = refusalOf(() => parse(value));
    expect(refusal.code).toBe('invalid_request');
    expect(refusal.param).toBe(path === '' ? null : path);
    expect(refusal.message).toContain(path);
    expect(refusal.message).not.toContain('CANARY');
  });

  it('is refused when it is nested beyond every document', () => {
    let spec: object = {};
    for (let depth = 0; depth < 500; depth += 1) spec = { spec };
    expect(refusalOf(() => parse({ url: 'http://a', spec })).message).toMatch(/levels deep/);
  });
});

describe('the id of a connection', () => {
  it.each<[object, string]>([
    [{ id: 'time_1-a' }, 'time_1-a'],
    [{ id: 'My Time!' }, 'my-time'],
    [{ id: '時', info: { id: 'clock' } }, 'clock'],
    [{ info: { id: 'Clock' } }, 'clock'],
    [{}, 'host-test-8000-api'],
    [{ id: 'x'.repeat(80) }, 'x'.repeat(64)],
  ])('of %j is %s', (value, expected) => {
    expect(parse({ url: 'http://host.test:8000/api/', ...value }).id).toBe(expected);
  });

  it('is numbered where several were derived from the same words', () => {
    const url = 'http://a';
    expect(ids([{ url }, { url }, { url, info: { id: 'a' } }, { url, id: 'a-2' }])).toEqual(['a', 'a-3', 'a-4', 'a-2']);
    expect(ids([{ url: `http://${'x'.repeat(60)}.test` }, { url: `http://${'x'.repeat(60)}.test` }]).every((id) => id.length <= 64)).toBe(
      true,
    );
  });

  it('leaves ids of other places alone', () => {
    expect(ids([{ url: 'http://a' }], new Set(['a']))).toEqual(['a-2']);
  });

  it('written twice is an error that names the second', () => {
    const list = [
      { url: 'http://a', id: 'x' },
      { url: 'http://b', id: 'X' },
    ];
    expect(refusalOf(() => ids(list))).toMatchObject({
      param: '1.id',
      message: '1.id: "x" is already used; give each connection its own id',
    });
    expect(refusalOf(() => ids([{ url: 'http://a', id: 'x' }], new Set(['x']))).param).toBe('0.id');
  });
});

describe('a list of connections', () => {
  it('names the entry at fault', () => {
    expect(refusalOf(() => ids([{ url: 'http://a' }, { url: 'b' }])).param).toBe('1.url');
    expect(refusalOf(() => ids({})).message).toMatch(/must be an array/);
  });
});
