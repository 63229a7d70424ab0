import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { routeRoles } from '../../../src/http/auth/route-roles.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { adminKey, callTool, connect, freePort, mcpStatus, programScene, refresh } from './program-fixture.ts';

const folderOf = temporaryFolders();

describe('the token of a program', () => {
  it('opens /mcp and no other route, in whatever way it is sent', async () => {
    const scene = await programScene();
    const { access_token: token } = await connect(scene, adminKey);
    expect(await mcpStatus(scene, token)).toBe(200);
    const routes = Object.entries(routeRoles).filter(
      ([route, access]) => !['public', 'socket'].includes(access) && !route.endsWith(' /mcp'),
    );
    expect(routes.length).toBeGreaterThan(80);
    for (const [route] of routes) {
      const [method = '', path = ''] = route.split(' ');
      const sent = await scene.app.server.inject({
        method: method as 'GET',
        url: path.replaceAll(/:\w+/g, 'x').replace('*', 'x'),
        headers: { authorization: `Bearer ${token}`, host: new URL(scene.url).host },
      });
      expect([route, sent.statusCode]).toEqual([route, 401]);
    }
    expect((await fetch(`${scene.url}/mcp`, { method: 'POST', headers: { 'x-api-key': token } })).status).toBe(401);
    const basic = Buffer.from(`x:${token}`).toString('base64');
    expect((await fetch(`${scene.url}/mcp`, { method: 'POST', headers: { authorization: `Basic ${basic}` } })).status).toBe(401);
  });

  it('has the tools of the key as they are now', async () => {
    const scene = await programScene();
    const { id, key } = await scene.keyFor();
    const { access_token: token } = await connect(scene, key);
    expect(await callTool(scene, token)).toContain('12:00');
    await scene.call(`PATCH /api/keys/${id}`, adminKey, { tools: ['server:clocks/ring'] });
    expect(await callTool(scene, token)).toContain('There is no tool');
    await scene.call(`PATCH /api/keys/${id}`, adminKey, { tools: null });
    expect(await callTool(scene, token)).toContain('12:00');
  });

  it('has the limits of the key, which it shares', async () => {
    const scene = await programScene();
    const { id, key } = await scene.keyFor();
    const { access_token: token } = await connect(scene, key);
    expect(await callTool(scene, token)).toContain('12:00');
    await scene.call(`PATCH /api/keys/${id}`, adminKey, { limits: { requests_per_minute: 1 } });
    expect(await callTool(scene, key)).toContain('12:00');
    expect(await callTool(scene, token)).toContain('rate_limit_exceeded');
  });

  it.each([
    ['is deleted', 'DELETE', undefined],
    ['expires', 'PATCH', { expires_at: '2020-01-01' }],
    ['comes to speak for several people', 'PATCH', { users: { from: 'header', name: 'x-user' } }],
  ])('ends when its key %s', async (_what, method, change) => {
    const scene = await programScene();
    const { id, key } = await scene.keyFor();
    const tokens = await connect(scene, key);
    expect(await mcpStatus(scene, tokens.access_token)).toBe(200);
    expect((await scene.call(`${method} /api/keys/${id}`, adminKey, change)).status).toBe(200);
    expect(await mcpStatus(scene, tokens.access_token)).toBe(401);
    expect((await refresh(scene, tokens)).body).toMatchObject({ error: 'invalid_grant' });
  });

  it('ends after an hour', async () => {
    const scene = await programScene();
    const { access_token: token } = await connect(scene, adminKey);
    scene.clock.aheadMs = 59 * 60_000;
    expect(await mcpStatus(scene, token)).toBe(200);
    scene.clock.aheadMs = 61 * 60_000;
    expect(await mcpStatus(scene, token)).toBe(401);
  });

  it('is in no line of the log', async () => {
    const scene = await programScene();
    const tokens = await connect(scene, adminKey);
    const log = scene.app.logLines.join('');
    expect(log).toContain('program allowed');
    for (const secret of [tokens.access_token, tokens.refresh_token, adminKey]) expect(log).not.toContain(secret);
  });

  it('outlives a restart, but not a change of TOOLWHARF_ADMIN_KEY', async () => {
    const file = join(folderOf(), 'toolwharf.db');
    const port = await freePort();
    const first = await programScene({ file, port });
    const tokens = await connect(first, adminKey);
    await first.close();
    const second = await programScene({ file, port });
    expect(await mcpStatus(second, tokens.access_token)).toBe(200);
    await second.close();
    const third = await programScene({ file, port, environment: { TOOLWHARF_ADMIN_KEY: 'sk-tw-another-administrator' } });
    expect(await mcpStatus(third, tokens.access_token)).toBe(401);
    expect((await refresh(third, tokens)).body).toMatchObject({ error: 'invalid_grant' });
  });
});
