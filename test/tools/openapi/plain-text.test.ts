import { describe, expect, it } from 'vitest';
import { plainText } from '../../../src/tools/openapi/plain-text.ts';

describe('plainText', () => {
  it.each([
    ['control characters', 'a\u0000b\u001b[31m\u009b', 'ab[31m'],
    ['marks that turn the order of letters', 'safe\u202edelete\u2066\u2069', 'safedelete'],
    ['spaces without width', 'ig\u200bnore\u2060\ufeff', 'ignore'],
    ['letters of Unicode’s tags', `read${String.fromCodePoint(0xe0041, 0xe0042)}`, 'read'],
  ])('leaves out %s, which nobody sees', (_, text, expected) => {
    expect(plainText(text)).toBe(expected);
  });

  it('keeps lines, and what joins letters and pictures', () => {
    const text = '- می\u200cخواهم\n- 👩\u200d🔬\tx';
    expect(plainText(text)).toBe('- می\u200cخواهم\n- 👩\u200d🔬 x');
  });
});
