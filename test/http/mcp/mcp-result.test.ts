import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/shared/json/json.ts';
import type { ToolFile, ToolOutcome } from '../../../src/core/tools/tool.ts';
import { toMcpResult } from '../../../src/http/mcp/mcp-result.ts';

type Result = Extract<ToolOutcome, { type: 'result' }>;

function contentOf(value: JsonValue, rest: Partial<Result> = {}): unknown[] {
  return toMcpResult({ type: 'result', value, ...rest }).content;
}

const text = (words: string): object => ({ type: 'text', text: words });
const png: ToolFile = { type: 'image/png', url: 'data:image/png;base64,AAAA', sizeBytes: 3 };
const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
const note = { uri: 'file:///a.md', type: 'text/markdown', text: 'inside' };
const resource = { type: 'resource', resource: { uri: 'file:///a.md', mimeType: 'text/markdown', text: 'inside' } };

describe('a result for MCP clients', () => {
  it.each<[name: string, value: JsonValue, rest: Partial<Result>, content: unknown[]]>([
    ['text', 'hello\n', {}, [text('hello\n')]],
    ['nothing', '', {}, [text('')]],
    ['a file after its text', 'a chart', { files: [png] }, [text('a chart'), image]],
    ['a file alone', '', { files: [png] }, [image]],
    ['a file where it is mentioned', 'one\n[png]\ntwo', { files: [{ ...png, mention: '[png]' }] }, [text('one'), image, text('two')]],
    ['a file whose mention is gone', 'cut', { files: [{ ...png, mention: '[png]' }] }, [text('cut'), image]],
    [
      'two files that are mentioned alike',
      '[png]\n[png]',
      {
        files: [
          { ...png, mention: '[png]' },
          { ...png, mention: '[png]' },
        ],
      },
      [image, image],
    ],
    ['a document', 'inside', { documents: [note] }, [resource]],
    ['a document between texts', 'one\ninside\ntwo', { documents: [note] }, [text('one'), resource, text('two')]],
    ['no document of which something was taken away', 'ins[secret]', { documents: [note] }, [text('ins[secret]')]],
    ['a document before a file', 'inside\n[png]', { documents: [note], files: [{ ...png, mention: '[png]' }] }, [resource, image]],
    ['a structure with a file', { a: 1 }, { files: [png] }, [text('{\n  "a": 1\n}'), image]],
    [
      'an image that lies somewhere',
      '',
      { files: [{ ...png, uri: 'x://a.png' }] },
      [{ type: 'resource', resource: { uri: 'x://a.png', mimeType: 'image/png', blob: 'AAAA' } }],
    ],
    [
      'a sound',
      '',
      { files: [{ type: 'audio/wav', url: 'data:audio/wav;base64,AAAA', sizeBytes: 3 }] },
      [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }],
    ],
    [
      'an archive, by its name',
      '',
      { files: [{ type: 'application/zip', url: 'data:application/zip;base64,AAAA', sizeBytes: 3, name: 'a b.zip' }] },
      [{ type: 'resource', resource: { uri: 'file:///a%20b.zip', mimeType: 'application/zip', blob: 'AAAA' } }],
    ],
    [
      'a text file that is not base64',
      '',
      { files: [{ type: 'text/plain', url: 'data:text/plain,caf%C3%A9 ü', sizeBytes: 9 }] },
      [{ type: 'resource', resource: { uri: 'file:///file', mimeType: 'text/plain', text: 'café ü' } }],
    ],
  ])('is right for %s', (_name, value, rest, content) => {
    expect(contentOf(value, rest)).toEqual(content);
  });
});
