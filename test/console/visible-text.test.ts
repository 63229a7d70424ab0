import { describe, expect, it } from 'vitest';
import { splitUnseen } from '../../src/console/parts/text/unseen-characters.ts';

const shown = (text: string, isName = false): string =>
  splitUnseen(text, { isName })
    .map((part) => (typeof part === 'string' ? part : `<${part.code}>`))
    .join('');

describe('characters that cannot be seen', () => {
  it.each([
    ['a colour of the terminal', '\u001B[31mred', '<U+001B>[31mred'],
    ['a change of direction', 'pay \u202Emoc.live', 'pay <U+202E>moc.live'],
    ['an isolate', '\u2066a\u2069', '<U+2066>a<U+2069>'],
    ['spaces without width', 'ig\u200Bnore\uFEFF', 'ig<U+200B>nore<U+FEFF>'],
    ['letters as tags', 'x\u{E0041}\u{E0042}', 'x<U+E0041><U+E0042>'],
    ['bytes as variation selectors', 'x\uFE00\u{E0101}', 'x<U+FE00><U+E0101>'],
    ['fillers', '\u3164\u115F\u2800', '<U+3164><U+115F><U+2800>'],
    ['line separators', 'a\u2028b\rc\0', 'a<U+2028>b<U+000D>c<U+0000>'],
    ['private characters', '\uE000', '<U+E000>'],
    ['joiners between Latin letters', 'p\u200Da\u200Cy', 'p<U+200D>a<U+200C>y'],
    ['joiners at the edges of words', '\u200D\u0645\u0627\u200C \u200C\u0645', '<U+200D>\u0645\u0627<U+200C> <U+200C>\u0645'],
    ['joiners in a row, which could hide a message', '\u0645\u06CC\u200C\u200D\u0631', '\u0645\u06CC<U+200C><U+200D>\u0631'],
    ['joiners between a Persian and a Latin letter', '\u0645\u200Cp', '\u0645<U+200C>p'],
    ['joiners between Chinese characters', '\u4F60\u200D\u597D', '\u4F60<U+200D>\u597D'],
    ['joiners behind an emoji', '\u{1F600}\u200D and \u{1F469}\u200D', '\u{1F600}<U+200D> and \u{1F469}<U+200D>'],
    ['joiners between emoji that make no other one', '\u{1F600}\u200D\u{1F600}', '\u{1F600}<U+200D>\u{1F600}'],
    ['selectors in a row', '\u26A0\uFE0F\uFE0F', '\u26A0\uFE0F<U+FE0F>'],
    ['tags behind a flag that make no other one', '\u{1F3F4}\u{E0078}\u{E007F}', '\u{1F3F4}<U+E0078><U+E007F>'],
  ])('have a mark: %s', (_what, text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  it.each([
    '',
    'two\nlines\tand a tab',
    'Gr\u00FC\u00DFe, \u4F60\u597D, \u05E9\u05DC\u05D5\u05DD',
    '\u26A0\uFE0F and \u{1F600}, \u2714\uFE0E',
    // A family, a woman who is a health worker with dark skin, a rainbow flag, a key, and the flag of Scotland.
    '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}\u200D\u{1F466}',
    '\u{1F469}\u{1F3FF}\u200D\u2695\uFE0F!',
    '\u{1F3F3}\uFE0F\u200D\u{1F308} 1\uFE0F\u20E3',
    '\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}',
    // Persian (I want), Hindi with a half letter, Sinhala, and Malayalam.
    '\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645',
    '\u0915\u094D\u200D\u0937, \u0930\u094D\u200D\u092F',
    '\u0DC1\u0DCA\u200D\u0DBB\u0DD3',
    '\u0D28\u0D4D\u200C\u0D28',
  ])('are not found in %j', (text) => {
    expect(splitUnseen(text)).toEqual(text === '' ? [] : [text]);
  });

  it('are found in names wherever they stand, as two names must not look the same', () => {
    expect(shown('\u0645\u06CC\u200C\u062E', true)).toBe('\u0645\u06CC<U+200C>\u062E');
    expect(shown('\u{1F468}\u200D\u{1F469}', true)).toBe('\u{1F468}<U+200D>\u{1F469}');
    expect(shown('\u26A0\uFE0F', true)).toBe('\u26A0\uFE0F');
  });

  it('have names where those tell more than a number', () => {
    expect(splitUnseen('\u202E')).toEqual([{ code: 'U+202E', name: 'right-to-left override' }]);
  });
});
