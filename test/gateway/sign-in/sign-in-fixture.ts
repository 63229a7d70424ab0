import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { textOf } from '../../../src/core/chat/chat.ts';
import type { ModelBackend } from '../../../src/core/models/model.ts';
import type { SendOutbound } from '../../../src/core/outbound.ts';
import { isJsonObject } from '../../../src/shared/json/json.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { passwordOf } from '../../_support/authorization-server.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { generatedBy } from '../../_support/scripted-model.ts';
import type { BrowserPage, ScriptedBrowser } from '../../_support/scripted-browser.ts';

export const adminKey = 'sk-tw-fixed-administrator';
export const byHeader = { from: 'header', name: 'x-openwebui-user-id' };

/** Who asks: a key, and one of its people where it has some. */
export interface Who {
  key: string;
  user?: string;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: JsonObject;
  /** As it came. */
  raw: string;
}

/** `connect` in the answer of a chat that waits for a sign-in. */
export interface Connect {
  run_id: string;
  servers: { server: string; name: string; url: string }[];
  token: string;
}

/** The gateway on a port of this machine, with the real way out and a model that asks who the user is. */
export interface SignInGateway {
  app: TestApp;
  url: string;
  /** Lets the gateway's clock go on. */
  clock: { aheadMs: number };
  call(route: string, who: Who, payload?: object): Promise<Answer>;
  keyFor(users?: JsonObject | null): Promise<{ id: string; key: string }>;
  register(connection: JsonObject): Promise<void>;
  ask(who: Who, fields?: JsonObject): Promise<Answer>;
  stateOf(who: Who, server?: string): Promise<unknown>;
}

export interface SignInGatewayOptions {
  environment?: NodeJS.ProcessEnv;
  /** For the database file: a second gateway over it is the first one after a restart. */
  folder?: string;
  model?: ModelBackend;
  /** Instead of the real way out. */
  send?: SendOutbound;
}

/**
 * Calls the function whose name ends with `whoami`, or before that is offered the one that connects, and answers with what it read. Says what is missing
 * if there is neither.
 */
export const askingModel: ModelBackend = generatedBy(async function* ({ messages, tools }) {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(asked).filter(({ role }) => role === 'tool');
  const names = tools.map(({ name }) => name);
  const called = messages
    .slice(asked)
    .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    .map(({ name }) => name);
  const next = names.find((name) => name.endsWith('whoami')) ?? names.find((name) => name.startsWith('connect_'));
  if (next === undefined || called.includes(next)) {
    const last = results.at(-1);
    yield { type: 'text', text: last === undefined ? `No function, only: ${names.join(', ')}` : `I read: ${textOf(last.content ?? '')}` };
    yield { type: 'finish', reason: 'stop' };
    return;
  }
  yield { type: 'tool-call', call: { id: `call_${called.length}`, name: next, arguments: '{}' } };
  yield { type: 'finish', reason: 'tool_calls' };
});

export async function signInGateway({
  environment = {},
  folder,
  model = askingModel,
  send,
}: SignInGatewayOptions = {}): Promise<SignInGateway> {
  const clock = { aheadMs: 0 };
  const now = (): number => Date.now() + clock.aheadMs;
  const secret = 'a secret of tests';
  const { database, ...stores } = openStores({ file: folder === undefined ? ':memory:' : join(folder, 'toolwharf.db'), secret, now });
  const app = await testApp(
    { TOOLWHARF_ADMIN_KEY: adminKey, STORE_CHATS: 'true', ...environment },
    { backends: [backendOf(model)], config: { secret }, now, ...stores, ...(send && { send }) },
  );
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await app.close();
    await database.close();
  };
  onTestFinished(close);
  const url = await listen(app);

  const call: SignInGateway['call'] = async (route, { key, user }, payload) => {
    const [method = '', path = ''] = route.split(' ');
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        'x-api-key': key,
        ...(user !== undefined && { 'x-openwebui-user-id': user }),
        ...(payload !== undefined && { 'content-type': 'application/json' }),
      },
      ...(payload !== undefined && { body: JSON.stringify(payload) }),
    });
    const raw = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, headers: response.headers, body: isJson ? (JSON.parse(raw) as JsonObject) : {}, raw };
  };
  return {
    app: { ...app, close },
    url,
    clock,
    call,
    async keyFor(users = byHeader) {
      const { status, body } = await call('POST /api/keys', { key: adminKey }, { name: 'frontend', role: 'user', users });
      expect(status).toBe(201);
      return body as { id: string; key: string } & JsonObject;
    },
    async register(connection_) {
      const { status, raw } = await call('POST /api/tool-servers', { key: adminKey }, connection_);
      expect([status, raw]).toEqual([201, expect.anything()]);
    },
    ask: (who, fields = {}) =>
      call('POST /v1/chat/completions', who, { model: 'model', messages: [{ role: 'user', content: 'Who am I?' }], ...fields }),
    async stateOf(who, server) {
      const { body } = await call('GET /api/credentials', who);
      const data = body['data'] as JsonObject[];
      return data.find((entry) => server === undefined || entry['server'] === server)?.['state'];
    },
  };
}

export const contentOf = ({ body }: Pick<Answer, 'body'>): string =>
  (body as unknown as { choices: [{ message: { content: string } }] }).choices[0].message.content;

/** @throws if the answer waits for nothing */
export function connectOf({ body }: Pick<Answer, 'body'>): Connect {
  const connect = body['connect'];
  if (!isJsonObject(connect)) throw new Error(`Nothing to connect in ${JSON.stringify(body)}`);
  return connect as unknown as Connect;
}

/** Makes a link as a program of the person does. */
export async function linkFor(gateway: SignInGateway, who: Who, server: string): Promise<string> {
  const { status, body } = await gateway.call(`POST /api/credentials/${server}/connect`, who);
  expect({ status, body }).toMatchObject({ status: 200, body: { url: expect.any(String) } });
  return String(body['url']);
}

/**
 * Opens a link and signs in, as a person does: shows their own key where the page asks for it, presses the button, and follows the pages of the
 * authorization server. Gives the last page.
 */
export async function signIn(
  browser: ScriptedBrowser,
  link: string,
  account: string,
  { own, stopAt = () => false }: { own?: string; stopAt?: (page: BrowserPage) => boolean } = {},
): Promise<BrowserPage> {
  let page = await browser.open(link);
  if (page.status >= 400) return page;
  page = await browser.submit(page, own === undefined ? {} : { own });
  for (;;) {
    if (stopAt(page) || page.status >= 400) return page;
    const fields = page.forms[0]?.fields ?? {};
    if ('account' in fields && 'password' in fields) page = await browser.submit(page, { account, password: passwordOf(account) });
    else if (page.text.startsWith('May ')) page = await browser.submit(page, {}, 'Yes');
    else return page;
  }
}

/** Everything that the gateway's own pages, logs and files could tell, to be searched for secrets. */
export function logsOf({ app }: SignInGateway): string {
  return app.logLines.join('\n');
}
