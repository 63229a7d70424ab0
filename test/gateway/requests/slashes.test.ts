import { expect, it } from 'vitest';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { says, ScriptedModel } from '../../_support/scripted-model.ts';

const adminKey = 'sk-tw-fixed-administrator';
const chat = { model: 'model', messages: [{ role: 'user', content: 'Hi' }] };
const headers = { host: '127.0.0.1:8080', 'content-type': 'application/json' };

it.each(['/v1/chat/completions/', '//v1/chat/completions', '/v1//chat/completions', '/api/chat/completions//'])(
  'a chat is understood at %s',
  async (url) => {
    await using app = await testApp({}, { backends: [backendOf(new ScriptedModel(says('Hello.')))] });
    const answer = await app.server.inject({ method: 'POST', url, headers, payload: chat });
    expect(answer.json()).toMatchObject({ choices: [{ message: { content: 'Hello.' } }] });
  },
);

it('an id keeps its own slashes', async () => {
  await using app = await testApp({}, { backends: [backendOf(new ScriptedModel(), ['org/model'])] });
  const answer = await app.server.inject({ method: 'GET', url: '/v1/models/org/model/', headers });
  expect(answer.json()).toMatchObject({ id: 'org/model' });
});

it('another method says which are possible', async () => {
  await using app = await testApp({}, { backends: [] });
  const answer = await app.server.inject({ method: 'DELETE', url: '//v1/models/', headers });
  expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET']);
});

it('a limited key is limited at every spelling', async () => {
  const turns = Array.from({ length: 4 }, () => says('Hello.'));
  await using app = await testApp({ TOOLWHARF_ADMIN_KEY: adminKey }, { backends: [backendOf(new ScriptedModel(...turns))] });
  const admin = { ...headers, authorization: `Bearer ${adminKey}` };
  const made = await app.server.inject({
    method: 'POST',
    url: '/api/keys',
    headers: admin,
    payload: { name: 'ada', role: 'user', limits: { requests_per_minute: 2 } },
  });
  const own = { ...headers, authorization: `Bearer ${made.json<{ key: string }>().key}` };
  const statuses: number[] = [];
  for (const url of ['/v1/chat/completions', '/v1/chat/completions/', '//v1//chat/completions'])
    statuses.push((await app.server.inject({ method: 'POST', url, headers: own, payload: chat })).statusCode);
  expect(statuses).toEqual([200, 200, 429]);
});

it('a page of another site may change nothing in open mode at any spelling', async () => {
  await using app = await testApp({}, { backends: [] });
  const foreign = { ...headers, origin: 'https://evil.example' };
  for (const url of ['/v1/chat/completions', '/v1/chat/completions/', '//v1/chat/completions'])
    expect((await app.server.inject({ method: 'POST', url, headers: foreign, payload: chat })).statusCode).toBe(403);
});

it('a socket opens at /ws/ too, and asks for its key there', async () => {
  await using app = await testApp({ TOOLWHARF_ADMIN_KEY: adminKey }, { backends: [] });
  const url = `${await listen(app)}/ws/`;
  const refused = await connectFakeBrowser({ url, headers: { authorization: 'Bearer sk-tw-wrong' } }).catch(
    (error: Error) => error.message,
  );
  expect(refused).toBe('HTTP 401');
  const browser = await connectFakeBrowser({ url, token: adminKey });
  expect(browser.sessionId()).toMatch(/\w/);
  browser.terminate();
});
