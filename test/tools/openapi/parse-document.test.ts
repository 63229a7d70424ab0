import type { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { parseDocumentAside } from '../../../src/tools/openapi/parse-document-aside.ts';
import { checkDocumentShape, parseDocument } from '../../../src/tools/openapi/parse-document.ts';

const bigYaml = `openapi: 3.1.0\npaths:\n${Array.from({ length: 4_000 }, (_, index) => `  /path${index}: { get: { summary: s } }`).join('\n')}\n`;

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
    expect(checkDocumentShape({ swagger: '2.0' })).toEqual({ swagger: '2.0' });
    expect(() => checkDocumentShape(null)).toThrow('is an object');
  });
});

describe('parseDocumentAside', () => {
  it('parses large YAML in a thread, with the same result', async () => {
    expect(bigYaml.length).toBeGreaterThan(128 * 1024);
    expect(await parseDocumentAside(bigYaml, new AbortController().signal)).toEqual(parseDocument(bigYaml));
  });

  it('reports what is wrong with large YAML in the same words', async () => {
    await expect(parseDocumentAside(`${bigYaml}\nx: [`, new AbortController().signal)).rejects.toThrow('neither JSON nor valid YAML');
  });

  it('ends the thread with the signal and rejects with its reason', async () => {
    const controller = new AbortController();
    const parsing = parseDocumentAside(bigYaml, controller.signal);
    controller.abort(new Error('left'));
    await expect(parsing).rejects.toThrow('left');
  });

  it('runs two threads at a time, and whoever leaves does not wait for a turn', async () => {
    let running = 0;
    let most = 0;
    const onWorker = (worker: Worker): void => {
      running += 1;
      most = Math.max(most, running);
      worker.once('exit', () => (running -= 1));
    };
    process.on('worker', onWorker);
    const leaver = new AbortController();
    const staying = [0, 1, 2, 3].map(() => parseDocumentAside(bigYaml, new AbortController().signal));
    const leaving = parseDocumentAside(bigYaml, leaver.signal);
    leaver.abort(new Error('left'));
    const first = await Promise.race([leaving.catch((error: unknown) => error), ...staying]);
    expect(first).toEqual(new Error('left'));
    expect(await Promise.all(staying)).toHaveLength(4);
    process.off('worker', onWorker);
    expect(most).toBe(2);
  });
});
