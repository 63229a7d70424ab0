import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { HTTPMethods } from 'fastify';
import { afterAll, expect, it } from 'vitest';
import { routeRoles } from '../../../src/http/auth/route-roles.ts';
import { listen, testApp } from '../../_support/build-app.ts';

const missing = 'Bearer realm="toolwharf"';
const refused = `${missing}, error="invalid_token"`;

const app = await testApp({ TOOLWHARF_ADMIN_KEY: 'sk-test', METRICS_KEY: 'metrics-key-of-the-test' });
afterAll(() => app.close());

const keyed = Object.entries(routeRoles).filter(([, access]) => access !== 'public' && access !== 'socket');

it.each(keyed.map(([route]) => route))('%s names the authentication scheme in a 401', async (route) => {
  const [method, path] = route.split(' ') as [HTTPMethods, string];
  const url = path.replaceAll(/:\w+|\*/g, 'x');
  const challengeOf = async (headers: Record<string, string>): Promise<unknown> => {
    const answer = await app.server.inject({ method: method as 'GET', url, headers: { host: '127.0.0.1', ...headers } });
    return [answer.statusCode, answer.headers['www-authenticate']];
  };
  expect(await challengeOf({})).toEqual([401, missing]);
  expect(await challengeOf({ authorization: 'Bearer wrong' })).toEqual([401, refused]);
  expect(await challengeOf({ 'x-api-key': 'wrong' })).toEqual([401, refused]);
});

it('a refused upgrade to a websocket names the authentication scheme', async () => {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
    authorization: 'Bearer wrong',
  };
  const [answer] = (await once(get(`${await listen(app)}/ws`, { headers }), 'response')) as [IncomingMessage];
  answer.resume();
  expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([401, refused]);
});

it('other refusals have no challenge', async () => {
  const answer = await app.server.inject({ url: '/nowhere', headers: { host: '127.0.0.1', authorization: 'Bearer wrong' } });
  expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([404, undefined]);
});
