import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import SwaggerParser from '@apidevtools/swagger-parser';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTimeServer, startTimeServer } from '../../src/demo/time-server.ts';
import { timeServerDocument } from '../../src/demo/time/openapi-document.ts';

const now = Date.parse('2026-03-10T08:30:15.250Z');

let app: FastifyInstance;
beforeAll(() => {
  app = createTimeServer({ now: () => now, localZone: 'Europe/Berlin' });
});
afterAll(() => app.close());

async function get(url: string) {
  const response = await app.inject({ method: 'GET', url });
  return { status: response.statusCode, body: response.json<unknown>() };
}

async function post(url: string, payload: object) {
  const response = await app.inject({ method: 'POST', url, payload });
  return { status: response.statusCode, body: response.json<unknown>() };
}

describe('the document', () => {
  const fixture = readFileSync(new URL('../../openapi-fixtures/secure-time-utilities.json', import.meta.url), 'utf8');

  it('is the one that frontends know, to the order of its keys', async () => {
    const response = await app.inject({ url: '/openapi.json' });
    expect(response.headers['content-type']).toMatch(/^application\/json/);
    expect(`${JSON.stringify(response.json(), null, 2)}\n`).toBe(fixture);
  });

  it('is a valid OpenAPI 3.1 document', async () => {
    const document = structuredClone(timeServerDocument) as unknown as Parameters<typeof SwaggerParser.validate>[0];
    await expect(SwaggerParser.validate(document)).resolves.toMatchObject({ openapi: '3.1.0' });
  });

  it('names every operation that the server has', async () => {
    for (const [path, item] of Object.entries(timeServerDocument.paths)) {
      const method = 'get' in item ? 'GET' : 'POST';
      const response = await app.inject({ method, url: path });
      expect([path, response.statusCode]).toEqual([path, method === 'GET' ? 200 : 422]);
    }
  });
});

