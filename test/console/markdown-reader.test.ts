import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBlocks } from '../../src/console/parts/markdown/read-blocks.ts';
import { MarkdownReader } from '../../src/console/parts/markdown/markdown-reader.ts';
import type { MarkdownPart } from '../../src/console/parts/markdown/markdown-reader.ts';

/** A text that comes in pieces, as it is read after each of them, with the characters that were parsed for it. */
function readGrowing(text: string, pieceSize: number): { parsed: number[]; parts: readonly MarkdownPart[] } {
  let characters = 0;
  const reader = new MarkdownReader((piece, links) => {
    characters += piece.length;
    return readBlocks(piece, links);
  });
  const parsed: number[] = [];
  let parts: readonly MarkdownPart[] = [];
  for (let end = pieceSize; end < text.length + pieceSize; end += pieceSize) {
    characters = 0;
    parts = reader.read(text.slice(0, end));
    parsed.push(characters);
  }
  return { parsed, parts };
}

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n');
const typesOf = (parts: readonly MarkdownPart[]): string[] => parts.flatMap(({ blocks }) => blocks.map(({ token }) => token.type));
const codeOf = (parts: readonly MarkdownPart[]): string[] =>
  parts.flatMap(({ blocks }) =>
    blocks.flatMap(({ token, isContinued, whole }) => (token.type === 'code' && !isContinued ? [whole.finished + whole.open] : [])),
  );

const huge: Record<string, string> = {
  'a code block': `\`\`\`ts\n${lines(5_000, (index) => `const value_${index} = '<b>';`)}\n\`\`\`\n\nAfter it.`,
  'a code block of one line': `~~~\n${'y'.repeat(120_000)}\n~~~`,
  'a table': `| a | b |\n|---|--:|\n${lines(5_000, (index) => `| ${index} | **b** |`)}`,
  'a list': lines(2_000, (index) => `${index}. an item with a [link](https://l.example/${index})\n     - and one below it`),
  'a quote': lines(4_000, (index) => `> line ${index} of a quote`),
  'a word': 'x'.repeat(120_000),
  'a paragraph of links': Array.from({ length: 3_000 }, (_, index) => `[link ${index}](https://l.example/${index})`).join(' '),
  paragraphs: lines(3_000, (index) => `A sentence, number ${index}.\n`),
  'empty lines': '\n'.repeat(120_000),
  'lines that end as on Windows': lines(6_000, (index) => `A sentence, number ${index}.\r\n\r`),
  'characters in two halves': '🚢'.repeat(60_000),
  html: lines(6_000, () => '<div onclick="x">'),
  'deep quotes and lists': lines(100, () => '> - '.repeat(300)),
};

