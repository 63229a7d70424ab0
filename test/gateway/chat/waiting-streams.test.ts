import { describe, expect, it } from 'vitest';
import { listen } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { readSeen } from '../gateway.ts';
import type { Gateway } from '../gateway.ts';
import { bankGateway, call, decide, ended, linkOf, pathsSent, readRun, visit } from '../approvals/approval-fixture.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { Asked } from '../approvals/approval-fixture.ts';
import { waitFor } from '../../_support/wait-for.ts';

const openWebUi = 'Python/3.12 aiohttp/3.13.2';
const pay = calls(['pay', { amount: 5 }]);

interface Stream {
  /** What has come so far. */
  raw: () => string;
  /** The approval that came at last, once there is a number of them. */
  asked(count?: number): Promise<Pick<Asked, 'approval'>>;
  end: Promise<void>;
  leave(): void;
}

async function streamOf(
  gateway: Gateway,
  { key, agent = openWebUi, ...fields }: { key?: string; agent?: string; chat_id?: string } = {},
): Promise<Stream> {
  const url = gateway.app.server.listeningOrigin;
  const controller = new AbortController();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': agent, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model: 'model', messages: [{ role: 'user', content: 'Pay 5' }], stream: true, ...fields }),
    signal: controller.signal,
  });
  let raw = '';
  async function read(): Promise<void> {
    for await (const bytes of response.body ?? []) raw += new TextDecoder().decode(bytes);
  }
  const approvals = (): Asked['approval'][] =>
    raw.split('\n\n').flatMap((frame) => (frame.includes('"approval":{') ? [(JSON.parse(frame.slice(6)) as Asked).approval] : []));
  return {
    raw: () => raw,
    async asked(count = 1) {
      await waitFor(() => expect(approvals().length).toBeGreaterThanOrEqual(count));
      const approval = approvals().at(-1);
      if (approval === undefined) throw new Error('nothing waits');
      return { approval };
    },
    end: read().catch(() => undefined),
    leave: () => controller.abort(),
  };
}

/** The chunks after the one with the approval. */
function afterApproval(raw: string): JsonObject[] {
  const frames = raw.split('\n\n').filter((frame) => frame.startsWith('data: {'));
  const last = frames.findLastIndex((frame) => frame.includes('"approval":{'));
  return frames.slice(last + 1).map((frame) => JSON.parse(frame.slice('data: '.length)) as JsonObject);
}

async function listening(options: Parameters<typeof bankGateway>[0]): Promise<Gateway> {
  const gateway = await bankGateway(options);
  await listen(gateway.app);
  return gateway;
}

