import { describe, expect, test } from 'vitest';

import { NdjsonReader } from '../../../src/models/ollama/ollama-lines.ts';
import { createSecretMask } from '../../../src/shared/secrets/secret-mask.ts';

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** The lines that come out, and the code of the fault that ends them. */
async function read(text: string, size = Infinity): Promise<{ lines: unknown[]; code: string | undefined }> {
  const bytes = new TextEncoder().encode(text);
  let out = '';
  let code: string | undefined;
  try {
    for await (const chunk of new NdjsonReader('ollama', createSecretMask([])).read(pieces(bytes, Math.min(size, bytes.length))))
      out += new TextDecoder().decode(chunk);
  } catch (error) {
    code = (error as { code?: string }).code;
  }
  return { lines: out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown])), code };
}

describe('lines of JSON', () => {
  const text = '{"message":{"content":"東京 🕐 é"},"done":false}\r\n\n  \n{"message":{"content":"x"},"done":true}';
  const lines = [
    { message: { content: '東京 🕐 é' }, done: false },
    { message: { content: 'x' }, done: true },
  ];

  test.each([1, 2, 3, 5, 7, 16, Infinity])('come out whole, in pieces of %d bytes', async (size) => {
    expect(await read(text, size)).toEqual({ lines, code: undefined });
  });

  test('of a large piece are handed on in several turns of the event loop', async () => {
    const many = Array.from({ length: 2_000 }, (_, index) => ({ message: { content: `東京 ${index}` }, done: index === 1_999 }));
    let turns = 0;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    expect(await read(many.map((line) => `${JSON.stringify(line)}\n`).join(''))).toEqual({ lines: many, code: undefined });
    clearImmediate(next);
    expect(turns).toBeGreaterThan(3);
  });

  test('end with the one that says so; what follows is read and dropped', async () => {
    expect(await read(`${text}\n{"error":"late"}\nnonsense`, 9)).toEqual({ lines, code: undefined });
  });

  test.each([
    ['nothing', '', 'upstream_incomplete'],
    ['no end', '{"done":false}\n', 'upstream_incomplete'],
    ['half a line', '{"done":tr', 'upstream_invalid_response'],
    ['a list', '[]\n', 'upstream_invalid_response'],
    ['a hole without ground', `{"a":${'['.repeat(100)}${']'.repeat(100)}}\n`, 'upstream_invalid_response'],
    ['an error', '{"error":"out of memory"}\n', 'upstream_error'],
    ['an error in another shape', '{"error":{"message":"out of memory"}}\n', 'upstream_error'],
    ['a refusal of tools', '{"error":"gemma does not support tools"}\n', 'tools_unsupported'],
  ])('are refused where there is %s', async (_name, wrong, code) => {
    expect(await read(wrong, 3)).toEqual({ lines: wrong === '{"done":false}\n' ? [{ done: false }] : [], code });
  });
});
