import { expect, it } from 'vitest';
import { toCsv } from '../../src/console/parts/text/csv.ts';

it.each([
  ['plain', 'plain'],
  ['with, comma', '"with, comma"'],
  ['a "quoted" one', '"a ""quoted"" one"'],
  ['two\nlines', '"two\nlines"'],
  ['=HYPERLINK("http://a.test")', `"'=HYPERLINK(""http://a.test"")"`],
  ['@x', `'@x`],
  [-5, '-5'],
])('writes %j as one cell that no spreadsheet runs', (value, cell) => {
  expect(toCsv(['Name', 'Count'], [[value, 1]])).toBe(`Name,Count\r\n${cell},1\r\n`);
});
