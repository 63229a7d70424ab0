import { describe, expect, it } from 'vitest';
import { toDocumentUrl } from '../../../../src/shared/text/document-url.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { convertOperations } from '../../../../src/tools/openapi/convert/convert-operations.ts';
import { createBaseUrls } from '../../../../src/tools/openapi/document/server-base-url.ts';

const withServer = (url: string, variables?: JsonObject): JsonObject => ({
  openapi: '3.1.0',
  servers: [{ url, variables }, { url: '/other' }],
});

const serverBaseUrl = (...options: Parameters<typeof createBaseUrls>): string => createBaseUrls(...options)({});

const withPaths = (...paths: string[]): JsonObject => ({ paths: Object.fromEntries(paths.map((path) => [path, {}])) });

describe('the base URL of a document', () => {
  it.each<[string, JsonObject, string, string]>([
    ['no server', { openapi: '3.1.0' }, 'http://h:8000/', 'http://h:8000'],
    ['an empty list', { openapi: '3.1.0', servers: [] }, 'http://h/tools/', 'http://h/tools'],
    ['a path', withServer('/api'), 'http://h', 'http://h/api'],
    ['a path without slash', withServer('api/v1'), 'http://h', 'http://h/api/v1'],
    ['a path that is already there', withServer('/api'), 'http://h/api', 'http://h/api'],
    ['an overlap', withServer('/api/v1'), 'http://h/api', 'http://h/api/v1'],
    ['an overlap below a proxy’s prefix', withServer('/api/v1/'), 'http://h/proxy/api/', 'http://h/proxy/api/v1'],
    ['the longest overlap', withServer('/a/b/a/c'), 'http://h/a/b/a', 'http://h/a/b/a/c'],
    ['what the registered path begins with', withServer('https://h/shop'), 'http://h/shop/api/tools', 'http://h/shop'],
    ['no overlap of half a segment', withServer('/api2'), 'http://h/api', 'http://h/api/api2'],
    ['another host, which is ignored', withServer('https://user:pw@evil.test:99/v2?x#y'), 'http://h', 'http://h/v2'],
    ['a scheme-relative host', withServer('//evil.test/v2'), 'http://h', 'http://h/v2'],
    ['a host without scheme', withServer('localhost:3000/v2'), 'http://h', 'http://h/v2'],
    ['a name without scheme', withServer('api.evil.test/v2'), 'http://h', 'http://h/v2'],
    ['the root', withServer('/'), 'http://h:1/x', 'http://h:1/x'],
    ['steps upwards', withServer('../../v1/./x'), 'http://h', 'http://h/v1/x'],
    [
      'variables',
      withServer('{p}://{host}/{v}', { p: { default: 'https' }, host: { default: 'a.test' }, v: { default: 'v3' } }),
      'http://h',
      'http://h/v3',
    ],
    ['a variable with choices alone', withServer('/{v}', { v: { enum: ['v2', 'v1'] } }), 'http://h', 'http://h/v2'],
    ['a variable without default', withServer('{server}/api/v1'), 'http://h', 'http://h/api/v1'],
    ['Swagger 2.0', { swagger: '2.0', host: 'evil.test', basePath: '/v1.56' }, 'http://h', 'http://h/v1.56'],
    ['Swagger 2.0 without basePath', { swagger: '2.0', host: 'evil.test' }, 'http://h', 'http://h'],
    ['what all paths begin with', withPaths('/api/v1/users', '/api/v1/login/token'), 'http://h/api/v1/', 'http://h'],
    ['the same below a proxy’s prefix', withPaths('/api/v1/users', '/api/v2/login'), 'http://h/proxy/api', 'http://h/proxy'],
    ['what only some paths begin with', withPaths('/api/users', '/login'), 'http://h/api', 'http://h/api'],
    ['a path that would be nothing without it', withPaths('/fetch'), 'http://h/fetch', 'http://h/fetch'],
    ['paths beside a server of the document', { ...withServer('/api'), ...withPaths('/api/users') }, 'http://h/api', 'http://h/api'],
    ['nonsense', { openapi: '3.1.0', servers: 'x' }, 'http://h', 'http://h'],
  ])('%s', (_, document, registered, expected) => {
    expect(serverBaseUrl(document, registered, undefined)).toBe(expected);
  });

  it('a base path takes the place of the document’s', () => {
    expect(serverBaseUrl(withServer('/wrong'), 'http://h/api', '/api/v2')).toBe('http://h/api/v2');
    expect(serverBaseUrl(withServer('/wrong'), 'http://h/api', '/')).toBe('http://h/api');
    expect(serverBaseUrl(withServer('/wrong'), 'http://h', '')).toBe('http://h');
    expect(serverBaseUrl(withPaths('/api/users'), 'http://h/api', '/')).toBe('http://h/api');
  });
});