describe('a stream of Open WebUI whose run waits for an approval', () => {
  it('stays open, and goes on with the answer when the page decides [S2-11]', async () => {
    await using gateway = await listening({ turns: [calls(['look', {}], ['pay', { amount: 5 }]), says('Paid.')] });
    const stream = await streamOf(gateway);
    const asked = await stream.asked();
    await waitFor(async () => expect((await readRun(gateway, asked)).status).toBe('waiting'));
    expect(readSeen(stream.raw()).finish).toEqual([]);
    expect(stream.raw()).not.toContain('[DONE]');
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await stream.end;
    const seen = readSeen(stream.raw());
    expect([seen.text, seen.finish]).toEqual([
      `Waiting for your approval: pay({"amount":5}).\n\nDecide here: ${asked.approval.url}\n\nPaid.`,
      ['stop'],
    ]);
    expect(seen.sources.map(({ source }) => source)).toEqual([{ name: 'TOOL:bank/look' }, { name: 'TOOL:bank/pay' }]);
    expect(stream.raw().endsWith('data: [DONE]\n\n')).toBe(true);
    expect((await readRun(gateway, asked)).status).toBe('completed');
  });

  it('has an empty chunk after the link, with which Open WebUI shows the link in a channel', async () => {
    await using gateway = await listening({ turns: [pay, says('Paid.')] });
    const stream = await streamOf(gateway);
    const asked = await stream.asked();
    await waitFor(() =>
      expect(afterApproval(stream.raw())).toMatchObject([{ choices: [{ delta: { content: '' }, finish_reason: null }] }]),
    );
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await stream.end;
    expect(readSeen(stream.raw()).text).toMatch(/\/approvals\/\S+\n\nPaid\.$/);
  });

  it('says in the line of Open WebUI what is done, also about a call that was approved', async () => {
    await using gateway = await listening({ turns: [pay, says('Paid.')] });
    const stream = await streamOf(gateway);
    await visit(gateway, linkOf(await stream.asked()), { form: { decision: 'approve' } });
    await stream.end;
    const lines = readSeen(stream.raw()).eventsOf('status');
    expect(lines.map(({ description, done }) => [description, done])).toEqual([
      ['Calling pay…', false],
      ['Waiting for approval of pay', false],
      ['Calling pay…', false],
      ['Called pay', true],
    ]);
  });

  it('goes on as well when a program decides, which gets the same answer', async () => {
    await using gateway = await listening({ turns: [pay, says('Paid.')] });
    const stream = await streamOf(gateway);
    const answer = await decide(gateway, await stream.asked());
    expect(readSeen(answer.body).text).toBe('Paid.');
    await stream.end;
    expect(readSeen(stream.raw()).text).toMatch(/\n\nPaid\.$/);
  });

  it('waits again when the run asks again', async () => {
    await using gateway = await listening({ turns: [pay, calls(['refund', { amount: 1 }]), says('Both.')] });
    const stream = await streamOf(gateway);
    await visit(gateway, linkOf(await stream.asked()), { form: { decision: 'approve' } });
    const second = await stream.asked(2);
    expect(readSeen(stream.raw()).finish).toEqual([]);
    await visit(gateway, linkOf(second), { form: { decision: 'reject' } });
    await stream.end;
    expect(readSeen(stream.raw())).toMatchObject({
      text: expect.stringMatching(/Decide here: \S+\n\nWaiting .*\n\nDecide here: \S+\n\nBoth\.$/),
      finish: ['stop'],
    });
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it('ends as usual when nobody decides in time, and the link stays good', async () => {
    await using gateway = await listening({ turns: [pay, says('Paid.')], environment: { APPROVAL_TIMEOUT_MS: '50' } });
    const stream = await streamOf(gateway);
    const asked = await stream.asked();
    await stream.end;
    expect(readSeen(stream.raw()).finish).toEqual(['stop']);
    expect(stream.raw().endsWith('data: [DONE]\n\n')).toBe(true);
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await ended(gateway, asked);
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it('tells an error of the answer, and the page can try it again', async () => {
    await using gateway = await listening({ turns: [pay, [new Error('down')], says('Paid.')] });
    const stream = await streamOf(gateway);
    const asked = await stream.asked();
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await stream.end;
    expect(stream.raw()).toMatch(/data: \{"error":\{.*\n\n$/);
    expect(stream.raw()).not.toContain('[DONE]');
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await ended(gateway, asked);
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it('may be left: the decision is taken, and the run goes on without its reader', async () => {
    const paused = Promise.withResolvers<void>();
    await using gateway = await listening({ turns: [pay, [paused.promise, ...says('Paid.')]] });
    const stream = await streamOf(gateway);
    const asked = await stream.asked();
    await visit(gateway, linkOf(asked), { form: { decision: 'approve' } });
    await waitFor(() => expect(pathsSent(gateway)).toEqual(['/pay']));
    stream.leave();
    await stream.end;
    paused.resolve();
    await ended(gateway, asked);
    expect((await readRun(gateway, asked)).status).toBe('completed');
  });

  it('ends with its run, when that is cancelled, and when the gateway stops', async () => {
    const gateway = await listening({ turns: [pay, pay] });
    const first = await streamOf(gateway);
    await call(gateway, `POST /api/runs/${(await first.asked()).approval.run_id}/cancel`, { payload: {} });
    await first.end;
    expect(readSeen(first.raw()).finish).toEqual(['stop']);
    const second = await streamOf(gateway);
    await second.asked();
    await gateway.app.close();
    await second.end;
    expect(second.raw().endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('takes no part of the limits of its key while it waits, and ends with the key', async () => {
    const adminKey = 'sk-tw-administrator';
    await using gateway = await listening({
      turns: [pay, says('Hello.'), says('Paid.'), pay],
      environment: { TOOLWHARF_ADMIN_KEY: adminKey },
    });
    const payload = { name: 'anna', role: 'user', limits: { concurrent_runs: 1 } };
    const { id, key } = (await call(gateway, 'POST /api/keys', { key: adminKey, payload })).json<{ id: string; key: string }>();
    const stream = await streamOf(gateway, { key });
    const asked = await stream.asked();
    const chat = { model: 'model', messages: [{ role: 'user', content: 'Hello' }] };
    await waitFor(async () => expect((await call(gateway, 'POST /v1/chat/completions', { key, payload: chat })).statusCode).toBe(200));
    expect((await visit(gateway, linkOf(asked), { form: { decision: 'approve' } })).statusCode).toBe(303);
    await stream.end;
    expect(readSeen(stream.raw()).text).toMatch(/\n\nPaid\.$/);
    const second = await streamOf(gateway, { key });
    await second.asked();
    await call(gateway, `DELETE /api/keys/${id}`, { key: adminKey });
    await second.end;
  });
});

describe("in Open WebUI's other connections", () => {
  const question = { role: 'user', content: 'Pay 5' };

  async function ask(
    gateway: Gateway,
    route: string,
    payload: object,
    agent = openWebUi,
  ): Promise<{ raw: () => string; end: Promise<void> }> {
    const response = await fetch(`${gateway.app.server.listeningOrigin}${route}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': agent },
      body: JSON.stringify({ model: 'model', stream: true, ...payload }),
    });
    let raw = '';
    async function read(): Promise<void> {
      for await (const bytes of response.body ?? []) raw += new TextDecoder().decode(bytes);
    }
    return { raw: () => raw, end: read() };
  }

  /** Approves what waits, at the page whose link the answer shows. */
  async function approve(gateway: Gateway, raw: () => string): Promise<string> {
    const link = await waitFor(() => {
      const [, path] = /Decide here: http:\/\/[^/]+(\/approvals\/[\w.-]+)/.exec(raw()) ?? [];
      if (path === undefined) throw new Error('no link yet');
      return path;
    });
    await visit(gateway, link, { form: { decision: 'approve' } });
    return link;
  }

  it('the link is in the text of a response, which goes on in it, and the next request knows what came of it', async () => {
    await using gateway = await listening({ turns: [pay, says('Paid.'), says('Yes.')] });
    const stream = await ask(gateway, '/v1/responses', { input: [question] });
    await approve(gateway, stream.raw);
    await stream.end;
    const frames = stream.raw().split('\n\n');
    const { response } = JSON.parse(frames.at(-2)?.split('data: ')[1] ?? '') as { response: { output: JsonObject[]; status: string } };
    expect(response.status).toBe('completed');
    const texts = response.output.flatMap(({ content }) => ((content ?? []) as { text: string }[]).map(({ text }) => text));
    expect(texts.join('')).toMatch(/^Waiting for your approval: pay\(\{"amount":5\}\)\.\n\nDecide here: \S+\n\nPaid\.$/);
    expect(response.output.map(({ type }) => type)).toEqual(['mcp_approval_request', 'message', 'mcp_call', 'message']);
    // Open WebUI sends the texts alone, joined.
    const told = { role: 'assistant', content: [{ type: 'output_text', text: texts.join('') }] };
    await (
      await ask(gateway, '/v1/responses', { input: [question, told, question] })
    ).end;
    expect(gateway.model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(JSON.stringify(gateway.model.requests.at(-1)?.messages)).not.toContain('approvals/');
  });

  it('a response that is stored gives the next one each call once', async () => {
    await using gateway = await listening({ turns: [pay, says('Paid.'), says('Yes.')], environment: { STORE_CHATS: 'true' } });
    const stream = await ask(gateway, '/v1/responses', { input: [question] });
    await approve(gateway, stream.raw);
    await stream.end;
    const [, id] = /"id":"(resp_[^"]+)"/.exec(stream.raw()) ?? [];
    await (
      await ask(gateway, '/v1/responses', { input: [question], previous_response_id: id })
    ).end;
    expect(gateway.model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  });

  it('an answer of /api/chat goes on below the link', async () => {
    await using gateway = await listening({ turns: [pay, says('Paid.')] });
    const stream = await ask(gateway, '/api/chat', { messages: [question] });
    await approve(gateway, stream.raw);
    await stream.end;
    const lines = stream
      .raw()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { message: { content: string }; done: boolean });
    expect(lines.map(({ message }) => message.content).join('')).toMatch(/Decide here: \S+\n\nPaid\.$/);
    expect(lines.filter(({ done }) => done)).toHaveLength(1);
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });

  it.each(['/v1/responses', '/api/chat'])('while %s ends at once for any other client', async (route) => {
    await using gateway = await listening({ turns: [pay] });
    const stream = await ask(gateway, route, route === '/api/chat' ? { messages: [question] } : { input: [question] }, 'ollama-python/0.6');
    await stream.end;
    expect(stream.raw()).toContain('Decide here');
  });
});

it('the stream of any other client ends at once', async () => {
  await using gateway = await listening({ turns: [pay] });
  const stream = await streamOf(gateway, { agent: 'OpenAI/JS 5.0' });
  await stream.end;
  expect(readSeen(stream.raw()).finish).toEqual(['stop']);
});
