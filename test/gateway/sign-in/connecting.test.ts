import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LightMyRequestResponse } from 'fastify';
import { textOf } from '../../../src/core/chat/chat.ts';
import type { PendingConnect } from '../../../src/core/user-input/connect.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen, readChunks } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { temporaryFolders } from '../../storage/temporary-folder.ts';
import { openStores } from '../../_support/memory-stores.ts';
import { memoryRegistry } from '../../_support/memory-stores.ts';
import { readSeen } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { call, decide, lastResults, pathsSent } from '../approvals/approval-fixture.ts';
import type { Asked } from '../approvals/approval-fixture.ts';
import { asks, connect, connectingGateway, mail, readRunOf, resume } from './connecting-fixture.ts';
import type { AskedToConnect } from './connecting-fixture.ts';
import { jsonResponse } from '../../tools/scripted-send.ts';
import { waitFor } from '../../_support/wait-for.ts';

const newFolder = temporaryFolders();
const send = calls(['send', { to: 'bob' }]);
const textIn = (answer: LightMyRequestResponse): string => answer.json<Asked>().choices[0]?.message.content ?? '';
const codeOf = (response: LightMyRequestResponse): unknown[] => [
  response.statusCode,
  response.json<{ error?: { code: string } }>().error?.code,
];

