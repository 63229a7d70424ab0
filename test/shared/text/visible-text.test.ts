import { expect, it } from 'vitest';
import { visibleText } from '../../../src/shared/text/visible-text.ts';

it.each([
  ['turns the text around', 'x\u202ecod.exe', String.raw`x\u202ecod.exe`],
  ['has no width', 'pay\u200bpal\ufeff', String.raw`pay\u200bpal\ufeff`],
  ['joins letters that need no joiner', 'pay\u200dpal', String.raw`pay\u200dpal`],
  ['is a tag', 'a\u{e0041}', String.raw`a\udb40\udc41`],
  ['is a hidden byte', 'a\ufe01\u{e0100}', String.raw`a\ufe01\udb40\udd00`],
  ['controls a terminal', '\u001b[2J\u009b', String.raw`\u001b[2J\u009b`],
  ['looks like a space, or a line break', '\u2800\u3164\u2028', String.raw`\u2800\u3164\u2028`],
])('shows what %s', (_, text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

it.each(['{\n\t"a": "b"\n}', 'é 你好 שלום', '👨‍👩‍👧 ❤️ 1', 'می‌خواهم', 'क्‍ष'])('leaves ordinary writing alone: %s', (text) => {
  expect(visibleText(text)).toBe(text);
});

it('shows each of many hidden characters in a row, and none of those that belong to writing', () => {
  expect(visibleText(`a${'\u200b\u202e'.repeat(3)}👨‍👩‍👧${'\u{e0041}'.repeat(2)}می‌خواهم\u200d`)).toBe(
    String.raw`a\u200b\u202e\u200b\u202e\u200b\u202e👨‍👩‍👧\udb40\udc41\udb40\udc41می‌خواهم\u200d`,
  );
});

it('keeps the value of JSON', () => {
  const value = { to: 'x\u202ecod\u{e0041}\u200b', '\u2066': ['\u007f', '👩‍💻'] };
  expect(JSON.parse(visibleText(JSON.stringify(value, null, 2)))).toEqual(value);
});
