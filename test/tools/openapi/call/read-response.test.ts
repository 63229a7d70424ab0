import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { OutboundError } from '../../../../src/core/errors.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { limits } from '../../../../src/core/limits.ts';
import type { ToolOutcome } from '../../../../src/core/tools/tool.ts';
import { readResponse } from '../../../../src/tools/openapi/call/read-response.ts';
import { toResponse, type ScriptedAnswer } from '../scripted-server.ts';
import { ExactNumber } from '../../../../src/shared/json/exact-number.ts';

const json = { 'content-type': 'application/json' };
const read = (answer: ScriptedAnswer): ReturnType<typeof readResponse> => readResponse(toResponse(answer));
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
    ['text that is no UTF-8 and says nothing', { headers: { 'content-type': 'text/plain' }, body: [new Uint8Array([0x80, 0xe9])] }, '€é'],
    ['UTF-16 with its mark', { headers: { 'content-type': 'text/csv' }, body: [new Uint8Array([0xff, 0xfe, 0x61, 0, 0xe9, 0])] }, 'aé'],
    ['JSON behind a byte order mark', { headers: json, body: '\ufeff{"a":1}' }, { a: 1 }],
    [
      'a page that names its charset',
      { headers: { 'content-type': 'text/html' }, body: ['<meta charset="latin1">', new Uint8Array([0xe9])] },
      '<meta charset="latin1">é',
    ],
    [
      'XML that names its encoding',
      { headers: { 'content-type': 'application/xml' }, body: ["<?xml version='1.0' encoding='iso-8859-1'?>", new Uint8Array([0xe9])] },
      "<?xml version='1.0' encoding='iso-8859-1'?>é",
    ],
    ['text in an unknown encoding', { headers: { 'content-type': 'text/plain; charset=nonsense' }, body: 'é' }, 'é'],
    ['a file that is text', { headers: { 'content-type': 'application/octet-stream' }, body: 'a,b\n1,2\n' }, 'a,b\n1,2\n'],
    [
      'a character in two pieces',
      { headers: { 'content-type': 'text/plain' }, body: [new Uint8Array([0xc3]), new Uint8Array([0xa9])] },
      'é',
    ],
    ['204', { status: 204 }, '204 No Content: done, there is nothing to return.'],
    ['an empty 200', { headers: json }, '200: done, with an empty answer.'],
  ])('%s', async (_, answer, value) => {
    expect(await read(answer)).toEqual({ type: 'result', value });
  });

  it.each<[string, Record<string, string>, number[], string, JsonObject]>([
    ['a small image', { 'content-type': 'image/png' }, [137, 80], 'data:image/png;base64,iVA=', { type: 'image/png', sizeBytes: 2 }],
    ['bytes without a type', {}, [0, 255], 'data:application/octet-stream;base64,AP8=', { type: 'application/octet-stream', sizeBytes: 2 }],
  ])('%s is a file, and its value a model can hand on', async (_, headers, bytes, url, file) => {
    expect(await read({ headers, body: [new Uint8Array(bytes)] })).toEqual({ type: 'result', value: url, files: [{ ...file, url }] });
  });

  it('a large file is described instead of shown', async () => {
    const outcome = await read({ headers: { 'content-type': 'application/zip' }, body: [new Uint8Array(9_000)] });
    expect(outcome).toMatchObject({
      type: 'result',
      value: 'The server sent a file of the type application/zip with 9000 bytes. It is not text and is not shown.',
      files: [{ type: 'application/zip', sizeBytes: 9_000, url: expect.stringMatching(/^data:application\/zip;base64,A{100}/) as string }],
    });
  });

  it('a file beyond the limit is not kept, and its size is told', async () => {
    const body = [new Uint8Array(limits.keptResultBytes), new Uint8Array(1)];
    const announced = await read({ headers: { 'content-type': 'video/mp4', 'content-length': '123456789' }, body });
    expect(announced).toMatchObject({ value: expect.stringContaining('with 123456789 bytes') as string });
    expect(announced).not.toHaveProperty('files');
    expect(await read({ headers: { 'content-type': 'video/mp4' }, body })).toMatchObject({
      value: expect.stringContaining(`with more than ${limits.keptResultBytes} bytes`) as string,
    });
  });

  it.each<[string, string | undefined]>([
    ['attachment; filename="report 1.pdf"', 'report 1.pdf'],
    ["attachment; filename=plain.pdf; filename*=UTF-8''%e2%82%ac.pdf", '€.pdf'],
    ['attachment; filename="../../etc/passwd"', 'passwd'],
    ['attachment; filename=".."', undefined],
    ['inline', undefined],
  ])('the name in %j is %j', async (disposition, name) => {
    const outcome = await read({ headers: { 'content-disposition': disposition }, body: [new Uint8Array([0])] });
    if (outcome.type !== 'result') throw new Error('no result');
    expect(outcome.files?.[0]?.name).toBe(name);
  });

  it('what is too large is cut at a whole character, with a mark, and JSON then is text', async () => {
    const kept = limits.keptResultBytes;
    const text = await read({ headers: { 'content-type': 'text/plain' }, body: ['日'.repeat(kept / 2)] });
    expect(text).toMatchObject({ type: 'result', isTruncated: true });
    const value = text.type === 'result' && typeof text.value === 'string' ? text.value : '';
    // Plain comparisons: an assertion would print megabytes.
    expect(value.endsWith(`日\n[cut: the answer has more than ${kept} bytes]`)).toBe(true);
    expect(value.includes('\ufffd')).toBe(false);
    const cut = await read({ headers: json, body: `["${'x'.repeat(kept)}"]` });
    expect(cut.type === 'result' && typeof cut.value === 'string' && cut.value.startsWith('["x')).toBe(true);
  });

  it('whole numbers that a number cannot hold keep their digits', async () => {
    const body =
      '{"id":1234567890123456789,"n":-12345678901234567890,"f":1.2345678901234567,"e":1e21,"ok":9007199254740991,"s":"1234567890123456789"}';
    const value = {
      id: new ExactNumber('1234567890123456789'),
      n: new ExactNumber('-12345678901234567890'),
      f: 1.2345678901234567,
      e: 1e21,
      ok: 9007199254740991,
      s: '1234567890123456789',
    };
    expect(await read({ headers: json, body })).toEqual({ type: 'result', value });
  });

  it('JSON of many values stays text, and less of it is its value', async () => {
    const list = (values: number): string => `[${Array.from({ length: values }, () => '[]').join()}]`;
    const [many, few] = [list(limits.resultValues), list(limits.resultValues / 2 - 1)];
    const isEqual = (outcome: ToolOutcome, value: unknown): boolean => outcome.type === 'result' && isDeepStrictEqual(outcome.value, value);
    expect(isEqual(await read({ headers: json, body: many }), many)).toBe(true);
    expect(isEqual(await read({ headers: json, body: few }), JSON.parse(few))).toBe(true);
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

describe('headers', () => {
  it.each<[string, Record<string, string>, string | undefined]>([
    ['where the new thing is', { location: '/things/5' }, 'Location: /things/5'],
    ['when to come back', { 'retry-after': '30' }, 'Retry-After: 30'],
    [
      'the other pages',
      { link: '<https://a.test/?page=2,3>; rel="next", <https://a.test/licence>; rel=license' },
      'Link: <https://a.test/?page=2,3>; rel="next"',
    ],
    ['nothing that matters', { link: '</style.css>; rel=preload', date: 'x', location: ' ' }, undefined],
  ])('%s', async (_, headers, note) => {
    const outcome = await read({ status: 201, headers: { ...json, ...headers }, body: '{"a":1}' });
    expect(outcome).toEqual({ type: 'result', value: { a: 1 }, ...(note !== undefined && { note }) });
  });

  it('stand in the result itself where there is no other', async () => {
    expect(await read({ status: 202, headers: { location: '/jobs/1', 'retry-after': '5' } })).toEqual({
      type: 'result',
      value: '202: done, with an empty answer.\nLocation: /jobs/1\nRetry-After: 5',
    });
  });
});

describe('errors', () => {
  it.each<[number, string, string]>([
    [
      422,
      '{"detail":[{"loc":["body","timestamp"],"msg":"Field required","type":"missing"},{"loc":["query",0],"msg":"bad"}]}',
      'HTTP 422 Unprocessable Entity: body.timestamp: Field required; query.0: bad',
    ],
    [400, '{"detail":"Invalid timezone"}', 'HTTP 400 Bad Request: Invalid timezone'],
    [404, '{"message":"Not here","documentation_url":"x"}', 'HTTP 404 Not Found: Not here'],
    [500, '{"error":{"code":5,"message":"boom"}}', 'HTTP 500 Internal Server Error: boom'],
    [
      500,
      '{"detail":{"message":"Unexpected error","error":"500: No time zone found with key Nowhere/X"}}',
      'HTTP 500 Internal Server Error: Unexpected error: 500: No time zone found with key Nowhere/X',
    ],
    [
      502,
      '{"message":"No luck.","error":"Bad Gateway","details":"the printer is off"}',
      'HTTP 502 Bad Gateway: No luck: the printer is off',
    ],
    [500, '{"message":"Failed: it is too late","error":"it is too late"}', 'HTTP 500 Internal Server Error: Failed: it is too late'],
    [415, '{"message":"No XML","error":"Unsupported Media Type"}', 'HTTP 415 Unsupported Media Type: No XML'],
    [400, '{"error":"invalid_grant","error_description":"Expired"}', 'HTTP 400 Bad Request: Expired'],
    [400, '{"title":"Invalid","status":400,"errors":{"Name":["is required"]}}', 'HTTP 400 Bad Request: Invalid ({"Name":["is required"]})'],
    [499, '{"teapot":true}', 'HTTP 499: {"teapot":true}'],
    [
      422,
      '{"type":"about:blank","title":"Invalid","detail":"Two fields","errors":[{"pointer":"#/age","detail":"must be positive"},{"detail":"x"}]}',
      'HTTP 422 Unprocessable Entity: Two fields (#/age: must be positive; x)',
    ],
    [400, '{"errors":[{"source":{"pointer":"/data/a"},"detail":"is bad"}]}', 'HTTP 400 Bad Request: /data/a: is bad'],
    [400, '{"errors":[{"field":"name","message":"is taken"}]}', 'HTTP 400 Bad Request: name: is taken'],
    [400, '{"errors":[{"path":["a"],"message":"no such field"}]}', 'HTTP 400 Bad Request: no such field'],
    [400, '{"name":["This field is required."]}', 'HTTP 400 Bad Request: {"name":["This field is required."]}'],
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

  it('an XML document says its message', async () => {
    const xml = { 'content-type': 'application/xml' };
    expect(await message(403, '<?xml version="1.0"?><Error><Code>1</Code><Message>No access</Message></Error>', xml)).toBe(
      'HTTP 403 Forbidden: No access',
    );
  });

  it('says when to come back', async () => {
    expect(await message(429, '{"message":"slow down"}', { ...json, 'retry-after': '30' })).toBe(
      'HTTP 429 Too Many Requests: slow down (Retry-After: 30)',
    );
  });

  it('long and unreadable bodies are kept short', async () => {
    expect((await message(500, 'x'.repeat(50_000), { 'content-type': 'text/plain' })).length).toBeLessThan(2_100);
    expect(await message(500, '\u0000\u0001', { 'content-type': 'application/octet-stream' })).toBe('HTTP 500 Internal Server Error');
  });
});
