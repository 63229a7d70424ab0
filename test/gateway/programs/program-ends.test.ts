import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { answerChecker } from '../../_support/check-answers.ts';
import { adminKey, answers, connect, mcpStatus, programScene, refresh } from './program-fixture.ts';
import type { ProgramScene } from './program-fixture.ts';
import { neverAnswers, scriptedSend } from '../../tools/scripted-send.ts';

interface Listed extends JsonObject {
  id: string;
  client_id: string;
  last_used: string | null;
  authorizations: { caller: string; last_used: string | null }[];
}

async function listed(scene: ProgramScene, key: string): Promise<Listed[]> {
  return (await scene.call('GET /api/clients', key)).body['data'] as unknown as Listed[];
}

/** A stream of changes, and its end. */
async function openStream(scene: ProgramScene, token: string): Promise<{ ended: Promise<'ended'> }> {
  const response = await fetch(`${scene.url}/mcp`, { headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' } });
  expect(response.status).toBe(200);
  const reader = response.body?.getReader();
  await reader?.read();
  const drain = async (): Promise<'ended'> => {
    try {
      while ((await reader?.read())?.done === false);
    } catch {
      // Cut.
    }
    return 'ended';
  };
  return { ended: drain() };
}

describe('the list of programs', () => {
  it('shows each caller their own, and administrators everything', async () => {
    const scene = await programScene();
    const [ada, bob] = [await scene.keyFor(), await scene.keyFor({ name: 'bob' })];
    const { client_id: waiting } = await scene.register({ client_name: 'Nobody yet' });
    const tokens = await connect(scene, ada.key);
    const [own, ...others] = await listed(scene, ada.key);
    expect([own, others]).toEqual([
      {
        id: expect.any(String),
        client_id: tokens.client_id,
        name: 'A program',
        redirect_hosts: ['http://127.0.0.1'],
        last_used: null,
        authorizations: [{ caller: ada.id, created: expect.any(String), last_used: null, expires: expect.any(String) }],
      },
      [],
    ]);
    expect(await listed(scene, bob.key)).toEqual([]);
    const all = await listed(scene, adminKey);
    expect(all.map(({ client_id: id, authorizations }) => [id, authorizations.length])).toEqual([
      [tokens.client_id, 1],
      [waiting, 0],
    ]);
    const document = (await (await fetch(`${scene.url}/openapi.json`)).json()) as JsonObject;
    const check = answerChecker(document);
    const given = { statusCode: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ data: all }) };
    expect(check('GET /api/clients', given)).toEqual([]);
  });

  it('tells when a program was used last', async () => {
    const scene = await programScene();
    const tokens = await connect(scene, adminKey);
    await mcpStatus(scene, tokens.access_token);
    await expect.poll(async () => (await listed(scene, adminKey))[0]?.last_used).toEqual(expect.any(String));
    expect((await listed(scene, adminKey))[0]?.authorizations[0]?.last_used).toEqual(expect.any(String));
  });

  it('lets nobody end what is not theirs', async () => {
    const scene = await programScene();
    const [ada, bob] = [await scene.keyFor(), await scene.keyFor({ name: 'bob' })];
    const tokens = await connect(scene, ada.key);
    const id = (await listed(scene, ada.key))[0]?.id ?? '';
    expect((await scene.call(`DELETE /api/clients/${id}`, bob.key)).status).toBe(404);
    expect(await mcpStatus(scene, tokens.access_token)).toBe(200);
  });

  it('ends only their own access for users, and that of everybody for administrators', async () => {
    const scene = await programScene();
    const [ada, bob] = [await scene.keyFor(), await scene.keyFor({ name: 'bob' })];
    const first = await connect(scene, ada.key);
    const second = await connect(scene, bob.key, first.client_id);
    const id = (await listed(scene, ada.key))[0]?.id ?? '';
    expect((await scene.call(`DELETE /api/clients/${id}`, ada.key)).body).toEqual({ id, deleted: true });
    expect([await mcpStatus(scene, first.access_token), await mcpStatus(scene, second.access_token)]).toEqual([401, 200]);
    expect((await refresh(scene, first)).body).toMatchObject({ error: 'invalid_grant' });
    expect((await scene.call(`DELETE /api/clients/${id}`, adminKey)).status).toBe(200);
    expect(await mcpStatus(scene, second.access_token)).toBe(401);
    expect(await listed(scene, adminKey)).toEqual([]);
    expect((await refresh(scene, second)).body).toMatchObject({ error: 'invalid_client' });
  });
});