describe('a call that lacks its caller’s credential', () => {
  it('waits until they have connected, and the run then answers [credentials]', async () => {
    await using gateway = await connectingGateway([send, says('Sent.')]);
    const asked = await asks(gateway);
    const { connect: wait, choices } = asked;
    expect(wait).toEqual({
      run_id: expect.any(String),
      servers: [{ server: 'mail', name: 'Mail', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8080\/connect\/[\w-]{43}$/) }],
      token: expect.any(String),
    });
    expect(choices[0]?.finish_reason).toBe('stop');
    expect(choices[0]?.message.content).toBe(
      `To continue, connect to Mail. After that, the answer continues here or with your next message.\n\nConnect to Mail: ${wait.servers[0]?.url}`,
    );
    expect((await readRunOf(gateway, wait)).status).toBe('waiting');

    expect(codeOf(await resume(gateway, wait))).toEqual([409, 'credential_required']);
    expect(gateway.sent).toEqual([]);
    await connect(gateway);
    expect(textIn(await resume(gateway, wait))).toBe('Sent.');
    expect(gateway.sent.map(({ headers }) => headers?.['authorization'])).toEqual(['Bearer CANARY-key']);
    expect(codeOf(await resume(gateway, wait))).toEqual([409, 'conflict']);

    const run = await readRunOf(gateway, wait);
    expect(run.status).toBe('completed');
    const told = run.events.filter(({ type }) => type.startsWith('connect.')).map(({ type, data }) => ({ type, ...data }));
    const id = expect.any(String);
    expect(told).toEqual([
      { type: 'connect.request', id, tool: 'send', server: 'mail', name: 'Mail' },
      { type: 'connect.response', id, tool: 'send', server: 'mail', outcome: 'connected' },
    ]);
    expect(JSON.stringify(run)).not.toMatch(/CANARY|\/connect\//);
  });

  it('goes on as a stream where the chat was one, with the sources from before', async () => {
    await using gateway = await connectingGateway([calls(['look', {}], ['send', { to: 'bob' }]), says('Sent.')]);
    const seen = await gateway.ask();
    const chunk = readChunks(seen.raw).find((each) => typeof each !== 'string' && each['connect'] !== undefined) as AskedToConnect &
      JsonObject;
    expect(seen.finish).toEqual(['stop']);
    expect(seen.eventsOf('connect.request')).toHaveLength(1);
    expect(pathsSent(gateway)).toEqual(['/look']);
    await connect(gateway);
    const rest = readSeen((await resume(gateway, chunk.connect)).body);
    expect([rest.text, rest.finish]).toEqual(['Sent.', ['stop']]);
    expect(rest.sources.map(({ source }) => source)).toEqual([{ name: 'TOOL:bank/look' }, { name: 'TOOL:mail/send' }]);
    expect(pathsSent(gateway)).toEqual(['/look', '/send']);
  });

  it('names every server of the round, and goes on when all are connected', async () => {
    await using gateway = await connectingGateway([calls(['send', { to: 'bob' }], ['plan', {}], ['send', { to: 'eve' }]), says('Done.')]);
    const { connect: wait, choices } = await asks(gateway);
    expect(wait.servers.map(({ server }) => server)).toEqual(['mail', 'calendar']);
    for (const { url } of wait.servers) expect(choices[0]?.message.content).toContain(url);
    await connect(gateway, 'calendar');
    const early = await resume(gateway, wait);
    expect(codeOf(early)).toEqual([409, 'credential_required']);
    expect(early.body).toContain('mail');
    expect(early.body).not.toContain('\\"calendar\\"');
    await connect(gateway);
    expect(textIn(await resume(gateway, wait))).toBe('Done.');
    expect(pathsSent(gateway)).toEqual(['/send', '/plan', '/send']);
  });

  it('comes before the approvals of its round, which are asked for afterwards and once', async () => {
    await using gateway = await connectingGateway([calls(['pay', { amount: 5 }], ['send', { to: 'bob' }]), says('Done.')]);
    const asked = await asks(gateway);
    expect(asked.approval).toBeUndefined();
    expect(asked.connect.servers).toHaveLength(1);
    await connect(gateway);
    const second = (await resume(gateway, asked.connect)).json<Asked>();
    expect(second.approval.calls.map(({ tool }) => tool)).toEqual(['pay']);
    expect(gateway.sent).toEqual([]);
    expect(textIn(await decide(gateway, second, { arguments: { amount: 6 } }))).toBe('Done.');
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"amount":6}', '{"to":"bob"}']);
    const { events } = await readRunOf(gateway, asked.connect);
    expect(events.filter(({ type }) => type === 'approval.request')).toHaveLength(1);
  });

  it('keeps what was decided about it when the credential is gone by then', async () => {
    await using gateway = await connectingGateway([calls(['remove', { id: '1' }]), says('Removed.')]);
    await connect(gateway);
    const asked = (
      await call(gateway, 'POST /v1/chat/completions', { payload: { model: 'model', messages: [{ role: 'user', content: 'Remove' }] } })
    ).json<Asked>();
    await call(gateway, 'DELETE /api/credentials/mail');
    const second = (await decide(gateway, asked, { arguments: { id: '2' } })).json<AskedToConnect>();
    expect(second.connect.servers).toHaveLength(1);
    await connect(gateway);
    expect(textIn(await resume(gateway, second.connect))).toBe('Removed.');
    expect(gateway.sent.map(({ body }) => body)).toEqual(['{"id":"2"}']);
  });

  it('asks anew for a key that the server rejects, and runs the call with the next one', async () => {
    let isRejected = true;
    const answers = { 'http://mail.test/send': () => Promise.resolve(jsonResponse({ sent: true }, isRejected ? 401 : 200)) };
    await using gateway = await connectingGateway([send, says('Sent.')], {}, [], { answers });
    await connect(gateway);
    const { connect: wait } = await asks(gateway);
    expect((await call(gateway, 'GET /api/credentials')).json<{ data: JsonObject[] }>().data[0]).toMatchObject({ state: 'missing' });
    expect(codeOf(await resume(gateway, wait))).toEqual([409, 'credential_required']);
    isRejected = false;
    await connect(gateway);
    expect(textIn(await resume(gateway, wait))).toBe('Sent.');
    expect(pathsSent(gateway)).toEqual(['/send', '/send']);
  });

  it('waits again where the credential was deleted between connecting and going on', async () => {
    await using gateway = await connectingGateway([send, says('Sent.')]);
    const { connect: wait } = await asks(gateway);
    await connect(gateway);
    await call(gateway, 'DELETE /api/credentials/mail');
    expect(codeOf(await resume(gateway, wait))).toEqual([409, 'credential_required']);
    await connect(gateway);
    expect(textIn(await resume(gateway, wait))).toBe('Sent.');
  });

  it('waits within a preset that was called as a tool', async () => {
    await using gateway = await connectingGateway(
      [calls(['helper', { request: 'Send it' }]), send, says('It is sent.'), says('Done.')],
      {},
      [{ id: 'helper', base_model: 'model', tools: ['server:mail'] }],
    );
    const { connect: wait } = await asks(gateway, { tool_ids: ['preset:helper'] });
    expect(wait.servers).toHaveLength(1);
    await connect(gateway);
    expect(textIn(await resume(gateway, wait))).toBe('Done.');
    expect(pathsSent(gateway)).toEqual(['/send']);
    const { events } = await readRunOf(gateway, wait);
    expect(events.find(({ type }) => type === 'connect.response')?.data['within']).toEqual(expect.any(String));
  });

  it('is refused a token of another run, that of another person, and after a cancel', async () => {
    await using gateway = await connectingGateway([send, send, send], { TOOLWHARF_ADMIN_KEY: 'sk-tw-fixed-administrator' });
    const key = 'sk-tw-fixed-administrator';
    const made = await call(gateway, 'POST /api/keys', { key, payload: { name: 'other', role: 'admin' } });
    const other = made.json<{ key: string }>().key;
    const [first, second] = [await asks(gateway, {}, key), await asks(gateway, {}, key)];
    expect(codeOf(await resume(gateway, first.connect, { key: other }))).toEqual([404, 'not_found']);
    expect(codeOf(await resume(gateway, { ...first.connect, token: second.connect.token }, { key }))).toEqual([
      403,
      'invalid_approval_token',
    ]);
    expect(codeOf(await resume(gateway, { ...first.connect, token: 'v1.1.x' }, { key }))).toEqual([403, 'invalid_approval_token']);
    expect(codeOf(await resume(gateway, { ...first.connect, run_id: 'none' }, { key }))).toEqual([404, 'not_found']);
    await call(gateway, `POST /api/runs/${first.connect.run_id}/cancel`, { key, payload: {} });
    await connect(gateway, 'mail', key);
    expect(codeOf(await resume(gateway, first.connect, { key }))).toEqual([409, 'conflict']);
    const approvals = `POST /api/runs/${second.connect.run_id}/approvals/x`;
    const decided = await call(gateway, approvals, { key, payload: { decision: 'approve', token: second.connect.token } });
    expect(codeOf(decided)).toEqual([409, 'conflict']);
  });

  it('goes on once, however often its token comes at the same time', async () => {
    await using gateway = await connectingGateway([send, says('Sent.')]);
    const { connect: wait } = await asks(gateway);
    await connect(gateway);
    const answers = await Promise.all([1, 2, 3].map(() => resume(gateway, wait)));
    expect(answers.map(({ statusCode }) => statusCode).toSorted((one, other) => one - other)).toEqual([200, 409, 409]);
    expect(pathsSent(gateway)).toEqual(['/send']);
  });

  it('survives a restart', async () => {
    const folder = newFolder();
    const open = async (turns: Parameters<typeof connectingGateway>[0]): Promise<Gateway & { close(): Promise<void> }> => {
      const secret = 'a secret of tests that is long enough';
      const stores = openStores({ file: join(folder, 'toolwharf.db'), secret });
      const gateway = await connectingGateway(turns, {}, [], { ...stores, config: { secret }, registry: memoryRegistry([mail]) });
      return { ...gateway, close: () => gateway[Symbol.asyncDispose]() };
    };
    const before = await open([send]);
    const { connect: wait } = await asks(before);
    await before.close();
    const after = await open([says('Sent.')]);
    await connect(after);
    expect(textIn(await resume(after, wait))).toBe('Sent.');
    expect(pathsSent(after)).toEqual(['/send']);
    await after.close();
  });

  it('is told to the next request of its chat, which may make the call and takes the token’s place', async () => {
    await using gateway = await connectingGateway([calls(['look', {}], ['send', { to: 'bob' }]), send, says('Sent.')]);
    const { connect: wait, choices } = await asks(gateway);
    await connect(gateway);
    const messages = [
      { role: 'user', content: 'Send it' },
      { role: 'assistant', content: choices[0]?.message.content },
      { role: 'user', content: 'done' },
    ];
    const next = await call(gateway, 'POST /v1/chat/completions', { payload: { model: 'model', messages } });
    expect(textIn(next)).toBe('Sent.');
    const history = gateway.model.requests[1]?.messages ?? [];
    expect(history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'user']);
    expect(history.map(({ content }) => textOf(content)).join('\n')).not.toContain('/connect/');
    expect(textOf(history[2]?.content ?? null)).toContain('7');
    expect(textOf(history[3]?.content ?? null)).toContain('call it again');
    expect(pathsSent(gateway)).toEqual(['/look', '/send']);
    expect(codeOf(await resume(gateway, wait))).toEqual([409, 'conflict']);
    expect((await readRunOf(gateway, wait)).status).toBe('cancelled');
  });

  it('is told with its result to the next request once it has gone on', async () => {
    await using gateway = await connectingGateway([send, says('Sent.'), says('As I said.')]);
    const { connect: wait, choices } = await asks(gateway);
    await connect(gateway);
    await resume(gateway, wait);
    const messages = [
      { role: 'user', content: 'Send it' },
      { role: 'assistant', content: choices[0]?.message.content },
      { role: 'user', content: 'And?' },
    ];
    await call(gateway, 'POST /v1/chat/completions', { payload: { model: 'model', messages } });
    const history = gateway.model.requests.at(-1)?.messages ?? [];
    expect(history.map(({ role, content }) => [role, textOf(content)])).toMatchObject([
      ['user', 'Send it'],
      ['assistant', ''],
      ['tool', expect.stringContaining('sent')],
      ['assistant', 'Sent.'],
      ['user', 'And?'],
    ]);
    expect(lastResults(gateway)).toHaveLength(1);
  });

  it('stays as it is for a hidden task of the frontend', async () => {
    await using gateway = await connectingGateway([send, says('A title'), says('Sent.')]);
    const { connect: wait, choices } = await asks(gateway);
    const messages = [
      { role: 'user', content: 'Send it' },
      { role: 'assistant', content: choices[0]?.message.content },
      { role: 'user', content: 'Give the chat a title' },
    ];
    await call(gateway, 'POST /v1/chat/completions', { payload: { model: 'model', messages, metadata: { task: 'title_generation' } } });
    await connect(gateway);
    expect(textIn(await resume(gateway, wait))).toBe('Sent.');
  });

  it('has no link where nobody knows the address, and still a token', async () => {
    await using gateway = await connectingGateway([send, says('Sent.')], { TOOLWHARF_ADMIN_KEY: 'sk-tw-fixed-administrator' });
    const payload = { model: 'model', messages: [{ role: 'user', content: 'Send it' }] };
    const headers = { host: 'chat.internal', authorization: 'Bearer sk-tw-fixed-administrator' };
    const response = await gateway.app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload });
    const { connect: wait, choices } = response.json<AskedToConnect>();
    expect(wait.servers).toEqual([{ server: 'mail', name: 'Mail' }]);
    expect(choices[0]?.message.content).toContain('PUBLIC_URL');
    const key = 'sk-tw-fixed-administrator';
    await connect(gateway, 'mail', key);
    expect(textIn(await resume(gateway, wait, { key }))).toBe('Sent.');
  });
});

