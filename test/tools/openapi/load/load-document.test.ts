import { afterEach, describe, expect, it, vi } from 'vitest';
import { OutboundError } from '../../../../src/core/errors.ts';
import { limits } from '../../../../src/core/limits.ts';
import type { SendOutbound } from '../../../../src/core/outbound.ts';
import { createRegisteredBudget } from '../../../../src/tools/openapi/conversion-budget.ts';
import { documentUrl, loadDocument, type DocumentAddress, type LoadOptions } from '../../../../src/tools/openapi/load/load-document.ts';
import type { DocumentReader } from '../../../../src/tools/openapi/load/open-foreign-document.ts';
import type { OpenedDocument } from '../../../../src/tools/openapi/load/open-document.ts';
import { scriptedServer, silence, type ScriptedAnswer } from '../scripted-server.ts';
import { outboundBody } from '../../../_support/outbound-body.ts';

const place: DocumentAddress = {
  url: 'http://tools.test:8000/api/',
  path: '/openapi.json?token=hidden',
  headers: { authorization: 'Bearer secret-key' },
  trust: { kind: 'configured', origin: 'http://tools.test:8000' },
};
const never = new AbortController().signal;
const readerUntil = (signal: AbortSignal): DocumentReader => ({ kind: 'registered', caller: 'tools', signal });
const options = (): LoadOptions => ({ job: { budget: createRegisteredBudget(), isChecked: false } });

async function load(where: DocumentAddress, send: SendOutbound, signal = never): Promise<OpenedDocument> {
  const loaded = await loadDocument(where, send, { ...options(), reader: readerUntil(signal) });
  if (loaded.type === 'unchanged') throw new Error('unchanged');
  return loaded.opened;
}

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
    expect((await load(place, send)).head).toEqual({ openapi: '3.1.0', paths: {} });
    expect(requests[0]).toMatchObject({
      method: 'GET',
      url: 'http://tools.test:8000/api/openapi.json?token=hidden',
      headers: { authorization: 'Bearer secret-key' },
      trust: place.trust,
    });
  });

  it('reads YAML, whatever type the server names', async () => {
    const { send } = scriptedServer(() => ({ headers: { 'content-type': 'text/plain' }, body: ['swagger: "2.', '0"\npaths: {}\n'] }));
    expect((await load(place, send)).head).toEqual({ swagger: '2.0', paths: {} });
  });

  it.each<[string, ScriptedAnswer, string]>([
    ['a missing page', { status: 404, body: 'nope' }, 'does not exist (HTTP 404). The document is usually at /openapi.json.'],
    ['a locked page', { status: 401 }, 'requires a credential (HTTP 401)'],
    ['a broken server', { status: 503 }, 'answered with HTTP 503'],
    ['a web page', { headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<p>Swagger UI</p>' }, 'is an HTML page'],
    ['a web page without a type', { body: '<!DOCTYPE html>' }, 'is an HTML page'],
    ['something else', { body: '{"hello":1}' }, 'neither "openapi" nor "swagger"'],
    ['half a document', { body: '{"openapi":' }, 'not valid JSON'],
  ])('names the address and the cure for %s, without the query', async (_, answer, message) => {
    const error = await load(place, scriptedServer(() => answer).send).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('http://tools.test:8000/api/openapi.json');
    expect(String(error)).toContain(message);
    expect(String(error)).not.toMatch(/hidden|secret/);
  });

  it('knows the address of the page that shows an API', async () => {
    const { send } = scriptedServer(() => ({ status: 404 }));
    const asked = load({ ...place, url: 'http://tools.test/time/docs', path: 'openapi.json' }, send);
    await expect(asked).rejects.toThrow('"/docs" is usually the page that displays an API: register the URL without it.');
  });

  it('stops reading a document that is too large', async () => {
    const piece = 'x'.repeat(1024 * 1024);
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        sent += 1;
        yield await Promise.resolve(new TextEncoder().encode(piece));
      }
    }
    const send = async () => ({ status: 200, headers: {}, body: outboundBody(endless()) });
    await expect(load(place, send)).rejects.toThrow(`larger than ${limits.documentBytes} bytes`);
    expect(sent).toBe(limits.documentBytes / piece.length + 1);
  });

  it('keeps what the door says about a refused or unreachable address, and its kind', async () => {
    const { send } = scriptedServer(() => Promise.reject(new OutboundError('denied', 'Set TOOL_SERVER_ALLOW=http://tools.test:8000')));
    const error = await load(place, send).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutboundError);
    expect(error).toMatchObject({
      failure: 'denied',
      message: expect.stringContaining('TOOL_SERVER_ALLOW=http://tools.test:8000') as string,
    });
  });

  it('gives up after its time limit', async () => {
    vi.useFakeTimers();
    const loading = load(place, scriptedServer(silence).send).catch((thrown: unknown) => thrown);
    await vi.advanceTimersByTimeAsync(limits.documentTimeoutMs);
    expect(await loading).toMatchObject({ failure: 'timeout', message: expect.stringContaining('within 10 s') as string });
  });

  it('takes a connection that the abort broke for the abort', async () => {
    const controller = new AbortController();
    const { send } = scriptedServer(() => {
      controller.abort(new Error('left'));
      return { body: [new OutboundError('cut', 'aborted')] };
    });
    await expect(load(place, send, controller.signal)).rejects.toThrow('left');
  });

  it('rejects with the reason of the signal', async () => {
    const controller = new AbortController();
    const loading = load(place, scriptedServer(silence).send, controller.signal);
    controller.abort(new Error('left'));
    await expect(loading).rejects.toThrow('left');
  });
});

