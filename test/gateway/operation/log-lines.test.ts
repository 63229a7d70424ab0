import { expect, it } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { prettyLines } from '../../../src/observability/pretty-lines.ts';
import { backendOf, listen, testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says, ScriptedModel } from '../../_support/scripted-model.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { bankGateway } from '../approvals/approval-fixture.ts';

const adminKey = 'sk-tw-admin-0000000000000000';
const admin = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
const messages = [{ role: 'user', content: 'Hi' }];
const usage: ScriptStep = { type: 'usage', usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 } };

type Line = Record<string, unknown> & { level: string; msg: string };

/** What `LOG_LEVEL=info` prints. */
function linesOf(app: TestApp): Line[] {
  return app.logLines.map((line) => JSON.parse(line) as Line).filter(({ level }) => !['trace', 'debug'].includes(level));
}

async function appWithUser(...turns: ScriptStep[][]): Promise<{ app: TestApp; url: string; ask: (body?: object) => Promise<number> }> {
  const app = await testApp(
    { TOOLWHARF_ADMIN_KEY: adminKey },
    { backends: [backendOf(new ScriptedModel(...turns))], config: { secret: 'a secret of tests' } },
  );
  const made = await app.server.inject({ method: 'POST', url: '/api/keys', headers: admin, payload: { name: 'ada', role: 'user' } });
  const headers = { ...admin, authorization: `Bearer ${made.json<{ key: string }>().key}` };
  const url = `${await listen(app)}/v1/chat/completions?api_key=CANARY`;
  app.logLines.length = 0;
  const ask = async (body = {}): Promise<number> => {
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ model: 'model', messages, ...body }) });
    await answer.text().catch(() => undefined);
    return answer.status;
  };
  return { app, url: new URL(url).origin, ask };
}

it.each([false, true])('a chat is one line with who asked for what, and what it took (stream: %s)', async (stream) => {
  const { app, ask } = await appWithUser([usage, ...says('Hello.')]);
  await ask({ stream });
  await app.close();
  expect(linesOf(app)).toEqual([
    {
      level: 'info',
      time: expect.any(String),
      reqId: expect.any(String),
      method: 'POST',
      path: '/v1/chat/completions',
      caller: 'ada',
      run_id: expect.any(String),
      model: 'model',
      stream,
      status: 200,
      duration_ms: expect.any(Number),
      first_token_ms: expect.any(Number),
      prompt_tokens: 7,
      completion_tokens: 2,
      rounds: 1,
      tool_calls: 0,
      msg: 'chat answered',
    },
  ]);
});

it('rounds and calls of tools are counted', async () => {
  await using gateway = await bankGateway({ turns: [calls(['look', {}], ['look', { account: 'b' }]), says('Seven.')] });
  await gateway.ask();
  const chat = linesOf(gateway.app).find((line) => 'rounds' in line);
  expect(chat).toMatchObject({ rounds: 2, tool_calls: 2, caller: 'local' });
});

it.each([false, true])('a backend that fails is one line with the reason, and no stack (stream: %s)', async (stream) => {
  const fault = new GatewayError('upstream_unreachable', 'The backend "scripted" cannot be reached.', { cause: new Error('ECONNREFUSED') });
  for (const turn of [[fault], [...says('Hel').slice(0, 1), fault]]) {
    const { app, ask } = await appWithUser(turn);
    await ask({ stream });
    await app.close();
    expect(linesOf(app)).toMatchObject([
      {
        level: 'warn',
        msg: 'chat failed',
        caller: 'ada',
        code: 'upstream_unreachable',
        error: 'The backend "scripted" cannot be reached.',
      },
    ]);
    expect(app.logLines.join('')).not.toMatch(/\.ts[:?]/);
  }
});

it('a fault of our own has a line with its stack beside that of the chat', async () => {
  const { app, ask } = await appWithUser([new Error('a bug')]);
  expect(await ask()).toBe(500);
  await app.close();
  const lines = linesOf(app);
  expect(new Set(lines.map(({ level, msg, code }) => `${level} ${msg} ${String(code)}`))).toEqual(
    new Set(['error request failed internal_error', 'warn chat failed internal_error']),
  );
  expect(app.logLines.join('')).toContain('a bug');
  expect(app.logLines.join('')).toMatch(/\.ts[:?]/);
});

it('what the caller does wrong is one line', async () => {
  const { app, ask } = await appWithUser();
  await ask({ model: 'nobody' });
  await ask({ messages: 'none' });
  await app.server.inject({ method: 'GET', url: '/nowhere?x=CANARY', headers: admin });
  await app.server.inject({ method: 'GET', url: '/v1/models', headers: { authorization: 'Bearer sk-tw-wrong' } });
  await app.close();
  expect(linesOf(app)).toMatchObject([
    { level: 'info', msg: 'chat refused', caller: 'ada', status: 404, code: 'model_not_found' },
    {
      level: 'info',
      msg: 'request refused',
      caller: 'ada',
      status: 400,
      code: 'invalid_request',
      error: expect.stringContaining('messages'),
    },
    { level: 'info', msg: 'request refused', method: 'GET', path: '/nowhere', status: 404 },
    { level: 'info', msg: 'request refused', method: 'GET', path: '/v1/models', status: 401, code: 'invalid_api_key' },
  ]);
  expect(app.logLines.join('')).not.toMatch(/CANARY|sk-tw|\.ts:/);
});

it('a chat over a socket is one line too', async () => {
  const { app, url } = await appWithUser([usage, ...says('Hello.')]);
  const browser = await connectFakeBrowser({ url, token: adminKey });
  browser.send({ type: 'message', data: { model: 'model', content: 'Hi' } });
  await browser.next('assistant_end');
  browser.terminate();
  await app.close();
  expect(linesOf(app)).toMatchObject([
    {
      level: 'info',
      msg: 'chat answered',
      caller: 'administrator',
      model: 'model',
      prompt_tokens: 7,
      rounds: 1,
      tool_calls: 0,
      over: 'socket',
    },
  ]);
});

it.each(['json', 'pretty'] as const)('no text of others begins a line of its own or steers a terminal (%s)', (format) => {
  let output = '';
  const destination = { write: (text: string) => void (output += text) };
  const logger = createLogger({ level: 'info', destination: format === 'json' ? destination : prettyLines(destination) });
  const foreign = 'x\r\nINFO: forged\u001B[2J\u009B31m\u2028\u202Eend\u007F';
  logger.child({ caller: foreign }).warn({ reason: foreign, list: [foreign], [foreign]: 1 }, foreign);
  expect(output.trimEnd().split(/[\n\r\u2028]/)).toHaveLength(1);
  // eslint-disable-next-line no-control-regex -- these are what it is about
  expect(output.trimEnd()).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u2028-\u202E]/);
});

it('pretty lines are one line each', () => {
  let output = '';
  const logger = createLogger({ level: 'info', destination: prettyLines({ write: (text: string) => void (output += text) }) });
  logger.info({ run_id: 'r', model: 'm', duration_ms: 5 }, 'chat answered');
  expect(output.trimEnd()).toMatch(/^\[.*\] INFO: chat answered \{.*"duration_ms":5.*\}$/);
});
