import { expect, it } from 'vitest';
import {
  createErrorOutput,
  mcpErrorOutputBytes,
  mcpErrorOutputLines,
  mcpErrorOutputLineCharacters,
} from '../../../src/tools/mcp/transports/bounded-stdio-transport.ts';
import { maskOfEverythingSent } from '../../../src/tools/outgoing/secrets-to-mask.ts';
import { mcpRecord } from './mcp-fixture.ts';

const asItIs = (line: string): string => line;

function linesOf(chunks: readonly string[], hide = asItIs): string[] {
  const output = createErrorOutput();
  for (const chunk of chunks) output.add(Buffer.from(chunk));
  return output.lines(hide);
}

it('lines come as they were written, whatever pieces they came in', () => {
  expect(linesOf(['first\nsec', 'ond\r\n\n  third  '])).toEqual(['first', 'second', 'third']);
});

it('nothing that a terminal obeys is left', () => {
  expect(linesOf(['\u001B[31mred\u001B[0m \u0007bell\u0000 \u202Ereversed\rnext\tcolumn'])).toEqual(['red bell reversed', 'nextcolumn']);
});

it('the end is kept, of lines and of each line', () => {
  const lines = linesOf(Array.from({ length: 2_000 }, (_, index) => `line ${index}\n`));
  expect(lines).toHaveLength(mcpErrorOutputLines);
  expect(lines.at(-1)).toBe('line 1999');
  expect(linesOf(['x'.repeat(5_000)])).toEqual(['x'.repeat(mcpErrorOutputLineCharacters)]);
});

it('a line without end is not shown, because its beginning is gone', () => {
  expect(linesOf(['x'.repeat(mcpErrorOutputBytes + 1)])).toEqual([]);
});

it.each([
  ['of its environment', { environment: { API_KEY: 'correct-horse-battery' } }, 'the key correct-horse-battery is refused'],
  ['of its environment, in colours', { environment: { API_KEY: 'correct-horse-battery' } }, 'correct-\u001B[1mhorse-battery'],
  ['of its arguments', { args: ['--token', 'correct-horse-battery'] }, 'started with --token correct-horse-battery'],
  ['of an argument', { args: ['--api-key=correct-horse-battery'] }, 'bad key: correct-horse-battery'],
  ['within an address', { environment: { DB: 'postgres://me:correct-horse-battery@db.test/x' } }, 'password correct-horse-battery'],
  ['within an address of its own', {}, 'GET https://api.test/?api_key=correct-horse-battery'],
])('credentials %s are taken out', (_name, parts, text) => {
  const record = mcpRecord({ process: { command: 'node', args: [], environment: {}, ...parts } });
  const lines = linesOf([text], maskOfEverythingSent(record).text);
  expect(lines).toEqual([expect.stringContaining('[secret]')]);
  expect(lines.join('')).not.toContain('horse');
});
