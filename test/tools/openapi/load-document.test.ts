import { afterEach, describe, expect, it, vi } from 'vitest';
import { OutboundError } from '../../../src/core/errors.ts';
import { limits } from '../../../src/core/limits.ts';
import { documentUrl, loadDocument, type DocumentPlace } from '../../../src/tools/openapi/load-document.ts';
import { scriptedServer, silence, type ScriptedAnswer } from './scripted-server.ts';

const place: DocumentPlace = {
  url: 'http://tools.test:8000/api/',
  path: '/openapi.json?token=hidden',
  headers: { authorization: 'Bearer secret-key' },
  trust: { kind: 'configured', origin: 'http://tools.test:8000' },
};
const never = new AbortController().signal;

afterEach(() => {
  vi.useRealTimers();
});

describe('documentUrl', () => {
  it.each([
    ['http://h:1', 'openapi.json', 'http://h:1/openapi.json'],
    ['http://h:1/', '/openapi.json', 'http://h:1/openapi.json'],
    ['http://h:1/api//', '//docs/openapi.yaml?v=1', 'http://h:1/api/docs/openapi.yaml?v=1'],
    ['http://h:1/api?x=1#y', 'openapi.json', 'http://h:1/api/openapi.json'],
    ['http://h:1/api', 'https://other.test/spec.json', 'https://other.test/spec.json'],
  ])('%s and %s give %s', (url, path, expected) => {
    expect(documentUrl(url, path)).toBe(expected);
  });
});

describe('loadDocument', () => {
  it('fetches with the headers and the trust of the place', async () => {
    const { send, requests } = scriptedServer(() => ({ body: '{"openapi":"3.1.0","paths":{}}' }));
    expect(await loadDocument(place, send, never)).toEqual({ openapi: '3.1.0', paths: {} });
    expect(requests[0]).toMatchObject({
      method: 'GET',
      url: 'http://tools.test:8000/api/openapi.json?token=hidden',
      headers: { authorization: 'Bearer secret-key' },
      trust: place.trust,
    });
  });

  it('reads YAML, whatever type the server names', async () => {
    const { send } = scriptedServer(() => ({ headers: { 'content-type': 'text/plain' }, body: ['swagger: "2.', '0"\npaths: {}\n'] }));
    expect(await loadDocument(place, send, never)).toEqual({ swagger: '2.0', paths: {} });
  });

  it.each<[string, ScriptedAnswer, string]>([
    ['a missing page', { status: 404, body: 'nope' }, 'does not exist (HTTP 404). The document is usually at /openapi.json.'],
    ['a locked page', { status: 401 }, 'asks for a credential (HTTP 401)'],
    ['a broken server', { status: 503 }, 'answered with HTTP 503'],
    ['a web page', { headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<p>Swagger UI</p>' }, 'is an HTML page'],
    ['a web page without a type', { body: '<!DOCTYPE html>' }, 'is an HTML page'],
    ['something else', { body: '{"hello":1}' }, 'neither "openapi" nor "swagger"'],
    ['half a document', { body: '{"openapi":' }, 'not valid JSON'],
  ])('names the address and the cure for %s, without the query', async (_, answer, message) => {
    const error = await loadDocument(place, scriptedServer(() => answer).send, never).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('http://tools.test:8000/api/openapi.json');
    expect(String(error)).toContain(message);
    expect(String(error)).not.toMatch(/hidden|secret/);
  });

  it('stops reading a document that is too large', async () => {
    const piece = 'x'.repeat(1024 * 1024);
    let sent = 0;
    const send = async (): Promise<{ status: number; headers: Record<string, string>; body: AsyncGenerator<Uint8Array> }> => ({
      status: 200,
      headers: {},
      body: (async function* endless() {
        for (;;) {
          sent += 1;
          yield await Promise.resolve(new TextEncoder().encode(piece));
        }
      })(),
    });
    await expect(loadDocument(place, send, never)).rejects.toThrow(`larger than ${limits.documentBytes} bytes`);
    expect(sent).toBe(limits.documentBytes / piece.length + 1);
  });

  it('keeps what the door says about a refused or unreachable address, and its kind', async () => {
    const { send } = scriptedServer(() => Promise.reject(new OutboundError('denied', 'Set TOOL_SERVER_ALLOW=http://tools.test:8000')));
    const error = await loadDocument(place, send, never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutboundError);
    expect(error).toMatchObject({
      failure: 'denied',
      message: expect.stringContaining('TOOL_SERVER_ALLOW=http://tools.test:8000') as string,
    });
  });

  it('gives up after its time limit', async () => {
    vi.useFakeTimers();
    const loading = loadDocument(place, scriptedServer(silence).send, never).catch((thrown: unknown) => thrown);
    await vi.advanceTimersByTimeAsync(limits.documentTimeoutMs);
    expect(await loading).toMatchObject({ failure: 'timeout', message: expect.stringContaining('within 10 s') as string });
  });

  it('takes a connection that the abort broke for the abort', async () => {
    const controller = new AbortController();
    const { send } = scriptedServer(() => {
      controller.abort(new Error('left'));
      return { body: [new OutboundError('cut', 'aborted')] };
    });
    await expect(loadDocument(place, send, controller.signal)).rejects.toThrow('left');
  });

  it('rejects with the reason of the signal', async () => {
    const controller = new AbortController();
    const loading = loadDocument(place, scriptedServer(silence).send, controller.signal);
    controller.abort(new Error('left'));
    await expect(loading).rejects.toThrow('left');
  });
});
