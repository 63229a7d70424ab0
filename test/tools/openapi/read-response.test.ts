import { describe, expect, it } from 'vitest';
import { OutboundError } from '../../../src/core/errors.ts';
import { readResponse } from '../../../src/tools/openapi/read-response.ts';
import { toResponse, type ScriptedAnswer } from './scripted-server.ts';

const json = { 'content-type': 'application/json' };
const read = (answer: ScriptedAnswer, maxBytes = 10_000): ReturnType<typeof readResponse> => readResponse(toResponse(answer), maxBytes);
const message = async (status: number, body: string, headers: Record<string, string> = json): Promise<string> => {
  const outcome = await read({ status, body, headers });
  if (outcome.type !== 'error') throw new Error('no error');
  expect(outcome.code).toBe('tool_error');
  return outcome.message;
};

describe('results', () => {
  it.each<[string, ScriptedAnswer, unknown]>([
    ['JSON', { headers: json, body: '{"a":[1,null]}' }, { a: [1, null] }],
    ['JSON of its own kind', { headers: { 'content-type': 'application/hal+json; charset=utf-8' }, body: '[1]' }, [1]],
    ['JSON of one value', { headers: json, body: '"2025-01-01T00:00:00Z"' }, '2025-01-01T00:00:00Z'],
    ['JSON without a type', { body: ' {"a":1}' }, { a: 1 }],
    ['null', { headers: json, body: 'null' }, null],
    ['what is called JSON and is none', { headers: json, body: 'OK' }, 'OK'],
    ['text', { headers: { 'content-type': 'text/plain' }, body: '{"a":1}' }, '{"a":1}'],
    ['text in another encoding', { headers: { 'content-type': 'text/plain; charset="ISO-8859-1"' }, body: [new Uint8Array([0xe9])] }, 'é'],
    ['text in an unknown encoding', { headers: { 'content-type': 'text/plain; charset=nonsense' }, body: 'é' }, 'é'],
    ['a file that is text', { headers: { 'content-type': 'application/octet-stream' }, body: 'a,b\n1,2\n' }, 'a,b\n1,2\n'],
    [
      'a character in two pieces',
      { headers: { 'content-type': 'text/plain' }, body: [new Uint8Array([0xc3]), new Uint8Array([0xa9])] },
      'é',
    ],
    ['a small image', { headers: { 'content-type': 'image/png' }, body: [new Uint8Array([137, 80])] }, 'data:image/png;base64,iVA='],
    ['bytes without a type', { body: [new Uint8Array([0, 255])] }, 'data:application/octet-stream;base64,AP8='],
    ['204', { status: 204 }, '204 No Content: done, there is nothing to return.'],
    ['an empty 200', { headers: json }, '200: done, with an empty answer.'],
  ])('%s', async (_, answer, value) => {
    expect(await read(answer)).toEqual({ type: 'result', value });
  });

  it('a large file is described instead of shown', async () => {
    const body = [new Uint8Array(9_000)];
    expect(await read({ headers: { 'content-type': 'application/zip' }, body })).toEqual({
      type: 'result',
      value: 'The server sent a file of the type application/zip with 9000 bytes. It is not text and is not shown.',
    });
    const headers = { 'content-type': 'video/mp4', 'content-length': '123456' };
    expect(await read({ headers, body }, 1_000)).toMatchObject({ value: expect.stringContaining('with 123456 bytes') as string });
    expect(await read({ headers: { 'content-type': 'video/mp4' }, body }, 1_000)).toMatchObject({
      value: expect.stringContaining('with more than 1000 bytes') as string,
    });
  });

  it('what is too large is cut at a whole character, with a mark, within the limit', async () => {
    for (let maxBytes = 200; maxBytes < 204; maxBytes += 1) {
      const outcome = await read({ headers: { 'content-type': 'text/plain' }, body: ['日'.repeat(100)] }, maxBytes);
      if (outcome.type !== 'result' || typeof outcome.value !== 'string') throw new Error('no text');
      expect(outcome.isTruncated).toBe(true);
      expect(outcome.value).toMatch(new RegExp(`^日+\\n\\[cut: the answer has more than ${maxBytes} bytes\\]$`));
      expect(new TextEncoder().encode(outcome.value).byteLength).toBeLessThanOrEqual(maxBytes);
    }
  });

  it('cut JSON is text', async () => {
    const outcome = await read({ headers: json, body: JSON.stringify(Array.from({ length: 500 }, () => 'abc')) }, 300);
    expect(outcome).toMatchObject({ type: 'result', isTruncated: true, value: expect.stringMatching(/^\["abc",.*\n\[cut: /s) as string });
  });

  it('whole numbers that a number cannot hold keep their digits', async () => {
    const body =
      '{"id":1234567890123456789,"n":-12345678901234567890,"f":1.2345678901234567,"e":1e21,"ok":9007199254740991,"s":"1234567890123456789"}';
    const value = {
      id: '1234567890123456789',
      n: '-12345678901234567890',
      f: 1.2345678901234567,
      e: 1e21,
      ok: 9007199254740991,
      s: '1234567890123456789',
    };
    expect(await read({ headers: json, body })).toEqual({ type: 'result', value });
  });

  it('JSON that is nested too deeply stays text', async () => {
    const body = '['.repeat(100) + ']'.repeat(100);
    expect(await read({ headers: json, body })).toEqual({ type: 'result', value: body });
  });

  it('keys that reach a prototype are dropped', async () => {
    const outcome = await read({ headers: json, body: '{"a":1,"__proto__":{"b":1}}' });
    expect(JSON.stringify(outcome)).toBe('{"type":"result","value":{"a":1}}');
  });

  it('a connection that breaks is an error of the way, not a result', async () => {
    await expect(read({ headers: json, body: ['{"a":', new OutboundError('cut', 'gone')] })).rejects.toThrow(OutboundError);
  });
});

describe('errors', () => {
  it.each<[number, string, string]>([
    [
      422,
      '{"detail":[{"loc":["body","timestamp"],"msg":"Field required","type":"missing"},{"loc":["query",0],"msg":"bad"}]}',
      'HTTP 422 Unprocessable Content: body.timestamp: Field required; query.0: bad',
    ],
    [400, '{"detail":"Invalid timezone"}', 'HTTP 400 Bad Request: Invalid timezone'],
    [404, '{"message":"Not here","documentation_url":"x"}', 'HTTP 404 Not Found: Not here'],
    [500, '{"error":{"code":5,"message":"boom"}}', 'HTTP 500 Internal Server Error: boom'],
    [400, '{"error":"invalid_grant","error_description":"Expired"}', 'HTTP 400 Bad Request: Expired'],
    [400, '{"title":"Invalid","status":400,"errors":{"Name":["is required"]}}', 'HTTP 400 Bad Request: Invalid ({"Name":["is required"]})'],
    [418, '{"teapot":true}', 'HTTP 418: {"teapot":true}'],
    [503, '', 'HTTP 503 Service Unavailable'],
    [400, '{}', 'HTTP 400 Bad Request'],
    [400, 'plain words', 'HTTP 400 Bad Request: plain words'],
  ])('%i %s', async (status, body, expected) => {
    expect(await message(status, body)).toBe(expected);
  });

  it('an error page says its title', async () => {
    const html = { 'content-type': 'text/html' };
    expect(await message(502, '<html><head><title> Bad gateway </title></head><body>…</body>', html)).toBe(
      'HTTP 502 Bad Gateway: Bad gateway',
    );
    expect(await message(500, '<html><body>x</body></html>', html)).toContain('an HTML page without a title');
  });

  it('long and unreadable bodies are kept short', async () => {
    expect((await message(500, 'x'.repeat(50_000), { 'content-type': 'text/plain' })).length).toBeLessThan(2_100);
    expect(await message(500, '\u0000\u0001', { 'content-type': 'application/octet-stream' })).toBe('HTTP 500 Internal Server Error');
  });
});