describe('the operations', () => {
  it('tells the time in UTC', async () => {
    expect(await get('/get_current_utc_time')).toEqual({ status: 200, body: { utc: '2026-03-10T08:30:15.250000+00:00' } });
  });

  it('tells the local time, without an offset', async () => {
    expect(await get('/get_current_local_time')).toEqual({ status: 200, body: { local_time: '2026-03-10T09:30:15.250000' } });
  });

  it('tells the local time of the system where no zone is given', async () => {
    await using server = closing(createTimeServer());
    const response = await server.app.inject({ url: '/get_current_local_time' });
    expect(response.json()).toEqual({ local_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?$/) });
  });

  it.each([undefined, 'Etc/Unknown'])('keeps the time of UTC where the zone of the system is called %s', async (timeZone) => {
    const real = Intl.DateTimeFormat().resolvedOptions();
    const spy = vi.spyOn(Intl.DateTimeFormat.prototype, 'resolvedOptions').mockReturnValue({ ...real, timeZone: timeZone as string });
    await using server = closing(createTimeServer({ now: () => now }));
    const response = await server.app.inject({ url: '/get_current_local_time' });
    spy.mockRestore();
    expect(response.json()).toEqual({ local_time: '2026-03-10T08:30:15.250000' });
  });

  it('leaves the fraction out of a whole second', async () => {
    await using server = closing(createTimeServer({ now: () => 1_717_243_200_000 }));
    expect((await server.app.inject({ url: '/get_current_utc_time' })).json()).toEqual({ utc: '2024-06-01T12:00:00+00:00' });
  });

  it.each([
    [{}, '2026-03-10 08:30:15'],
    [{ timezone: 'Asia/Tokyo' }, '2026-03-10 17:30:15'],
    [{ format: '%A, %d %B %Y, %I:%M %p %Z', timezone: 'America/New_York' }, 'Tuesday, 10 March 2026, 04:30 AM EDT'],
    [{ format: '' }, ''],
  ])('formats the current time: %j', async (body, text) => {
    expect(await post('/format_time', body)).toEqual({ status: 200, body: { formatted_time: text } });
  });

  it.each([
    [{ timestamp: '2024-01-01T12:00:00Z', from_tz: 'UTC', to_tz: 'Europe/Berlin' }, '2024-01-01T13:00:00+01:00'],
    [{ timestamp: '2024-07-01 12:00', from_tz: 'America/New_York', to_tz: 'Asia/Kolkata' }, '2024-07-01T21:30:00+05:30'],
    [{ timestamp: '2024-07-01T12:00:00+09:00', from_tz: 'America/New_York', to_tz: 'UTC' }, '2024-07-01T03:00:00+00:00'],
    [{ timestamp: '2024-07-01T12:00:00.001Z', from_tz: 'UTC', to_tz: 'UTC' }, '2024-07-01T12:00:00.001000+00:00'],
  ])('converts between zones: %j', async (body, iso) => {
    expect(await post('/convert_time', body)).toEqual({ status: 200, body: { converted_time: iso } });
  });

  it.each([
    [
      { start: '2024-01-01T00:00:00Z', end: '2024-01-01T01:00:00Z' },
      { elapsed: 3600, unit: 'seconds' },
    ],
    [
      { start: '2024-01-01T00:00:00Z', end: '2024-01-01T01:00:00Z', units: 'minutes' },
      { elapsed: 60, unit: 'minutes' },
    ],
    [
      { start: '2024-01-01T00:00:00Z', end: '2024-01-02T12:00:00Z', units: 'days' },
      { elapsed: 1.5, unit: 'days' },
    ],
    [
      { start: '2024-01-01T12:00:00+02:00', end: '2024-01-01T12:00:00-05:00', units: 'hours' },
      { elapsed: 7, unit: 'hours' },
    ],
    [
      { start: '2024-01-02', end: '2024-01-01', units: 'hours' },
      { elapsed: -24, unit: 'hours' },
    ],
    [
      { start: '2024-01-01T00:00:00.2Z', end: '2024-01-01T00:00:00.3Z' },
      { elapsed: 0.1, unit: 'seconds' },
    ],
    [
      { start: '2024-01-01', end: '2024-01-01T00:00:00Z' },
      { elapsed: 0, unit: 'seconds' },
    ],
  ])('measures the time between timestamps: %j', async (body, answer) => {
    expect(await post('/elapsed_time', body)).toEqual({ status: 200, body: answer });
  });

  it.each([
    [{ timestamp: '2024-06-01 12:00 PM' }, '2024-06-01T12:00:00+00:00'],
    [{ timestamp: '2024-06-01 12:00 PM', timezone: 'America/Los_Angeles' }, '2024-06-01T19:00:00+00:00'],
    [{ timestamp: 'tomorrow at 9am', timezone: 'Europe/Berlin' }, '2026-03-11T08:00:00+00:00'],
  ])('parses what people write: %j', async (body, iso) => {
    expect(await post('/parse_timestamp', body)).toEqual({ status: 200, body: { utc: iso } });
  });

  it('lists the time zones as an array of names', async () => {
    const { status, body } = await get('/list_time_zones');
    expect(status).toBe(200);
    expect(body).toEqual(expect.arrayContaining(['Africa/Abidjan', 'Asia/Kolkata', 'UTC']));
  });
});

