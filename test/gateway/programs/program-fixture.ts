import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { parseToolServerConnection } from '../../../src/storage/tool-server-connection.ts';
import { testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { scriptedBrowser } from '../../_support/scripted-browser.ts';
import type { BrowserPage, ScriptedBrowser } from '../../_support/scripted-browser.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';
import type { ScriptedAnswer } from '../../tools/scripted-send.ts';

export const adminKey = 'sk-tw-fixed-administrator';
/** Where the program listens for its answer; nobody does in tests, so the browser stops there. */
export const redirectUri = 'http://127.0.0.1:33418/callback';

export interface Answer {
  status: number;
  headers: Headers;
  body: JsonObject;
}

/** A gateway that knows its address, with an administrator's key. */
export interface ProgramScene {
  app: TestApp;
  close(): Promise<void>;
  /** `PUBLIC_URL`, and where it listens. */
  url: string;
  /** Lets the gateway's clock go on. */
  clock: { aheadMs: number };
  /** As a program of the API. */
  call(route: string, key: string, payload?: object): Promise<Answer>;
  keyFor(fields?: JsonObject): Promise<{ id: string; key: string }>;
  post(path: string, form: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  register(metadata?: JsonObject): Promise<JsonObject & { client_id: string }>;
}

export interface ProgramSceneOptions {
  environment?: NodeJS.ProcessEnv;
  send?: SendOutbound;
  /** Below the address. */
  path?: string;
  /** Default: the administrator's. */
  hasKey?: boolean;
  /** Of the database, for a second start. */
  file?: string;
  /** Default: a free one. */
  port?: number;
}

const clocks = {
  openapi: '3.1.0',
  info: { title: 'Clocks', version: '1' },
  paths: {
    '/time': { get: { operationId: 'get_time', summary: 'Tells the time', responses: { 200: { description: 'The time' } } } },
    '/alarm': { get: { operationId: 'ring', summary: 'Rings', responses: { 200: { description: 'Rung' } } } },
  },
};
const toolServers = [parseToolServerConnection({ id: 'clocks', url: 'http://clocks.test', spec: clocks }, 'file')];
export const answers: Record<string, ScriptedAnswer> = { 'http://clocks.test/time': { time: '12:00' } };

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function programScene({
  environment = {},
  send = scriptedSend(answers).send,
  path = '',
  hasKey = true,
  file = ':memory:',
  port: chosen,
}: ProgramSceneOptions = {}): Promise<ProgramScene> {
  const clock = { aheadMs: 0 };
  const now = (): number => Date.now() + clock.aheadMs;
  const port = chosen ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  const { database, registry: _, ...stores } = openStores({ file, secret: 'a secret of tests', now });
  const app = await testApp(
    { PUBLIC_URL: `${url}${path}`, ...(hasKey && { TOOLWHARF_ADMIN_KEY: adminKey }), ...environment },
    { backends: [], config: { secret: 'a secret of tests', toolServers }, now, ...stores, send },
  );
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await app.close();
    await database.close();
  };
  onTestFinished(close);
  await app.server.listen({ host: '127.0.0.1', port });

  async function call(route: string, key: string, payload?: object): Promise<Answer> {
    const [method = '', below = ''] = route.split(' ');
    return toAnswer(
      await fetch(`${url}${below}`, {
        method,
        headers: { authorization: `Bearer ${key}`, ...(payload !== undefined && { 'content-type': 'application/json' }) },
        ...(payload !== undefined && { body: JSON.stringify(payload) }),
      }),
    );
  }

  return {
    app,
    close,
    url,
    clock,
    call,
    async keyFor(fields = {}) {
      const { status, body } = await call('POST /api/keys', adminKey, { name: 'ada', role: 'user', ...fields });
      expect([status, body]).toEqual([201, expect.anything()]);
      return body as { id: string; key: string } & JsonObject;
    },
    post: async (below, form, headers = {}) =>
      toAnswer(await fetch(`${url}${below}`, { method: 'POST', headers, body: new URLSearchParams(form), redirect: 'manual' })),
    async register(metadata = {}) {
      const { status, body } = await call('POST /oauth/register', '', {
        client_name: 'A program',
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'none',
        ...metadata,
      });
      expect([status, body]).toEqual([201, expect.anything()]);
      return body as JsonObject & { client_id: string };
    },
  };
}

async function toAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, headers: response.headers, body: isJson ? (JSON.parse(text) as JsonObject) : { text } };
}

/** What a program keeps of a request for consent. */
export interface Asked {
  url: string;
  verifier: string;
  state: string;
}

/** `changes`: parameters instead of the right ones; undefined leaves one out. */
export function askFor(url: string, clientId: string, changes: Record<string, string | undefined> = {}): Asked {
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(8).toString('base64url');
  const params: Record<string, string | undefined> = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
    ...changes,
  };
  const sent = Object.entries(params).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]]));
  return { url: `${url}/oauth/authorize?${new URLSearchParams(sent).toString()}`, verifier, state };
}

export function browserFor(): ScriptedBrowser {
  const browser = scriptedBrowser();
  browser.refuseTo(new URL(redirectUri).origin);
  return browser;
}

/** Allows what the page asks for, and gives the address with which the browser goes back to the program. */
export async function allow(browser: ScriptedBrowser, page: BrowserPage, key?: string): Promise<URL> {
  return answerOf(browser, page, key === undefined ? {} : { key }, 'allow');
}

export async function answerOf(browser: ScriptedBrowser, page: BrowserPage, fields: Record<string, string>, press: string): Promise<URL> {
  const after = await browser.submit(page, fields, press).catch((error: unknown) => error);
  if (!(after instanceof Error)) throw new Error(`It did not lead back: ${(after as BrowserPage).text}`);
  return new URL(browser.lastTried());
}

export interface Tokens extends JsonObject {
  access_token: string;
  refresh_token: string;
}

/** From registration to tokens, with this key. */
export async function connect(scene: ProgramScene, key: string, clientId?: string): Promise<Tokens & { client_id: string }> {
  const client = clientId ?? (await scene.register()).client_id;
  const browser = browserFor();
  const asked = askFor(scene.url, client);
  const back = await allow(browser, await browser.open(asked.url), key);
  const { status, body } = await exchange(scene, { client, code: back.searchParams.get('code') ?? '', verifier: asked.verifier });
  expect([status, body]).toEqual([200, expect.anything()]);
  return { ...(body as Tokens), client_id: client };
}

export function exchange(
  scene: ProgramScene,
  { client, code, verifier, ...others }: { client: string; code: string; verifier: string } & Record<string, string>,
): Promise<Answer> {
  const form = { grant_type: 'authorization_code', client_id: client, code, code_verifier: verifier, redirect_uri: redirectUri, ...others };
  return scene.post('/oauth/token', form);
}

export function refresh(
  scene: ProgramScene,
  { client_id: client, refresh_token: token }: { client_id: string; refresh_token: string },
): Promise<Answer> {
  return scene.post('/oauth/token', { grant_type: 'refresh_token', client_id: client, refresh_token: token });
}

/** The status of a request to `/mcp`, which is 200 where the token is good. */
export async function mcpStatus(scene: ProgramScene, token: string): Promise<number> {
  return (await scene.call('POST /mcp', token, { jsonrpc: '2.0', id: 1, method: 'tools/list' })).status;
}

/** What a function gives to a program with this token. */
export async function callTool(scene: ProgramScene, token: string, name = 'get_time'): Promise<string> {
  const { body } = await scene.call('POST /mcp', token, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } });
  return String(body['text'] ?? JSON.stringify(body));
}
