import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/shared/json/json.ts';
import type { ToolFile, ToolOutcome } from '../../../src/core/tools/tool.ts';
import { toListedOutput } from '../../../src/http/mcp/listed-output.ts';
import { toMcpResult } from '../../../src/http/mcp/mcp-result.ts';

type Result = Extract<ToolOutcome, { type: 'result' }>;

function contentOf(value: JsonValue, rest: Partial<Result> = {}): unknown[] {
  return toMcpResult({ type: 'result', value, ...rest }).content;
}

const text = (words: string): object => ({ type: 'text', text: words });
const png: ToolFile = { type: 'image/png', url: 'data:image/png;base64,AAAA', sizeBytes: 3 };
const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
const link = { type: 'resource_link', uri: 'x://a', name: 'it' };
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
    ['a link in its own line alone', 'see it\nit', { passages: [{ text: 'it', block: link }] }, [text('see it'), link]],
    ['no link of which something was taken away', 'see i[secret]', { passages: [{ text: 'it', block: link }] }, [text('see i[secret]')]],
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

describe('a result of a function whose result schema is listed', () => {
  const output: JsonObject = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const note = 'The call has run. Its result does not match.';

  it('is passed on as it is if it matches', () => {
    expect(toMcpResult({ type: 'result', value: { n: 1 } }, { output })).toMatchObject({ structuredContent: { n: 1 } });
    expect(toMcpResult({ type: 'result', value: { n: 1 } }, { output })).not.toHaveProperty('isError');
  });

  it.each<[reason: string, outcome: Result, said: string]>([
    ['it does not match', { type: 'result', value: { n: 'one' }, note, isMisfit: true }, note],
    ['it was cut', { type: 'result', value: '{"n": 1', isTruncated: true }, 'The call has run.'],
  ])('is an error that says that the call has run if %s, because clients would refuse it', (_reason, outcome, said) => {
    const { isError, content } = toMcpResult(outcome, { output });
    expect([isError, content[0]]).toEqual([true, text(expect.stringContaining(said) as string)]);
    expect(content).toHaveLength(2);
  });

  it('is no error if the schema is one that clients cannot read', () => {
    expect(toMcpResult({ type: 'result', value: 'text' }, { output: { type: 'array' } })).toEqual({ content: [text('text')] });
  });

  it.each<[what: string, schema: JsonObject]>([
    ['an array', { type: 'array' }],
    ['a property that is no object', { type: 'object', properties: { a: true } }],
    ['a list of required names that is none', { type: 'object', required: 'a' }],
    ['a reference to nothing', { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }],
    ['a reference to elsewhere', { type: 'object', properties: { a: { $ref: 'https://example.com/schema' } } }],
    ['an invalid pattern', { type: 'object', properties: { a: { type: 'string', pattern: '(' } } }],
    ['much of it', { type: 'object', description: 'x'.repeat(100_000) }],
  ])('is not listed with %s, for which clients refuse the whole list', (_what, schema) => {
    expect(toListedOutput(schema)).toBeUndefined();
  });

  it('is listed without the name of its dialect', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { a: {} },
      properties: { a: { $ref: '#/$defs/a' } },
    };
    expect(toListedOutput(schema)).toEqual({ type: 'object', $defs: { a: {} }, properties: { a: { $ref: '#/$defs/a' } } });
  });
});