describe('a text that grows', () => {
  it.each(Object.entries(huge))('reads only its end again: %s', (_name, text) => {
    const { parsed, parts } = readGrowing(text, 8_000);
    expect(Math.max(...parsed)).toBeLessThan(80_000);
    expect(parsed.reduce((sum, one) => sum + one, 0)).toBeLessThan(text.length * 8);
    // What has been rendered once stays: a part holds no more than one frame can take.
    const sizes = parts.map(({ blocks }) => blocks.reduce((sum, { token }) => sum + token.raw.length, 0));
    expect(Math.max(...sizes)).toBeLessThan(33_000);
  });

  it('keeps its parts and blocks as they are, but the last ones', () => {
    const reader = new MarkdownReader();
    const text = lines(3_000, (index) => `A sentence, number ${index}.\n`);
    let before: readonly MarkdownPart[] = [];
    for (let end = 6_000; end <= 60_000; end += 6_000) before = reader.read(text.slice(0, end));
    const after = reader.read(text.slice(0, 60_010));
    expect(before.length).toBeGreaterThan(5);
    expect(after.slice(0, -1).map((part, index) => part === before[index])).toEqual(before.slice(0, -1).map(() => true));
    const [last, lastBefore] = [after.at(-1)?.blocks ?? [], before.at(-1)?.blocks ?? []];
    expect(lastBefore.filter((block) => !last.includes(block)).length).toBeLessThanOrEqual(2);
  });

  it('is copied as a whole, however often its code was cut', () => {
    const code = lines(5_000, (index) => `const value_${index} = '<b>';`);
    for (const size of [700, 8_000, 1_000_000]) {
      const { parts } = readGrowing(`Before.\n\n\`\`\`ts\n${code}\n\`\`\`\n\nAfter it.`, size);
      expect(codeOf(parts)).toEqual([code]);
      expect(typesOf(parts).at(-1)).toBe('paragraph');
    }
    const line = 'y'.repeat(120_000);
    expect(codeOf(readGrowing(`~~~\n${line}\n~~~\nAfter it.`, 8_000).parts)).toEqual([line]);
  });

  it('has all rows of a table that was cut, each part with the head', () => {
    const { parts } = readGrowing(huge['a table'] ?? '', 8_000);
    const tables = parts.flatMap(({ blocks }) =>
      blocks.map(({ token }) => token as { type: string; header: { text: string }[]; rows: unknown[] }),
    );
    expect(new Set(tables.map(({ type }) => type))).toEqual(new Set(['table']));
    expect(tables.reduce((sum, { rows }) => sum + rows.length, 0)).toBe(5_000);
    expect(new Set(tables.map(({ header }) => header.map(({ text }) => text).join()))).toEqual(new Set(['a,b']));
  });

  it('goes on counting the items of a list that was cut, and cuts no link', () => {
    const lists = readGrowing(huge['a list'] ?? '', 8_000).parts.flatMap(({ blocks }) =>
      blocks.map(({ token }) => token as { items?: unknown[]; start: number }),
    );
    let next = 0;
    for (const { items = [], start } of lists) {
      expect(start).toBe(next);
      next += items.length;
    }
    expect(next).toBe(2_000);
    const { parts } = readGrowing(huge['a paragraph of links'] ?? '', 8_000);
    const links = parts.flatMap(({ blocks }) =>
      blocks.flatMap(({ token }) => ((token as { tokens?: { type: string }[] }).tokens ?? []).filter(({ type }) => type === 'link')),
    );
    expect(links).toHaveLength(3_000);
  });

  it('is read anew when it became another', () => {
    const reader = new MarkdownReader();
    reader.read('One.\n\nTwo.\n\nThree.');
    const [part] = reader.read('Four.');
    expect(part?.blocks.map(({ token }) => token.raw)).toEqual(['Four.']);
  });

  it('loses nothing, whatever it is and however it comes', () => {
    const fragments = fc.constantFrom(
      '\n',
      '\n\n',
      'word ',
      '# head\n',
      '- item\n',
      '1. one\n',
      '> quote\n',
      '```\n',
      '~~~js\n',
      '|a|b|\n',
      '|-|-|\n',
      '    code\n',
      '<b>',
      '**b**',
      '[a](b)',
      '\t',
      'x'.repeat(5_000),
      '\r\n',
    );
    fc.assert(
      fc.property(fc.array(fragments, { maxLength: 60 }), fc.integer({ min: 100, max: 9_000 }), (pieces, size) => {
        const text = pieces.join('');
        const words = (given: string): string => given.replaceAll(/[^a-z]/g, '');
        const { parts } = readGrowing(text, size);
        const read = parts.flatMap(({ blocks }) =>
          blocks.map(({ token, isContinued }) => (isContinued ? token.raw.replace(/^ {0,3}(?:```|~~~).*\n|^.*\n.*\n/, '') : token.raw)),
        );
        expect(words(read.join(''))).toBe(words(text));
      }),
      { numRuns: 60 },
    );
  });
});

describe('what would take long to read', () => {
  const typesIn = (text: string): string[] =>
    readBlocks(text, Object.create(null)).flatMap((token) =>
      ((token as { tokens?: { type: string }[] }).tokens ?? []).map(({ type }) => type),
    );

  it.each(['_a*', '**a ', '__a', '~~a ~b '])('is given up: the ends of %j again and again, each searched in the whole text', (begun) => {
    expect(typesIn('**strong** ~~gone~~')).toEqual(['strong', 'text', 'del']);
    const types = typesIn(`${begun.repeat(4_000)} **strong** ~~gone~~`);
    expect(types.filter((type) => type === 'strong' || type === 'del').length).toBeLessThan(20);
    expect(typesIn('**strong** ~~gone~~ '.repeat(200)).filter((type) => type !== 'text')).toHaveLength(400);
  });

  it('is not given up: addresses of any length, and words beyond a long one', () => {
    const address = `https://l.example/${'a'.repeat(3_000)}`;
    expect(typesIn(`${'x'.repeat(3_000)} ${address} ${'word '.repeat(400)}a@b.example *b*`)).toEqual([
      'text',
      'link',
      'text',
      'link',
      'text',
      'em',
    ]);
  });

  it('is nested a few times only, and none of it is lost', () => {
    const depthOf = (token: { tokens?: unknown[]; items?: unknown[] }): number =>
      1 + Math.max(0, ...[...(token.tokens ?? []), ...(token.items ?? [])].map((inner) => depthOf(inner as typeof token)));
    for (const text of [
      `${'> '.repeat(3_000)}deep`,
      `${'- '.repeat(3_000)}deep`,
      `${'> 1. '.repeat(2_000)}deep`,
      `${'**a _b '.repeat(500)}deep${'_ **'.repeat(500)}`,
    ]) {
      const tokens = readBlocks(text, Object.create(null));
      expect(Math.max(...tokens.map((token) => depthOf(token as { tokens?: unknown[] })))).toBeLessThan(40);
      expect(tokens.map(({ raw }) => raw).join('')).toContain('deep');
    }
  });
});
