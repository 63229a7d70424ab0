import { describe, expect, it } from 'vitest';
import { checkDocumentKind, parseDocument } from '../../../../src/tools/openapi/document/parse-document.ts';

describe('parseDocument', () => {
  it('reads JSON and YAML to the same object', () => {
    const document = { openapi: '3.1.0', paths: { '/a': { get: { responses: { 200: { description: 'ok' } } } } } };
    expect(parseDocument(`\uFEFF\n${JSON.stringify(document)}`)).toEqual(document);
    expect(parseDocument('openapi: 3.1.0\npaths: { /a: { get: { responses: { 200: { description: ok } } } } }\n')).toEqual(document);
    expect(parseDocument('{ openapi: 3.1.0, paths: {} }')).toEqual({ openapi: '3.1.0', paths: {} });
  });

  it('leaves values of YAML as JSON knows them: dates, yes and binaries stay text', () => {
    const document = parseDocument('paths: {}\na: 2020-01-01\nb: yes\nc: !!binary aGk=\nd: <<\nbase: &base { x: 1 }\ne: { <<: *base }');
    expect(document).toMatchObject({ a: '2020-01-01', b: 'yes', c: 'aGk=', e: { x: 1 } });
  });

  it.each([
    ['', 'empty'],
    ['<!DOCTYPE html><title>Docs</title>', 'HTML'],
    ['{"openapi": "3.0.0",}', 'not valid JSON'],
    ['a: b: c', 'neither JSON nor valid YAML'],
    ['"openapi"', 'is an object'],
    ['[{"openapi": "3.0.0"}]', 'is an object'],
    ['{"name": "x"}', 'neither "openapi" nor "swagger" nor "paths"'],
    [`{"openapi":"3.0.0","x":${'['.repeat(300)}${']'.repeat(300)}}`, 'nested deeper than 200'],
    ['openapi: 3.0.0\nx: &a { b: *a }', 'nested deeper than 200'],
    ['paths: {}\n---\npaths: {}', 'multiple documents'],
  ])('refuses %j and says why', (text, message) => {
    expect(() => parseDocument(text)).toThrow(message);
  });

  it('refuses aliases that multiply a small text', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 9; level += 1)
      lines.push(`a${level}: &a${level} [${Array.from({ length: 9 }, () => `*a${level - 1}`).join(', ')}]`);
    expect(() => parseDocument(`openapi: 3.0.0\n${lines.join('\n')}`)).toThrow('alias');
  });

  it.each([
    '{"paths":{},"__proto__":{"polluted":true},"a":{"constructor":{"prototype":{"x":1}}}}',
    'paths: {}\n__proto__: { polluted: true }',
  ])('drops keys that reach a prototype: %s', (text) => {
    const document = parseDocument(text);
    expect(Object.keys(document)).not.toContain('__proto__');
    expect({ ...document }).not.toHaveProperty('polluted');
    expect(JSON.stringify(document)).not.toContain('prototype');
  });

  it('checks documents that arrive as objects in the same way', () => {
    expect(checkDocumentKind({ swagger: '2.0' })).toEqual({ swagger: '2.0' });
    expect(() => checkDocumentKind(null)).toThrow('is an object');
  });
});
