import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chownSync, existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';

/** Where the programs of PostgreSQL are: `POSTGRES_BIN`, or where Debian puts them. */
const folder = process.env['POSTGRES_BIN'] ?? globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1);
export const missingPostgres =
  folder !== undefined && existsSync(join(folder, 'initdb')) ? undefined : 'POSTGRES_BIN names no folder with the programs of PostgreSQL';

/** PostgreSQL refuses to run as root; Debian's packages make a user for it. */
const user = process.getuid?.() === 0 ? ownerOf('postgres') : undefined;

function ownerOf(name: string): { uid: number; gid: number } | undefined {
  try {
    const idOf = (option: string): number => Number(execFileSync('id', [option, name], { encoding: 'utf8' }));
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch {
    return undefined;
  }
}

export interface PostgresServer {
  /** Of a new, empty database. */
  newDatabase(): Promise<string>;
  /** Sends a signal to the server: `SIGKILL` to the postmaster and all that it started. */
  signal(name: NodeJS.Signals): void;
  /** Starts it again after it was killed. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A server of its own on a free port, whose data nothing else uses. */
export async function startPostgres(): Promise<PostgresServer> {
  const data = mkdtempSync(join(tmpdir(), 'toolwharf-postgres-'));
  if (user !== undefined) chownSync(data, user.uid, user.gid);
  const run = (program: string, args: readonly string[]): ChildProcess =>
    spawn(join(folder ?? '', program), args, { ...user, cwd: data, stdio: 'ignore', detached: true });
  const [code] = (await once(run('initdb', ['-D', data, '-U', 'toolwharf', '--auth=trust', '--no-sync', '-E', 'UTF8']), 'exit')) as [
    number,
  ];
  if (code !== 0) throw new Error('initdb failed');
  const port = await freePort();
  const admin = `postgres://toolwharf@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | undefined;
  let databases = 0;

  async function start(): Promise<void> {
    server = run('postgres', ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', data]);
    for (;;) {
      const client = new Client({ connectionString: admin });
      client.on('error', () => undefined);
      try {
        await client.connect();
        await client.end();
        return;
      } catch {
        await sleep(50);
      }
    }
  }

  const signal = (name: NodeJS.Signals): void => {
    if (server?.pid !== undefined && server.exitCode === null && server.signalCode === null) process.kill(-server.pid, name);
  };

  await start();
  return {
    start,
    signal,
    async newDatabase() {
      const name = `test_${(databases += 1)}`;
      const client = new Client({ connectionString: admin });
      await client.connect();
      await client.query(`CREATE DATABASE ${name}`);
      await client.end();
      return `postgres://toolwharf@127.0.0.1:${port}/${name}`;
    },
    async stop() {
      const ended = server === undefined || server.exitCode !== null || server.signalCode !== null ? undefined : once(server, 'exit');
      signal('SIGCONT');
      signal('SIGINT');
      await ended;
      rmSync(data, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
