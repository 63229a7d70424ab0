import { afterEach, describe, expect, it, vi } from 'vitest';
import { convert, toText } from '../../src/cli/convert.ts';
import type { ToolServerReport } from '../../src/core/tools/tool-server-report.ts';

const empty: ToolServerReport = { ok: true, functions: [], renamed: [], omitted: [], warnings: [], tokens: 0 };

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

async function printed(...args: string[]): Promise<string> {
  const lines: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  await convert(args);
  return lines.join('');
}

describe('toolwharf convert', () => {
  it('shows the functions of a file, their tokens, and what was renamed or left out and why', async () => {
    const text = await printed('openapi-fixtures/library.json');
    expect(text).toMatch(/^Library \(OpenAPI 3\.0\.3\)\n/);
    expect(text).toMatch(/^ {2}books_replace +\d+ {2}PUT \/shelves\/\{shelfId\}\/books\/\{id\}$/m);
    expect(text).toMatch(/^renamed \(1\):\n {2}books\/replace -> books_replace: /m);
    expect(text).toMatch(/^left out \(2\):$/m);
    expect(text).toMatch(/^ {2}DELETE \/books: the reference "#\/components\/parameters\/Nowhere" points at nothing$/m);
    expect(process.exitCode).toBeUndefined();
  });

  it('gives the whole report as JSON', async () => {
    const report = JSON.parse(await printed('openapi-fixtures/library.json', '--json')) as ToolServerReport;
    expect(report.functions.map(({ name }) => name)).toContain('searchBooks');
  });

  it('says why a document gives nothing, with exit code 1', async () => {
    expect(await printed('package.json')).toMatch(/^Nothing could be converted: /);
    expect(process.exitCode).toBe(1);
  });

  it.each([[[]], [['a', 'b']], [['--what', 'a']], [['no/such/file.json']]])('refuses %j with a word', async (args) => {
    await expect(convert(args)).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(/usage|takes one|cannot be read|unknown/i),
    });
  });

  it('leaves out what there is nothing to say of', () => {
    expect(toText({ ...empty, warnings: ['slow'] })).toBe(
      'a document without a title (OpenAPI of an unknown version)\n\n0 functions, 0 tokens together:\n\nto know (1):\n  slow\n',
    );
  });
});