describe('a stream that is followed', () => {
  it('goes on by itself when its user has connected', async () => {
    await using gateway = await connectingGateway([send, says('Sent.')]);
    await listen(gateway.app);
    const response = await fetch(`${gateway.app.server.listeningOrigin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Python/3.12 aiohttp/3.13.2' },
      body: JSON.stringify({ model: 'model', messages: [{ role: 'user', content: 'Send it' }], stream: true }),
    });
    let raw = '';
    const end = (async () => {
      for await (const bytes of response.body ?? []) raw += new TextDecoder().decode(bytes);
    })();
    await waitFor(() => expect(raw).toContain('"connect":{'));
    const frame = raw.split('\n\n').find((each) => each.includes('"connect":{')) ?? '';
    const { connect: wait } = JSON.parse(frame.slice(6)) as { connect: PendingConnect };
    await waitFor(async () => expect((await readRunOf(gateway, wait)).status).toBe('waiting'));
    await connect(gateway);
    await end;
    const seen = readSeen(raw);
    expect(seen.text.endsWith('\n\nSent.')).toBe(true);
    expect(seen.finish).toEqual(['stop']);
    expect(pathsSent(gateway)).toEqual(['/send']);
    expect(codeOf(await resume(gateway, wait))).toEqual([409, 'conflict']);
  });
});
