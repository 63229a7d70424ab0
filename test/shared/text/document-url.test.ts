import { expect, it } from 'vitest';
import { toDocumentUrl, withoutSlashesAtEnd } from '../../../src/shared/text/document-url.ts';

it.each<[string, string | undefined, string, string]>([
  ['http://a.test', undefined, 'http://a.test', 'openapi.json'],
  ['http://a.test/', '', 'http://a.test/', 'openapi.json'],
  ['http://a.test/openapi.json', undefined, 'http://a.test', 'openapi.json'],
  ['http://a.test/v1/openapi.json', 'openapi.json', 'http://a.test/v1', 'openapi.json'],
  ['http://a.test/tools/api.YAML/', undefined, 'http://a.test/tools', 'api.YAML'],
  // Folders of documents are no part of the server's address, at whatever depth; other folders are.
  ['http://a.test/docs/api.YAML/', undefined, 'http://a.test', 'docs/api.YAML'],
  ['http://a.test/swagger/v1/swagger.json', 'openapi.json', 'http://a.test', 'swagger/v1/swagger.json'],
  ['http://a.test:81/proxy//api-docs/openapi.json', undefined, 'http://a.test:81/proxy', 'api-docs/openapi.json'],
  ['http://a.test/docs/static/openapi.json', undefined, 'http://a.test/docs', 'static/openapi.json'],
  ['http://a.test/openapi/v1.json', undefined, 'http://a.test', 'openapi/v1.json'],
  ['http://a.test/api/v1/openapi.json', undefined, 'http://a.test/api/v1', 'openapi.json'],
  ['http://a.test/mydocs/openapi.json', undefined, 'http://a.test/mydocs', 'openapi.json'],
  ['http://docs/openapi.json', undefined, 'http://docs', 'openapi.json'],
  ['http://a.test/docs', undefined, 'http://a.test/docs', 'openapi.json'],
  ['http://a.test/docs', 'openapi.json', 'http://a.test/docs', 'openapi.json'],
  ['http://a.test', 'docs/openapi.json', 'http://a.test', 'docs/openapi.json'],
  ['http://a.test//swagger.yml', undefined, 'http://a.test', 'swagger.yml'],
  ['http://a.test/openapi.json', 'other.json', 'http://a.test/openapi.json', 'other.json'],
  ['http://a.test/openapi.json', 'http://b.test/openapi.json', 'http://a.test/openapi.json', 'http://b.test/openapi.json'],
  // Names without an ending: of springdoc, whose folder is no part of the API, and of NestJS.
  ['http://a.test/v3/api-docs', undefined, 'http://a.test', 'v3/api-docs'],
  ['http://a.test/shop/v3/api-docs/public/', 'openapi.json', 'http://a.test/shop', 'v3/api-docs/public'],
  ['http://a.test/api-json', undefined, 'http://a.test', 'api-json'],
  ['http://a.test/docs/swagger-yaml', undefined, 'http://a.test', 'docs/swagger-yaml'],
  ['http://a.test/my-json', undefined, 'http://a.test/my-json', 'openapi.json'],
  ['http://a.test/api-docs', undefined, 'http://a.test/api-docs', 'openapi.json'],
  ['http://data.json', undefined, 'http://data.json', 'openapi.json'],
  ['http://a.test/json', undefined, 'http://a.test/json', 'openapi.json'],
])('%s with the path %s is the server %s with the document %s', (url, path, server, document) => {
  expect(toDocumentUrl(url, path)).toEqual({ url: server, path: document });
});

// As a pattern that begins anew at each slash, each of these would take hours.
it.each([
  ['at the end', (slashes: string) => `http://a.test/v1${slashes}`, (slashes: string) => `http://a.test/v1${slashes}`, 'openapi.json'],
  ['before a name', (slashes: string) => `http://a.test${slashes}x`, (slashes: string) => `http://a.test${slashes}x`, 'openapi.json'],
  ['before a document', (slashes: string) => `http://a.test${slashes}docs.json`, () => 'http://a.test', 'docs.json'],
  [
    'within a folder',
    (slashes: string) => `http://a.test/a${slashes}b/docs.json`,
    (slashes: string) => `http://a.test/a${slashes}b`,
    'docs.json',
  ],
])('a million slashes %s are passed once', (_where, toUrl, toServer, document) => {
  const slashes = '/'.repeat(1_000_000);
  expect(toDocumentUrl(toUrl(slashes), undefined)).toEqual({ url: toServer(slashes), path: document });
});

it.each([
  ['http://a.test/', 'http://a.test'],
  ['http://a.test//', 'http://a.test'],
  ['a//b', 'a//b'],
  ['//', ''],
  ['', ''],
])('%j without slashes at its end is %j', (text, expected) => {
  expect(withoutSlashesAtEnd(text)).toBe(expected);
});
