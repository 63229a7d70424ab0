import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { JsonObject } from '../../src/shared/json/json.ts';

/** A call of a replayed conversation: the function's name and its arguments. */
export type ReplayedCall = [name: string, args: JsonObject];

/** What one conversation has made of the world. All of it is strict: what does not fit is refused and changes nothing. */
export interface World {
  paths: Set<string>;
  isLocked: boolean;
  counter: number;
  accounts: Map<string, number>;
}

class Refusal extends Error {}

function refuseUnless(condition: boolean, why: string): void {
  if (!condition) throw new Refusal(why);
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
const hasChildren = ({ paths }: World, path: string): boolean => [...paths].some((other) => other.startsWith(`${path}/`));

/** By name: what a function does, and whether it only reads (then it is a GET). */
const functions: Record<
  string,
  { isReading?: true; takes: Record<string, 'string' | 'integer'>; act(world: World, args: JsonObject): unknown }
> = {
  mkdir: {
    takes: { path: 'string' },
    act(world, { path }) {
      refuseUnless(typeof path === 'string' && !world.paths.has(path), 'it exists');
      refuseUnless(parentOf(String(path)) === '' || world.paths.has(parentOf(String(path))), 'its parent is missing');
      world.paths.add(String(path));
      return { made: path };
    },
  },
  touch: {
    takes: { path: 'string' },
    act(world, { path }) {
      refuseUnless(world.paths.has(parentOf(String(path))), 'its folder is missing');
      world.paths.add(String(path));
      return { touched: path };
    },
  },
  rm: {
    takes: { path: 'string' },
    act(world, { path }) {
      refuseUnless(world.paths.has(String(path)) && !hasChildren(world, String(path)), 'there is no such file');
      world.paths.delete(String(path));
      return { removed: path };
    },
  },
  rmdir: {
    takes: { path: 'string' },
    act(world, { path }) {
      refuseUnless(world.paths.has(String(path)), 'it is missing');
      refuseUnless(!hasChildren(world, String(path)), 'it is not empty');
      world.paths.delete(String(path));
      return { removed: path };
    },
  },
  list: {
    isReading: true,
    takes: { path: 'string' },
    act: (world, { path }) => [...world.paths].filter((other) => other.startsWith(String(path))).toSorted(),
  },
  lock: {
    takes: {},
    act(world) {
      refuseUnless(!world.isLocked, 'it is locked');
      world.isLocked = true;
      return { locked: true, counter: world.counter };
    },
  },
  unlock: {
    takes: {},
    act(world) {
      refuseUnless(world.isLocked, 'it is not locked');
      world.isLocked = false;
      return { locked: false, counter: world.counter };
    },
  },
  increment: {
    takes: {},
    act(world) {
      refuseUnless(world.isLocked, 'it has to be locked');
      return { counter: ++world.counter };
    },
  },
  read_counter: { isReading: true, takes: {}, act: ({ counter, isLocked }) => ({ counter, isLocked }) },
  deposit: {
    takes: { account: 'string', amount: 'integer' },
    act({ accounts }, { account, amount }) {
      accounts.set(String(account), (accounts.get(String(account)) ?? 0) + Number(amount));
      return { account, balance: accounts.get(String(account)) };
    },
  },
  transfer: {
    takes: { from: 'string', to: 'string', amount: 'integer' },
    act({ accounts }, { from, to, amount }) {
      const balance = accounts.get(String(from)) ?? 0;
      refuseUnless(balance >= Number(amount), `only ${balance} is there`);
      accounts.set(String(from), balance - Number(amount));
      accounts.set(String(to), (accounts.get(String(to)) ?? 0) + Number(amount));
      return { left: accounts.get(String(from)) };
    },
  },
  balance: {
    isReading: true,
    takes: { account: 'string' },
    act: ({ accounts }, { account }) => ({ balance: accounts.get(String(account)) ?? 0 }),
  },
};

export function newWorld(): World {
  return { paths: new Set(), isLocked: false, counter: 0, accounts: new Map() };
}

export function shownWorld({ paths, isLocked, counter, accounts }: World): unknown {
  return {
    paths: [...paths].toSorted(),
    isLocked,
    counter,
    accounts: Object.fromEntries([...accounts].toSorted(([one], [other]) => one.localeCompare(other))),
  };
}

/** Does a call at once. */
export function act(world: World, [name, args]: ReplayedCall): { status: number; body: unknown } {
  const found = functions[name];
  if (found === undefined) return { status: 404, body: { detail: `no ${name}` } };
  try {
    return { status: 200, body: found.act(world, args) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { status: 409, body: { detail: error.message } };
  }
}

/** `GET` for what reads, with its arguments in the query; `POST` with a JSON body for the others. */
export function replayDocument(): JsonObject {
  const paths = Object.entries(functions).map(([name, { isReading, takes }]): [string, JsonObject] => {
    const properties = Object.fromEntries(Object.entries(takes).map(([key, type]) => [key, { type }]));
    const operation: JsonObject = { operationId: name, description: `Does ${name}`, responses: { 200: { description: 'Done' } } };
    if (isReading === true) {
      const parameters = Object.entries(takes).map(([key, type]) => ({ name: key, in: 'query', required: true, schema: { type } }));
      return [`/${name}`, { get: { ...operation, parameters } }];
    }
    const schema: JsonObject = { type: 'object', properties, required: Object.keys(takes) };
    return [`/${name}`, { post: { ...operation, requestBody: { required: true, content: { 'application/json': { schema } } } } }];
  });
  return { openapi: '3.1.0', info: { title: 'Worlds', version: '1' }, paths: Object.fromEntries(paths) };
}

/** The same numbers for the same seed: mulberry32. From 0 to below 1. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Rounds of several calls each, most of which depend on those before them, with reads among them. */
export function generateRounds(seed: number): ReplayedCall[][] {
  const random = createRandom(seed);
  const pick = (count: number): number => Math.floor(random() * count);
  const path = (): string => `/d${pick(3)}`;
  const file = (): string => `${path()}/f${pick(2)}`;
  const account = (): string => `a${pick(3)}`;
  const parts: (() => ReplayedCall[])[] = [
    () => [['mkdir', { path: path() }]],
    () => [['touch', { path: file() }]],
    () => {
      const folder = path();
      return [
        ['rm', { path: `${folder}/f0` }],
        ['rm', { path: `${folder}/f1` }],
        ['rmdir', { path: folder }],
      ];
    },
    () => [['list', { path: path() }]],
    () => [
      ['lock', {}],
      ['increment', {}],
      ['unlock', {}],
    ],
    () => [['read_counter', {}]],
    () => [['deposit', { account: account(), amount: 1 + pick(50) }]],
    () => [['transfer', { from: account(), to: account(), amount: 1 + pick(50) }]],
    () => [['balance', { account: account() }]],
  ];
  return Array.from({ length: 3 }, () => Array.from({ length: 6 }, () => parts[pick(parts.length)]?.() ?? []).flat());
}

export interface ReplayServer {
  url: string;
  /** Of the conversation of this id. */
  worldOf(id: string): World;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A world for each conversation (header `x-conversation`), on a real port; each call takes effect after 0 to 20 ms, by a seed. */
export async function startReplayServer(seed: number): Promise<ReplayServer> {
  const worlds = new Map<string, World>();
  const random = createRandom(seed);
  const worldOf = (id: string): World => {
    const world = worlds.get(id) ?? newWorld();
    worlds.set(id, world);
    return world;
  };
  const server: Server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? '/', 'http://localhost');
      const args = request.method === 'GET' ? (Object.fromEntries(url.searchParams) as JsonObject) : await readJson(request);
      await wait(Math.floor(random() * 21));
      const { status, body } = act(worldOf(String(request.headers['x-conversation'])), [url.pathname.slice(1), args]);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    worldOf,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

async function readJson(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? {} : (JSON.parse(text) as JsonObject);
}