describe('the address of a document that lies in a folder', () => {
  it.each<[string, string | undefined, JsonObject, string]>([
    ['http://h', 'docs/openapi.json', { openapi: '3.1.0' }, 'http://h'],
    ['http://h', 'docs/openapi.json', withServer('v1'), 'http://h/v1'],
    ['http://h/docs/openapi.json', undefined, { openapi: '3.1.0' }, 'http://h'],
    ['http://h/docs/openapi.json', undefined, withServer('/api'), 'http://h/api'],
    ['http://h/docs/openapi.json', undefined, withServer('../api'), 'http://h/api'],
    ['http://h/swagger/v1/swagger.json', undefined, withPaths('/api/users', '/health'), 'http://h'],
    // An application below a prefix, which it knows (as FastAPI with `root_path`) or which a proxy takes away.
    ['http://h/tools/weather/openapi.json', undefined, withServer('/tools/weather'), 'http://h/tools/weather'],
    ['http://h/tools/weather/openapi.json', undefined, withPaths('/now', '/later'), 'http://h/tools/weather'],
    ['http://h/tools/weather/docs/openapi.json', undefined, withPaths('/now', '/later'), 'http://h/tools/weather'],
    ['http://h/api/v1/openapi.json', undefined, withPaths('/api/v1/users', '/api/v1/login'), 'http://h'],
    ['http://h/docs', undefined, { openapi: '3.1.0' }, 'http://h/docs'],
  ])('%s with the path %s', (address, path, document, expected) => {
    expect(serverBaseUrl(document, toDocumentUrl(address, path).url, undefined)).toBe(expected);
  });
});

describe('an operation that names a server of its own', () => {
  const base = (document: JsonObject, registered: string, serverPath?: string, basePath?: string): string =>
    createBaseUrls(document, registered, basePath)(serverPath === undefined ? {} : { serverPath });

  it.each<[string, JsonObject, string, string | undefined, string]>([
    ['none', withServer('/api/v1'), 'http://h', undefined, 'http://h/api/v1'],
    ['instead of the document’s', withServer('/api/v1'), 'http://h', '/api/v2', 'http://h/api/v2'],
    ['where the registered URL holds the document’s', withServer('/api/v1'), 'http://h/proxy/api/v1', '/api/v2', 'http://h/proxy/api/v2'],
    ['where it holds a part of it', withServer('/api/v1'), 'http://h/api', '/api/v2', 'http://h/api/v2'],
    ['at the root', withServer('/api'), 'http://h/api', '/', 'http://h'],
    ['without a server of the document', { openapi: '3.1.0' }, 'http://h/x', '/raw', 'http://h/x/raw'],
  ])('%s', (_, document, registered, serverPath, expected) => {
    expect(base(document, registered, serverPath)).toBe(expected);
  });

  it('gives way to the base path of the connection', () => {
    expect(base(withServer('/api'), 'http://h', '/raw', '/own')).toBe('http://h/own');
  });

  it.each(['https://evil.test/x', '//evil.test/x', 'http://user:pw@evil.test:1/x'])('stays on the registered origin: %s', (url) => {
    const paths = { '/a': { servers: [{ url: '/above' }], get: { servers: [{ url }] }, post: {} } };
    const document = { openapi: '3.1.0', paths };
    const { operations, warnings } = convertOperations(document);
    expect(operations.map((operation) => createBaseUrls(document, 'http://h:1', undefined)(operation))).toEqual([
      'http://h:1/x',
      'http://h:1/above',
    ]);
    expect(warnings).toEqual([expect.stringContaining('Only the paths of these are used')]);
  });
});
