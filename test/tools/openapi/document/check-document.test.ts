import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { checkDocument } from '../../../../src/tools/openapi/document/check-document.ts';

const document = JSON.parse(
  readFileSync(new URL('../../../../openapi-fixtures/secure-time-utilities.json', import.meta.url), 'utf8'),
) as JsonObject;

const check = (checked: JsonObject): Promise<string[]> => checkDocument(checked, JSON.stringify(checked).length);

describe('checkDocument', () => {
  it('has nothing to say about a valid document, and leaves it as it was', async () => {
    const before = JSON.stringify(document);
    expect(await check(document)).toEqual([]);
    expect(JSON.stringify(document)).toBe(before);
  });

  it('says in short lines what is invalid', async () => {
    const notes = await check({ openapi: '3.1.0', info: { title: 'x' }, paths: { '/a': { get: { responses: 5 } } } });
    expect(notes.length).toBeGreaterThan(0);
    expect(notes.length).toBeLessThanOrEqual(20);
    for (const note of notes) expect(note).toMatch(/^[^\n]{1,300}$/);
    expect(notes.join('\n')).toContain('version');
  });

  it.each(['3.0.3', '3.1.0'])('says of a document of OpenAPI %s without paths what it lacks', async (openapi) => {
    expect(await check({ openapi, info: { title: 'x', version: '1' } })).toEqual(['The document has no "paths".']);
  });

  it('never rejects and never opens another file or address', async () => {
    const foreign = {
      openapi: '3.0.0',
      info: { title: 'x', version: '1' },
      paths: { '/a': { $ref: 'file:///etc/hostname' }, '/b': { $ref: 'http://127.0.0.1:1/x' } },
    };
    const notes = await check(foreign);
    expect(notes.join('\n')).not.toMatch(/ECONNREFUSED|ENOENT|hostname/);
    expect(await check({ hello: 1 })).toHaveLength(1);
  });
});
