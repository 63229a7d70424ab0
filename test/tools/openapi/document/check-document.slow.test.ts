import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { unfoldedValues } from '../../../../src/tools/openapi/document/check-document.ts';

const refer = (name: string): JsonObject => ({ $ref: `#/s/${name}` });

describe('unfoldedValues', () => {
  it.each<[string, JsonObject, number]>([
    ['a document without references', { a: [1, null, {}], b: 'x' }, 6],
    ['a reference, its text and what it leads to', { s: { A: [1, 2] }, a: refer('A') }, 1 + 1 + 3 + (1 + 1 + 3)],
    ['a reference to nothing, and one that leaves the document', { a: refer('None'), b: { $ref: 'http://h/x' } }, 1 + 3 + 3],
    ['a circle, which is written once', { s: { A: { a: refer('A') } } }, 1 + 1 + 1 + (1 + 1 + (1 + (1 + 1 + 1)))],
  ])('%s', (_, document, expected) => {
    expect(unfoldedValues(document)).toBe(expected);
  });

  it('what doubles at each step is counted in as many steps', () => {
    const s = Object.fromEntries(
      Array.from({ length: 61 }, (_, step) => [`S${step}`, step === 0 ? 1 : [refer(`S${step - 1}`), refer(`S${step - 1}`)]]),
    );
    expect(unfoldedValues({ s })).toBeGreaterThan(2 ** 60);
  });

  it('a chain that no stack could follow is endless', () => {
    const s = Object.fromEntries(Array.from({ length: 100_000 }, (_, step) => [`S${step}`, step === 0 ? 1 : refer(`S${step - 1}`)]));
    expect(unfoldedValues({ a: refer('S99999'), s })).toBe(Number.POSITIVE_INFINITY);
  });
});