describe('the end of a program', () => {
  const ends: [string, (scene: ProgramScene, tokens: Awaited<ReturnType<typeof connect>>, id: string) => Promise<unknown>][] = [
    [
      'by the list',
      async (scene, { client_id: client }) => {
        const found = (await listed(scene, adminKey)).find(({ client_id: id }) => id === client);
        return scene.call(`DELETE /api/clients/${found?.id}`, adminKey);
      },
    ],
    [
      'by the program, with its access token',
      (scene, { access_token: token, client_id }) => scene.post('/oauth/revoke', { token, client_id }),
    ],
    [
      'by the program, with its refresh token',
      (scene, { refresh_token: token, client_id }) => scene.post('/oauth/revoke', { token, client_id, token_type_hint: 'refresh_token' }),
    ],
    ['with its key', (scene, _tokens, id) => scene.call(`DELETE /api/keys/${id}`, adminKey)],
    [
      'by a second use of a refresh token',
      async (scene, tokens) => {
        await refresh(scene, tokens);
        await refresh(scene, tokens);
      },
    ],
  ];

  it.each(ends)('%s ends its tokens and streams at once', async (_how, end) => {
    const scene = await programScene();
    const { id, key } = await scene.keyFor();
    const tokens = await connect(scene, key);
    const other = await connect(scene, adminKey);
    const stream = await openStream(scene, tokens.access_token);
    const otherStream = await openStream(scene, other.access_token);
    await end(scene, tokens, id);
    expect(await stream.ended).toBe('ended');
    expect(await mcpStatus(scene, tokens.access_token)).toBe(401);
    expect(['invalid_grant', 'invalid_client']).toContain((await refresh(scene, tokens)).body['error']);
    expect(await mcpStatus(scene, other.access_token)).toBe(200);
    expect(await Promise.race([otherStream.ended, Promise.resolve('open')])).toBe('open');
  });

  it('aborts its running calls', async () => {
    const aborted = Promise.withResolvers<string>();
    const { send } = scriptedSend({
      ...answers,
      'http://clocks.test/time': (request) => {
        request.signal.addEventListener('abort', () => aborted.resolve('aborted'), { once: true });
        started.resolve();
        return neverAnswers(request);
      },
    });
    const started = Promise.withResolvers<void>();
    const scene = await programScene({ send });
    const tokens = await connect(scene, adminKey);
    const payload = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_time', arguments: {} } };
    const calling = scene.call('POST /mcp', tokens.access_token, payload).catch(() => 'cut');
    await started.promise;
    await scene.post('/oauth/revoke', { token: tokens.access_token, client_id: tokens.client_id });
    expect(await aborted.promise).toBe('aborted');
    expect(await calling).toBe('cut');
  });

  it('is not for other programs to decide', async () => {
    const scene = await programScene();
    const tokens = await connect(scene, adminKey);
    const { client_id: other } = await scene.register();
    await scene.post('/oauth/revoke', { token: tokens.access_token, client_id: other });
    expect(await mcpStatus(scene, tokens.access_token)).toBe(200);
  });
});

it('a program that is disconnected while the body of its request arrives has nothing of it run', async () => {
  const scene = await programScene();
  const tokens = await connect(scene, adminKey);
  const { hostname, port } = new URL(scene.url);
  const socket = connectSocket(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const closed = once(socket, 'close');
  socket.on('error', () => undefined);
  socket.write(
    `POST /mcp HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${tokens.access_token}\r\ncontent-type: application/json\r\n` +
      'accept: application/json, text/event-stream\r\ncontent-length: 1000\r\n\r\n{',
  );
  await expect.poll(async () => (await listed(scene, adminKey))[0]?.last_used).not.toBeNull();
  const [program] = await listed(scene, adminKey);
  expect(await scene.call(`DELETE /api/clients/${program?.id ?? ''}`, adminKey)).toMatchObject({ status: 200 });
  await closed;
});
