import { expect, test } from 'vitest';
import { toDocumentPlace } from '../../src/core/document-place.ts';

test.each<[string, string | undefined, string, string]>([
  ['http://a.test', undefined, 'http://a.test', 'openapi.json'],
  ['http://a.test/', '', 'http://a.test/', 'openapi.json'],
  ['http://a.test/openapi.json', undefined, 'http://a.test', 'openapi.json'],
  ['http://a.test/v1/openapi.json', 'openapi.json', 'http://a.test/v1', 'openapi.json'],
  ['http://a.test/docs/api.YAML/', undefined, 'http://a.test/docs', 'api.YAML'],
  ['http://a.test//swagger.yml', undefined, 'http://a.test', 'swagger.yml'],
  ['http://a.test/openapi.json', 'other.json', 'http://a.test/openapi.json', 'other.json'],
  ['http://a.test/openapi.json', 'http://b.test/openapi.json', 'http://a.test/openapi.json', 'http://b.test/openapi.json'],
  ['http://data.json', undefined, 'http://data.json', 'openapi.json'],
  ['http://a.test/json', undefined, 'http://a.test/json', 'openapi.json'],
])('%s with the path %s is the server %s with the document %s', (url, path, server, document) => {
  expect(toDocumentPlace(url, path)).toEqual({ url: server, path: document });
});