describe('refusals', () => {
  it.each([
    ['/format_time', { timezone: 'Mars/Olympus' }, 'Invalid timezone: Mars/Olympus'],
    ['/convert_time', { timestamp: '2024-01-01', from_tz: 'X', to_tz: 'UTC' }, 'Invalid timezone: X'],
    ['/convert_time', { timestamp: '2024-01-01', from_tz: 'UTC', to_tz: 'Y' }, 'Invalid timezone: Y'],
    ['/convert_time', { timestamp: 'soon', from_tz: 'UTC', to_tz: 'UTC' }, 'Could not parse timestamp: soon'],
    [
      '/convert_time',
      { timestamp: '9999-12-31T23:00Z', from_tz: 'UTC', to_tz: 'Asia/Tokyo' },
      'Invalid timestamp: date value out of range',
    ],
    ['/elapsed_time', { start: '2024-01-01', end: '2024-02-30' }, 'Could not parse timestamp: 2024-02-30'],
    ['/parse_timestamp', { timestamp: 'hello', timezone: 'UTC' }, 'Could not parse timestamp: hello'],
    ['/parse_timestamp', { timestamp: '2024-01-01', timezone: '' }, 'Invalid timezone: '],
    ['/parse_timestamp', { timestamp: '1'.repeat(201) }, 'Could not parse timestamp: more than 200 characters'],
    ['/format_time', { timezone: 'z'.repeat(5000) }, `Invalid timezone: ${'z'.repeat(100)}…`],
    ['/format_time', { format: '%c'.repeat(501) }, 'Invalid format string: more than 1000 characters'],
  ])('answers 400 at %s for %j', async (url, body, detail) => {
    expect(await post(url, body)).toEqual({ status: 400, body: { detail } });
  });

  it('answers 422 with every issue', async () => {
    expect(await post('/parse_timestamp', { timezone: 5 })).toEqual({
      status: 422,
      body: {
        detail: [
          { type: 'missing', loc: ['body', 'timestamp'], msg: 'Field required', input: { timezone: 5 } },
          { type: 'string_type', loc: ['body', 'timezone'], msg: 'Input should be a valid string', input: 5 },
        ],
      },
    });
  });

  it('answers 422 to a body that is no JSON, whatever the operation', async () => {
    for (const url of ['/format_time', '/convert_time', '/elapsed_time', '/parse_timestamp']) {
      const response = await app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: 'hello' });
      expect(response.statusCode).toBe(422);
      expect(response.json()).toEqual({
        detail: [
          { type: 'json_invalid', loc: ['body', 0], msg: 'JSON decode error', input: {}, ctx: { error: expect.stringContaining('hello') } },
        ],
      });
    }
  });

  it('answers 422 without a body, and reads a body without a type as JSON', async () => {
    expect((await app.inject({ method: 'POST', url: '/format_time' })).json()).toEqual({
      detail: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }],
    });
    const untyped = await app.inject({ method: 'POST', url: '/format_time', payload: Buffer.from('{"format":"%Y"}') });
    expect(untyped.json()).toEqual({ formatted_time: '2026' });
  });

  it.each(['/', '/nothing', '/format_time/more', '/FORMAT_TIME', '/%zz', '/..%2fopenapi.json'])('answers 404 at %s', async (url) => {
    expect(await get(url)).toEqual({ status: 404, body: { detail: 'Not Found' } });
  });

  it.each([
    ['GET', '/format_time', 'POST'],
    ['GET', '/format_time/?a=1', 'POST'],
    ['DELETE', '/parse_timestamp', 'POST'],
    ['POST', '/list_time_zones', 'GET'],
    ['OPTIONS', '/list_time_zones', 'GET'],
    ['POST', '/openapi.json', 'GET'],
  ] as const)('answers 405 to %s %s', async (method, url, allowed) => {
    const response = await app.inject({ method, url });
    expect([response.statusCode, response.json(), response.headers.allow]).toEqual([405, { detail: 'Method Not Allowed' }, allowed]);
  });

  it('takes a body of 64 KiB and none that is larger', async () => {
    const bodyOf = (bytes: number) => JSON.stringify({ format: '%Y', more: 'x'.repeat(bytes - '{"format":"%Y","more":""}'.length) });
    const send = (payload: string) =>
      app.inject({ method: 'POST', url: '/format_time', headers: { 'content-type': 'application/json' }, payload });
    expect((await send(bodyOf(65_536))).json()).toEqual({ formatted_time: '2026' });
    const tooLarge = await send(bodyOf(65_537));
    expect([tooLarge.statusCode, tooLarge.json()]).toEqual([413, { detail: 'Request body is too large' }]);
  });

  it('hides what went wrong inside', async () => {
    await using server = closing(
      createTimeServer({
        now: () => {
          throw new Error('secret');
        },
      }),
    );
    const response = await server.app.inject({ url: '/get_current_utc_time' });
    expect([response.statusCode, response.json()]).toEqual([500, { detail: 'Internal Server Error' }]);
  });

  it('does not start with a local zone that does not exist', () => {
    expect(() => createTimeServer({ localZone: 'Mars/Olympus' })).toThrow(/Mars\/Olympus is unknown/);
  });
});

