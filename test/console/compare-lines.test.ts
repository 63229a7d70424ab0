import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareLines } from '../../src/console/parts/text/compare-lines.ts';
import type { Piece, ComparedLine } from '../../src/console/parts/text/compare-lines.ts';

const joined = (pieces: Piece[] | undefined): string | undefined => pieces?.map(({ text }) => text).join('');
const before = (rows: ComparedLine[]): string[] => rows.flatMap((row) => (row.kind === 'same' ? row.text : (joined(row.before) ?? [])));
const after = (rows: ComparedLine[]): string[] => rows.flatMap((row) => (row.kind === 'same' ? row.text : (joined(row.after) ?? [])));
const marked = (pieces: Piece[] | undefined): string =>
  (pieces ?? []).map(({ text, isChanged }) => (isChanged ? `<${text}>` : text)).join('');
const shown = (rows: ComparedLine[]): string[] =>
  rows.map((row) => (row.kind === 'same' ? `  ${row.text}` : `${marked(row.before)} | ${marked(row.after)}`));

describe('two texts side by side', () => {
  it('have the words marked that differ', () => {
    expect(shown(compareLines('Reads a file.\nThat is all.', 'Reads any file.\nThat is all.'))).toEqual([
      'Reads <a> file. | Reads <any> file.',
      '  That is all.',
    ]);
  });

  it('have lines of one side alone', () => {
    expect(shown(compareLines('a\nb\nc', 'a\nc\nd'))).toEqual(['  a', '<b> | ', '  c', ' | <d>']);
    expect(shown(compareLines('', ''))).toEqual(['  ']);
  });

  it('differ in a character that cannot be seen', () => {
    expect(shown(compareLines('pay now', 'pay\u200b now'))).toEqual(['pay now | pay<\u200b> now']);
  });

  it('keep every line of both, in order', () => {
    const lines = array(constantFrom('a', 'b', 'c d', 'c e', '')).map((all) => all.join('\n'));
    assert(
      property(lines, lines, (one, other) => {
        const rows = compareLines(one, other);
        expect(before(rows).join('\n')).toBe(one);
        expect(after(rows).join('\n')).toBe(other);
        expect(rows.every(({ kind }) => kind === 'same')).toBe(one === other);
      }),
    );
  });

  it('may be long: then what lies between their ends counts as changed', () => {
    const long = (word: string): string => `first\n${Array.from({ length: 1_500 }, (_, index) => `${word} ${index}`).join('\n')}\nlast`;
    const rows = compareLines(long('one'), long('two'));
    expect(rows).toHaveLength(1_502);
    expect([rows[0], rows.at(-1)]).toEqual([
      { kind: 'same', text: 'first' },
      { kind: 'same', text: 'last' },
    ]);
  });
});
