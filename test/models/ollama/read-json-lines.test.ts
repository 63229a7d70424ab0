import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../../src/shared/json/json.ts';
import { BackendClient } from '../../../src/models/transport/backend-client.ts';
import { JsonLines } from '../../../src/models/ollama/read-json-lines.ts';

const connection = { baseUrl: 'http://127.0.0.1', firstByteTimeoutMs: 1, idleTimeoutMs: 1 };
const client = new BackendClient('ollama', connection, () => Promise.reject(new Error('Nothing is sent')));

/** The lines that come out, and the code of the fault that ends them. */
function read(text: string, size = Infinity): { lines: unknown[]; code: string | undefined } {
  const bytes = new TextEncoder().encode(text);
  const lines: JsonObject[] = [];
  const stream = new JsonLines(client, (line) => {
    lines.push(line);
    return [];
  });
  for (let start = 0; start < bytes.length && !stream.isDone && stream.fault === undefined; start += size)
    stream.read(bytes.subarray(start, start + size));
  if (!stream.isDone && stream.fault === undefined) stream.end(undefined);
  return { lines, code: (stream.fault as { code?: string } | undefined)?.code };
}

describe('lines of JSON', () => {
  const text = '{"message":{"content":"東京 🕐 é"},"done":false}\r\n\n  \n{"message":{"content":"x"},"done":true}';
  const lines = [
    { message: { content: '東京 🕐 é' }, done: false },
    { message: { content: 'x' }, done: true },
  ];

  it.each([1, 2, 3, 5, 7, 16, Infinity])('come out whole, in pieces of %d bytes', (size) => {
    expect(read(text, size)).toEqual({ lines, code: undefined });
  });

  it('end with the one that says so; what follows is dropped', () => {
    expect(read(`${text}\n{"error":"late"}\nnonsense`, 9)).toEqual({ lines, code: undefined });
  });

  it.each([
    ['nothing', '', 'upstream_incomplete'],
    ['no end', '{"done":false}\n', 'upstream_incomplete'],
    ['half a line', '{"done":tr', 'upstream_invalid_response'],
    ['a list', '[]\n', 'upstream_invalid_response'],
    ['a hole without ground', `{"a":${'['.repeat(100)}${']'.repeat(100)}}\n`, 'upstream_invalid_response'],
    ['an error', '{"error":"out of memory"}\n', 'upstream_error'],
    ['an error in another shape', '{"error":{"message":"out of memory"}}\n', 'upstream_error'],
    ['a refusal of tools', '{"error":"gemma does not support tools"}\n', 'tools_unsupported'],
  ])('are refused where there is %s', (_name, wrong, code) => {
    expect(read(wrong, 3)).toEqual({ lines: wrong === '{"done":false}\n' ? [{ done: false }] : [], code });
  });
});
