import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { isJsonObject } from '../../shared/json/json.ts';
import { broken, note, ok, warning } from './finding.ts';
import type { Finding } from '../../core/finding.ts';

/** The major version of Node.js that the tests run on. */
const testedNode = 24;

export function examineNode(version: string): Finding {
  if (Number(version.split('.')[0]) >= testedNode) return ok(`Node.js ${version}`);
  return note(`Node.js ${version} runs toolwharf, which is tested on Node.js ${testedNode}`, `Install Node.js ${testedNode}.`);
}

/** Open files besides the connections of chats: the database, tool servers, processes of MCP servers. */
const otherFiles = 100;

/** Whether as many chats fit as there may be connections to a backend: each has one to its client, and one to the backend. `limit`: undefined if unknown. */
export function examineOpenFiles(limit: number | undefined, connections: number): Finding[] {
  if (limit === undefined) return [];
  if (limit >= 2 * connections + otherFiles)
    return [ok(limit === Infinity ? 'Files may be open without limit' : `${limit} files may be open`)];
  const chats = Math.max(0, Math.floor((limit - otherFiles) / 2));
  return [
    warning(
      `${limit} files may be open: enough for about ${chats} chats at a time, although UPSTREAM_MAX_CONNECTIONS allows ${connections}`,
      `Raise the limit of open files to ${2 * connections + otherFiles} or more (ulimit -n, LimitNOFILE of a systemd unit, ulimits.nofile of a container), or set UPSTREAM_MAX_CONNECTIONS to ${Math.max(1, chats)}.`,
    ),
  ];
}

/** How many files this process may have open; undefined where the system does not say. */
export function openFilesLimit(): number | undefined {
  // Otherwise it would look up the name of every peer.
  Object.assign(process.report, { excludeNetwork: true });
  const said: unknown = process.report.getReport();
  const limits = isJsonObject(said) ? said['userLimits'] : undefined;
  const openFiles = isJsonObject(limits) ? limits['open_files'] : undefined;
  const soft = isJsonObject(openFiles) ? openFiles['soft'] : undefined;
  if (soft === 'unlimited') return Infinity;
  return typeof soft === 'number' ? soft : undefined;
}

/**
 * Whether the data folder is writable. Writes a file, because permissions say nothing about read-only file systems and full disks. A start creates
 * a folder that is missing; under a gateway that serves from it, it is lost.
 */
export async function examineFolder(folder: string, { isServing = false } = {}): Promise<Finding> {
  const path = resolve(folder);
  try {
    const existing = await nearestExisting(path);
    if (isServing && existing !== path) return goneFolder(path);
    if (existing === path) await writeAndDelete(path);
    else await access(existing, constants.W_OK | constants.X_OK);
    return ok(`Data folder ${path} ${existing === path ? 'can be written' : 'will be created at the start'}`);
  } catch (error) {
    const code = codeOf(error);
    return broken(`Data folder ${path} cannot be written (${code})`, folderCure(code));
  }
}

function goneFolder(path: string): Finding {
  return broken(
    `Data folder ${path} is gone: it was deleted or moved while the gateway runs, and everything stored from now on is lost when it ends`,
    'End the gateway, put the folder back or restore a backup, and start it again.',
  );
}

function folderCure(code: string): string {
  if (code === 'EROFS')
    return `The file system is read-only: mount a volume there, or set TOOLWHARF_DATA_DIR to a folder that can be written.`;
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk is full: free some space.';
  if (code === 'ENOTDIR') return `A file blocks the path: delete it, or set TOOLWHARF_DATA_DIR to another folder.`;
  const user = process.getuid?.();
  const owner = user === undefined ? 'the user that runs toolwharf' : `user ${user}`;
  return `Give the folder to ${owner} (chown), or set TOOLWHARF_DATA_DIR to one that this user can write.`;
}

async function nearestExisting(path: string): Promise<string> {
  try {
    if (!(await stat(path)).isDirectory()) throw Object.assign(new Error(`${path} is not a folder`), { code: 'ENOTDIR' });
    return path;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return nearestExisting(dirname(path));
  }
}

async function writeAndDelete(folder: string): Promise<void> {
  const path = join(folder, `.doctor-${randomBytes(6).toString('hex')}`);
  try {
    await writeFile(path, 'written by toolwharf doctor\n', { flag: 'wx' });
  } finally {
    await rm(path, { force: true });
  }
}

interface Address {
  host: string;
  port: number;
}

/** Whether the gateway could listen on this address now. `isGateway` checks whether a toolwharf listens there already. */
export async function examinePort({ host, port }: Address, isGateway: () => Promise<boolean>): Promise<Finding> {
  const failure = await tryToListen({ host, port });
  const where = `${host}:${port}`;
  if (failure === undefined) return ok(port === 0 ? `A free port of ${host} is taken at the start` : `${where} is free`);
  if (failure === 'EADDRINUSE') {
    if (await isGateway()) return ok(`A toolwharf runs at ${where}`);
    return broken(`${where} is taken by another program`, 'Set PORT to another port, or stop that program.');
  }
  if (failure === 'EACCES') return broken(`Port ${port} requires more privileges`, 'Set PORT to one above 1023.');
  return broken(`${host} is not an address of this machine (${failure})`, 'Correct HOST, for example to 127.0.0.1.');
}

/** The code of the failure, or undefined. */
async function tryToListen({ host, port }: Address): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return codeOf(error);
  } finally {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);
}
