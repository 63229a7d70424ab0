import { expect, it } from 'vitest';
import { testApp } from '../../_support/build-app.ts';

const adminKey = 'sk-of-an-administrator-0123456789';
const chat = (title: string, more: object = {}) => ({ title, updated: 1_000, messages: { a: { role: 'user', text: 'Hello' } }, ...more });

async function appWithPeople() {
  const app = await testApp({ CONSOLE_CHATS: 'true', TOOLWHARF_ADMIN_KEY: adminKey });
  const admin = { authorization: `Bearer ${adminKey}` };
  const keyOf = async (name: string) => {
    const made = await app.server.inject({ method: 'POST', url: '/api/keys', headers: admin, payload: { name, role: 'user' } });
    const { key } = made.json<{ key: string }>();
    const headers = { authorization: `Bearer ${key}` };
    const call = async (method: 'GET' | 'PUT' | 'DELETE', path = '', payload?: object) => {
      const answer = await app.server.inject({ method, url: `/api/console/chats${path}`, headers, ...(payload && { payload }) });
      return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
    };
    return { call };
  };
  return { app, keyOf };
}

it('stores chats of the console for each caller alone, and lists the newest first', async () => {
  const { app, keyOf } = await appWithPeople();
  await using _ = app;
  const [ada, bob] = [await keyOf('ada'), await keyOf('bob')];
  expect(await ada.call('PUT', '/one', { chat: chat('First') })).toEqual({ status: 200, body: { id: 'one', revision: 1 } });
  await ada.call('PUT', '/two', { chat: chat('Second', { updated: 2_000, isPinned: true }) });
  expect((await ada.call('GET')).body).toEqual({
    is_stored: true,
    owner: expect.any(String),
    data: [
      { id: 'two', title: 'Second', updated: 2_000, is_pinned: true, revision: 1 },
      { id: 'one', title: 'First', updated: 1_000, is_pinned: false, revision: 1 },
    ],
  });
  expect((await ada.call('GET', '/one')).body).toEqual({ id: 'one', revision: 1, chat: { id: 'one', ...chat('First') } });
  expect((await bob.call('GET')).body).toEqual({ is_stored: true, owner: expect.any(String), data: [] });
  expect((await bob.call('GET', '/one')).status).toBe(404);
  expect((await bob.call('DELETE', '/one')).status).toBe(404);
  expect((await bob.call('PUT', '/one', { chat: chat('Mine') })).body).toEqual({ id: 'one', revision: 1 });
  expect((await ada.call('GET', '/export')).body).toEqual({
    chats: [
      { id: 'two', ...chat('Second', { updated: 2_000, isPinned: true }) },
      { id: 'one', ...chat('First') },
    ],
  });
  expect((await ada.call('DELETE', '/one')).body).toEqual({ id: 'one', deleted: true });
  expect((await ada.call('GET', '/one')).status).toBe(404);
  expect((await bob.call('GET', '/one')).status).toBe(200);
});

it('refuses a change that does not build on the last one, and loses none that come together', async () => {
  const { app, keyOf } = await appWithPeople();
  await using _ = app;
  const ada = await keyOf('ada');
  await ada.call('PUT', '/one', { chat: chat('First') });
  expect((await ada.call('PUT', '/one', { chat: chat('Again') })).status).toBe(409);
  expect((await ada.call('PUT', '/one', { chat: chat('Second'), revision: 1 })).body).toEqual({ id: 'one', revision: 2 });
  expect((await ada.call('PUT', '/one', { chat: chat('Third'), revision: 1 })).status).toBe(409);
  expect((await ada.call('PUT', '/gone', { chat: chat('Gone'), revision: 1 })).status).toBe(409);
  const ids = Array.from({ length: 12 }, (_unused, index) => `/chat-${index}`);
  await Promise.all(ids.map((id) => ada.call('PUT', id, { chat: chat(id) })));
  expect((await ada.call('GET')).body['data']).toHaveLength(13);
  expect(
    (await ada.call('PUT', '/large', { chat: chat('Large', { messages: { a: { role: 'user', text: 'x'.repeat(4_300_000) } } }) })).status,
  ).toBe(413);
  expect((await ada.call('PUT', '/bad', { chat: { title: 'Without messages', updated: 1 } })).status).toBe(400);
});

it('stores nothing unless CONSOLE_CHATS is set', async () => {
  await using app = await testApp({});
  const headers = { authorization: `Bearer ${app.startKey ?? ''}` };
  const list = await app.server.inject({ method: 'GET', url: '/api/console/chats', headers });
  expect(list.json()).toEqual({ is_stored: false, owner: expect.any(String), data: [] });
  const put = await app.server.inject({ method: 'PUT', url: '/api/console/chats/one', headers, payload: { chat: chat('First') } });
  expect([put.statusCode, put.json<{ error: { message: string } }>().error.message]).toEqual([
    404,
    expect.stringContaining('CONSOLE_CHATS=true'),
  ]);
});