describe('a document that is there already', () => {
  const text = '{"openapi":"3.1.0","paths":{}}';
  const again = async (answers: ScriptedAnswer[]): Promise<{ types: string[]; sent: Record<string, string>[] }> => {
    const { send, requests } = scriptedServer(() => answers.shift() ?? { status: 500 });
    const first = await loadDocument(place, send, { ...options(), reader: readerUntil(never) });
    const known = first.type === 'loaded' ? first.version : undefined;
    const second = await loadDocument(place, send, { ...options(), reader: readerUntil(never), known });
    return { types: [first.type, second.type], sent: requests.map(({ headers }) => headers ?? {}) };
  };

  it('is asked for by its tag, and a 304 leaves it as it is', async () => {
    const { types, sent } = await again([{ headers: { etag: '"v1"', 'last-modified': 'yesterday' }, body: text }, { status: 304 }]);
    expect(types).toEqual(['loaded', 'unchanged']);
    expect(sent[0]).not.toHaveProperty('if-none-match');
    expect(sent[1]).toMatchObject({ 'if-none-match': '"v1"' });
    expect(sent[1]).not.toHaveProperty('if-modified-since');
  });

  it('is asked for by its date where it has no tag', async () => {
    const { sent } = await again([{ headers: { 'last-modified': 'Sat, 01 Aug 2026 00:00:00 GMT' }, body: text }, { status: 304 }]);
    expect(sent[1]).toMatchObject({ 'if-modified-since': 'Sat, 01 Aug 2026 00:00:00 GMT' });
  });

  it('is known again by its bytes, from a server that knows neither', async () => {
    expect((await again([{ body: text }, { body: text }])).types).toEqual(['loaded', 'unchanged']);
    expect((await again([{ body: text }, { body: `${text} ` }])).types).toEqual(['loaded', 'loaded']);
  });
});

describe('files that a document refers to', () => {
  const answers = (url: string): ScriptedAnswer =>
    url.includes('/api/openapi.json')
      ? { body: '{"openapi":"3.1.0","paths":{"/a":{"$ref":"paths/a.json"},"/b":{"$ref":"/b.json"}}}' }
      : { body: '{"get":{"operationId":"a"}}' };

  it.each([
    [true, ['http://tools.test:8000/api/openapi.json?token=hidden', 'http://tools.test:8000/api/paths/a.json'], ['a']],
    [false, ['http://tools.test:8000/api/openapi.json?token=hidden'], []],
  ])('are fetched with the same headers and trust where that is allowed: %s', async (takesFiles, urls, names) => {
    const { send, requests } = scriptedServer(({ url }) => answers(url));
    const loaded = await loadDocument(place, send, { ...options(), takesFiles, reader: readerUntil(never) });
    expect(requests.map(({ url }) => url)).toEqual(urls);
    for (const request of requests) expect(request).toMatchObject({ headers: place.headers, trust: place.trust });
    const functions = loaded.type === 'loaded' ? loaded.opened.conversion.operations.map(({ operationId }) => operationId) : [];
    expect(functions).toEqual(names);
  });
});
