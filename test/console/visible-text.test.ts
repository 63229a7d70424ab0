import { describe, expect, test } from 'vitest';
import { splitUnseen } from '../../src/console/parts/unseen-characters.ts';

const shown = (text: string): string =>
  splitUnseen(text)
    .map((part) => (typeof part === 'string' ? part : `<${part.code}>`))
    .join('');

describe('characters that cannot be seen', () => {
  test.each([
    ['a colour of the terminal', '\u001B[31mred', '<U+001B>[31mred'],
    ['a change of direction', 'pay \u202Emoc.live', 'pay <U+202E>moc.live'],
    ['an isolate', '\u2066a\u2069', '<U+2066>a<U+2069>'],
    ['spaces without width', 'ig\u200Bnore\uFEFF', 'ig<U+200B>nore<U+FEFF>'],
    ['letters as tags', 'x\u{E0041}\u{E0042}', 'x<U+E0041><U+E0042>'],
    ['bytes as variation selectors', 'x\uFE00\u{E0101}', 'x<U+FE00><U+E0101>'],
    ['fillers', '\u3164\u115F\u2800', '<U+3164><U+115F><U+2800>'],
    ['line separators', 'a\u2028b\rc\0', 'a<U+2028>b<U+000D>c<U+0000>'],
    ['private characters', '\uE000', '<U+E000>'],
  ])('have a mark: %s', (_what, text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  test.each(['', 'two\nlines\tand a tab', 'Gr\u00FC\u00DFe, \u4F60\u597D, \u05E9\u05DC\u05D5\u05DD', '\u26A0\uFE0F and \u{1F600}'])(
    'are not found in %j',
    (text) => {
      expect(splitUnseen(text)).toEqual(text === '' ? [] : [text]);
    },
  );

  test('have names where those tell more than a number', () => {
    expect(splitUnseen('\u202E')).toEqual([{ code: 'U+202E', name: 'right-to-left override' }]);
  });
});