describe('browsers', () => {
  const origin = 'https://chat.example';

  it('may read every answer, errors included', async () => {
    for (const url of ['/get_current_utc_time', '/openapi.json', '/nothing', '/format_time']) {
      const response = await app.inject({ url, headers: { origin } });
      expect(response.headers['access-control-allow-origin']).toBe('*');
      expect(response.headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  it('get their preflight answered', async () => {
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
      'access-control-request-private-network': 'true',
    };
    const response = await app.inject({ method: 'OPTIONS', url: '/format_time', headers });
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-allow-headers': 'authorization,content-type',
      'access-control-allow-private-network': 'true',
      'access-control-max-age': '600',
    });
  });

  it('are the only ones to get such headers', async () => {
    const response = await app.inject({ url: '/get_current_utc_time' });
    expect(Object.keys(response.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('startTimeServer', () => {
  const running: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const server of running.splice(0)) await server.close();
  });

  async function start(options: Partial<Parameters<typeof startTimeServer>[0]> = {}) {
    const server = await startTimeServer({ host: '127.0.0.1', port: 0, now: () => now, ...options });
    running.push(server);
    return server;
  }

  it('listens on a free port and tells its URL', async () => {
    const { url } = await start();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const response = await fetch(`${url}/convert_time`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ timestamp: '2024-01-01T12:00:00Z', from_tz: 'UTC', to_tz: 'Asia/Tokyo' }),
    });
    expect(await response.json()).toEqual({ converted_time: '2024-01-01T21:00:00+09:00' });
  });

  it('names an address that can be reached when it listens on all', async () => {
    const { url } = await start({ host: '0.0.0.0' });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${url}/get_current_utc_time`)).status).toBe(200);
  });

  it.each([
    ['keeps its connection', 'GET /get_current_utc_time HTTP/1.1\r\nhost: time\r\n\r\n'],
    [
      'has sent half a request',
      'GET /get_current_utc_time HTTP/1.1\r\nhost: time\r\n\r\nPOST /format_time HTTP/1.1\r\ncontent-length: 9\r\nhost: t\r\n\r\n{',
    ],
  ])(
    'closes at once although a client %s, and may be closed twice',
    async (_what, sent) => {
      const server = await start();
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.write(sent);
      await once(socket, 'data');
      await Promise.all([server.close(), once(socket, 'close')]);
      await server.close();
      await expect(fetch(server.url)).rejects.toThrow('fetch failed');
      // Node itself would wait five seconds for a connection that is kept.
    },
    4_000,
  );

  it('closes when its signal is aborted', async () => {
    const controller = new AbortController();
    const { url } = await start({ signal: controller.signal });
    controller.abort();
    await expect
      .poll(() =>
        fetch(url).then(
          () => 'open',
          () => 'closed',
        ),
      )
      .toBe('closed');
  });

  it('does not start when its signal is aborted already', async () => {
    const reason = new Error('no more');
    await expect(start({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('says so when the port is taken', async () => {
    const { url } = await start();
    await expect(start({ port: Number(new URL(url).port) })).rejects.toThrow('EADDRINUSE');
  });
});

function closing(server: FastifyInstance): AsyncDisposable & { app: FastifyInstance } {
  return { app: server, [Symbol.asyncDispose]: () => server.close() };
}
