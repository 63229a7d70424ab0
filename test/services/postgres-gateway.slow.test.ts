import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeUnless } from '../_support/missing.ts';
import { missingPostgres, startPostgres, type PostgresServer } from '../_support/postgres-server.ts';
import { program } from '../_support/program.ts';

const adminKey = 'sk-tw-administrator-0000';
const secret = 'a-secret-of-tests-0123456789';

interface Gateway {
  ask(method: string, path: string, body?: object, key?: string): Promise<{ status: number; body: Record<string, unknown> }>;
  process: ChildProcess;
  /** All that it has printed. */
  printed(): string;
}

describeUnless(missingPostgres, 'a gateway on PostgreSQL', () => {
  let server: PostgresServer;
  const running: ChildProcess[] = [];
  const folders: string[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterEach(async () => {
    for (const child of running.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  afterAll(() => server.stop());

  async function launch(url: string, environment: NodeJS.ProcessEnv = {}): Promise<{ child: ChildProcess; printed: () => string }> {
    const folder = await mkdtemp(join(tmpdir(), 'toolwharf-'));
    folders.push(folder);
    const child = spawn(process.execPath, [program], {
      cwd: folder,
      env: {
        ...process.env,
        PORT: '0',
        DATABASE_URL: url,
        TOOLWHARF_SECRET: secret,
        TOOLWHARF_ADMIN_KEY: adminKey,
        TOOLWHARF_DATA_DIR: join(folder, 'data'),
        TOOLWHARF_DEMO: 'true',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.push(child);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (part: string) => (text += part));
    return { child, printed: () => text };
  }

  async function start(url: string, environment: NodeJS.ProcessEnv = {}): Promise<Gateway> {
    const { child, printed } = await launch(url, environment);
    await expect.poll(printed).toMatch(/listens on (http:\/\/[\d.:]+)/);
    const address = /listens on (http:\/\/[\d.:]+)/.exec(printed())?.[1] ?? '';
    return {
      process: child,
      printed,
      async ask(method, path, body, key = adminKey) {
        const answer = await fetch(`${address}${path}`, {
          method,
          headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
          ...(body && { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        return { status: answer.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
      },
    };
  }

  const chat = { model: 'demo', messages: [{ role: 'user', content: 'What time is it in Tokyo?' }], store: true };

  it('keeps what it has acknowledged when it is killed, and refuses a second gateway meanwhile', async () => {
    const url = await server.newDatabase();
    const first = await start(url, { STORE_CHATS: 'true' });
    const { body: made } = await first.ask('POST', '/api/keys', { name: 'ada', role: 'user' });
    const key = String(made['key']);
    expect(await first.ask('POST', '/api/presets', { id: 'clerk', base_model: 'demo' })).toMatchObject({ status: 201 });
    const answered = await first.ask('POST', '/v1/chat/completions', chat, key);
    expect(answered).toMatchObject({ status: 200 });
    const second = await launch(url);
    await once(second.child, 'exit');
    expect(second.printed()).toContain('Another toolwharf uses the database');
    first.process.kill('SIGKILL');
    await once(first.process, 'exit');

    const again = await start(url, { STORE_CHATS: 'true' });
    expect((await again.ask('GET', '/api/presets')).body).toMatchObject({ data: [{ id: 'clerk' }] });
    expect(await again.ask('GET', `/v1/chat/completions/${String(answered.body['id'])}`, undefined, key)).toMatchObject({ status: 200 });
    expect(await again.ask('POST', '/v1/chat/completions', chat, key)).toMatchObject({ status: 200 });
  });

  it('goes on with known keys and presets while PostgreSQL is gone, refuses changes, and is whole again by itself', async () => {
    const gateway = await start(await server.newDatabase());
    const { body: made } = await gateway.ask('POST', '/api/keys', { name: 'ada', role: 'user' });
    const key = String(made['key']);
    await gateway.ask('POST', '/api/presets', { id: 'clerk', base_model: 'demo' });
    const ask = (model: string) => gateway.ask('POST', '/v1/chat/completions', { ...chat, store: false, model }, key);
    expect(await ask('clerk')).toMatchObject({ status: 200 });
    server.signal('SIGKILL');
    await expect.poll(() => gateway.ask('GET', '/ready')).toMatchObject({ status: 503, body: { reason: 'storage' } });
    expect(await ask('clerk')).toMatchObject({ status: 200 });
    expect(await gateway.ask('POST', '/api/presets', { id: 'other', base_model: 'demo' })).toMatchObject({ status: 503 });
    await server.start();
    await expect.poll(() => gateway.ask('GET', '/ready')).toMatchObject({ status: 200 });
    expect(await gateway.ask('POST', '/api/presets', { id: 'other', base_model: 'demo' })).toMatchObject({ status: 201 });
  });

  it('refuses a database that was encrypted with another secret, and a start without one', async () => {
    const url = await server.newDatabase();
    const first = await start(url);
    first.process.kill('SIGTERM');
    await once(first.process, 'exit');
    const other = await launch(url, { TOOLWHARF_SECRET: 'another-secret-of-tests-01' });
    await once(other.child, 'exit');
    expect(other.printed()).toContain('encrypted with another TOOLWHARF_SECRET');
    const none = await launch(url, { TOOLWHARF_SECRET: '' });
    await once(none.child, 'exit');
    expect(none.printed()).toContain('TOOLWHARF_SECRET: is required with PostgreSQL');
  });

  it('moves in from a file with all that it has, and back; a copy never replaces data', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolwharf-'));
    folders.push(folder);
    const file = `sqlite:${join(folder, 'toolwharf.db')}`;
    const before = await start(file, { STORE_CHATS: 'true' });
    const { body: made } = await before.ask('POST', '/api/keys', { name: 'ada', role: 'user' });
    const key = String(made['key']);
    await before.ask('POST', '/api/presets', { id: 'clerk', base_model: 'demo' });
    const answered = await before.ask('POST', '/v1/chat/completions', chat, key);
    const url = await server.newDatabase();
    const copy = async (from: string, to: string): Promise<string> => {
      const child = spawn(process.execPath, [program, 'copy-database', from, to], {
        cwd: folder,
        env: { ...process.env, TOOLWHARF_SECRET: secret },
      });
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part: string) => (text += part));
      await once(child, 'close');
      return text;
    };
    expect(await copy(file, url)).toContain('Another toolwharf serves from the database');
    before.process.kill('SIGTERM');
    await once(before.process, 'exit');
    expect(await copy(file, url)).toMatch(/keys +1\n[^]*presets +1\n[^]*chats +1\n[^]*Copied/);
    expect(await copy(file, url)).toContain('has data already');

    const after = await start(url, { STORE_CHATS: 'true' });
    expect(await after.ask('GET', `/v1/chat/completions/${String(answered.body['id'])}`, undefined, key)).toMatchObject({ status: 200 });
    expect((await after.ask('GET', '/api/presets')).body).toMatchObject({ data: [{ id: 'clerk' }] });
    expect(await after.ask('POST', '/v1/chat/completions', chat, key)).toMatchObject({ status: 200 });
    after.process.kill('SIGTERM');
    await once(after.process, 'exit');
    expect(await copy(url, `sqlite:${join(folder, 'again.db')}`)).toMatch(/chats +2\n[^]*Copied/);
  });
});
