import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { OutboundError } from '../../../src/core/errors.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';
import { neverAnswers } from '../../tools/scripted-send.ts';
import { adminApp, reachableServers } from '../tool-servers/tool-server-fixture.ts';

const maps = toolServerRecord({ id: 'maps', url: 'http://maps.test' });
const clock = toolServerRecord({ id: 'clock', url: 'http://clock.test' });
const off = toolServerRecord({ id: 'off', url: 'http://off.test', isEnabled: false });
const gone = toolServerRecord({ id: 'gone', url: 'http://gone.test' });

describe('the list of functions', () => {
  it('comes whole, or in pages that hold each function once', async () => {
    await using app = await adminApp({ stored: [maps, clock] });
    const whole = (await app.ask('GET', '/api/tools')).body;
    const ids = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id);
    const count = ids(whole).length;
    expect(count).toBeGreaterThan(2);
    expect(whole.next).toBeNull();
    const paged: string[] = [];
    let after = '';
    for (let pages = 0; pages === 0 || after !== ''; pages += 1) {
      const { body } = await app.ask('GET', `/api/tools?limit=2${after && `&after=${encodeURIComponent(after)}`}`);
      expect(body.data.length).toBeLessThanOrEqual(2);
      paged.push(...ids(body));
      after = body.next ?? '';
    }
    expect(paged).toEqual(ids(whole));
    expect((await app.ask('GET', `/api/tools?limit=${count}`)).body.next).toBeNull();
  });

  it.each(['limit=0', 'limit=many', 'after=maps/gone'])('refuses ?%s', async (query) => {
    await using app = await adminApp({ stored: [maps] });
    const { status, body } = await app.ask('GET', `/api/tools?${query}`);
    expect([status, body.error.code, body.error.param]).toEqual([400, 'invalid_request', query.split('=')[0]]);
  });
});

describe('calling a function', () => {
  it.each(['maps/route', 'server:maps/route', 'maps%2Froute', 'route'])('by %s gives its result', async (name) => {
    await using app = await adminApp({ stored: [maps, clock] });
    const { status, body } = await app.ask('POST', `/api/tools/${name}/invoke`, { arguments: { city: 'Oslo' } });
    expect([status, body]).toEqual([200, { id: 'maps/route', tool: 'route', result: { way: 'north' }, duration_ms: expect.any(Number) }]);
    expect(app.script.requests.at(-1)?.url).toBe('http://maps.test/route?city=Oslo');
  });

  it('needs no arguments where the function needs none', async () => {
    await using app = await adminApp({ stored: [maps] });
    expect((await app.ask('POST', '/api/tools/route/invoke', {})).body.result).toEqual({ way: 'north' });
  });

  it.each<[string, object, number, object]>([
    ['maps/route', { arguments: { city: { a: 1 } } }, 400, { error: { code: 'args_invalid', param: 'arguments' } }],
    ['maps/route', { arguments: 'city' }, 400, { error: { code: 'invalid_request', param: 'arguments' } }],
    ['maps/route', { arguments: ['Oslo'] }, 400, { error: { code: 'invalid_request', param: 'arguments' } }],
    ['maps/route', { city: 'Oslo' }, 400, { error: { code: 'invalid_request', param: 'arguments' } }],
    ['maps/route', { arguments: null }, 200, { result: { way: 'north' } }],
    ['maps/place', {}, 200, { id: 'maps/place', tool: 'place', error: { code: 'tool_error', message: expect.stringContaining('404') } }],
    ['gone/any', {}, 200, { id: 'gone/any', tool: 'any', error: { code: 'tool_error', message: expect.stringContaining('cannot') } }],
    ['off/any', {}, 200, { error: { code: 'tool_disabled' } }],
    ['maps/rout', {}, 404, { error: { code: 'not_found' } }],
    ['rout', {}, 404, { error: { code: 'not_found' } }],
    ['nowhere/route', {}, 404, { error: { code: 'not_found' } }],
  ])('%s with %j answers %i', async (name, given, status, expected) => {
    const script = reachableServers();
    script.answers.set('http://gone.test/openapi.json', new OutboundError('unreachable', 'it cannot be reached'));
    await using app = await adminApp({ stored: [maps, clock, off, gone], script });
    const answer = await app.ask('POST', `/api/tools/${name}/invoke`, given);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject(expected);
  });

  it('gives the files of its result, and a note in their place [S4-34]', async () => {
    await using app = await adminApp({ stored: [maps] });
    const url = `data:image/png;base64,${'A'.repeat(2_000_000)}`;
    app.script.answers.set('http://maps.test/route', { way: 'north', map: { drawn: [url] } });
    const { body } = await app.ask('POST', '/api/tools/route/invoke', {});
    expect(body.result).toEqual({ way: 'north', map: { drawn: ['[file 1: image/png, 1465 kB, not shown here]'] } });
    expect(body['files']).toEqual([{ type: 'image/png', size_bytes: 1_500_000, url }]);
  });

  it('tells a limited key nothing of the others', async () => {
    const caller = { id: 'k', role: 'user', isOpen: false, tools: ['server:maps/route'] } as const;
    await using app = await adminApp({ stored: [maps, clock], caller });
    const statusOf = async (name: string): Promise<number> => (await app.ask('POST', `/api/tools/${name}/invoke`, {})).status;
    expect(await Promise.all(['maps/route', 'maps/place', 'clock/now', 'nowhere/now', 'now'].map(statusOf))).toEqual([
      200, 403, 403, 403, 404,
    ]);
  });

  it('stops waiting for a tool that takes too long', async () => {
    await using app = await adminApp({ stored: [maps], toolTimeoutMs: 30 });
    app.script.answers.set('http://maps.test/route', neverAnswers);
    expect((await app.ask('POST', '/api/tools/maps/route/invoke', {})).body.error).toEqual({
      code: 'tool_timeout',
      message: "Tool 'route' timed out after 0.03s",
    });
  });

  it('ends when the caller leaves', async () => {
    await using app = await adminApp({ stored: [maps] });
    const asked = Promise.withResolvers<AbortSignal>();
    app.script.answers.set('http://maps.test/route', (request) => {
      asked.resolve(request.signal);
      return neverAnswers(request);
    });
    const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
    const leave = new AbortController();
    const call = fetch(`${url}/api/tools/maps/route/invoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
      signal: leave.signal,
    }).catch(() => 'left');
    const signal = await asked.promise;
    leave.abort();
    expect(await call).toBe('left');
    for (let waited = 0; !signal.aborted && waited < 1_000; waited += 10) await sleep(10);
    expect(signal.aborted).toBe(true);
  });
});

it('other paths below the tools are not there, and nothing starts while the gateway drains', async () => {
  await using app = await adminApp({ stored: [maps], isDraining: true });
  expect((await app.ask('POST', '/api/tools/maps/route', {})).status).toBe(404);
  expect((await app.ask('POST', '/api/tools/maps/route/invoke', {})).body.error.code).toBe('server_shutting_down');
});
