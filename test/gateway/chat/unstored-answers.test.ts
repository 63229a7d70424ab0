import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../src/core/errors.ts';
import type { ChatStore } from '../../../src/core/stores/chat-store.ts';
import type { WaitingRunStore } from '../../../src/core/runs/suspended-run.ts';
import type { ResponseStore } from '../../../src/core/stores/response-store.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen, readChunks } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { memoryChats, memoryStores } from '../../_support/memory-stores.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { waitFor } from '../../_support/wait-for.ts';
import type { GatewayOptions } from '../gateway.ts';
import { bankGateway, call, decide } from '../approvals/approval-fixture.ts';
import type { Asked } from '../approvals/approval-fixture.ts';
import { storedAnswerCharacters } from '../../../src/http/dialects/answers/store-answer.ts';

const key = 'sk-tw-fixed-administrator';
const full = new GatewayError('storage_unavailable', '/secret/place/toolwharf.db cannot grow: the disk is full.');
const overloaded = new GatewayError('overloaded', 'Too much waits.', { retryAfter: '5' });
const warned = (why: string): object => ({
  store: false,
  warnings: [{ code: 'not_stored', message: expect.stringMatching(new RegExp(`^This answer was not stored, because ${why}`)) }],
});
const unwritable = warned('the database cannot be written at the moment');

async function openGateway(options: GatewayOptions) {
  const gateway = await bankGateway({ environment: { TOOLWHARF_ADMIN_KEY: key, STORE_CHATS: 'true' }, ...options });
  onTestFinished(() => gateway.app.close());
  const post = (path: string, payload: object) =>
    call(gateway, `POST ${path}`, { key, payload: { model: 'model', tool_ids: [], ...payload } });
  return { gateway, post };
}

const failing = (error: GatewayError) => async (): Promise<never> => {
  throw error;
};
const failingChats = (error = full): ChatStore => ({ ...memoryChats(), save: failing(error) });
const failingResponses = (error = full): ResponseStore => ({ ...memoryStores().responses, add: failing(error) });

/** The response in the last event of a stream. */
const lastIn = (body: string): JsonObject => {
  const last = readChunks(body.replaceAll(/^event: .*\n/gm, '')).at(-1) as { response: JsonObject };
  return last.response;
};

describe('an answer that was to be stored and is not says so', () => {
  const messages = [{ role: 'user', content: 'Where?' }];

  it('as a chat completion', async () => {
    const { post, gateway } = await openGateway({ turns: [says('Here.'), says('Here.')], chats: failingChats() });
    const answer = (await post('/v1/chat/completions', { messages, store: true })).json<JsonObject>();
    expect(answer).toMatchObject({ choices: [{ message: { content: 'Here.' } }], ...unwritable });
    expect(JSON.stringify(answer)).not.toContain('/secret/place');
    expect(gateway.app.logLines.join('')).toContain('/secret/place');
    const plain = (await post('/v1/chat/completions', { messages })).json<JsonObject>();
    expect([plain['warnings'], plain['store']]).toEqual([undefined, undefined]);
  });

  it('as a chat completion that streams, before its end', async () => {
    const { post } = await openGateway({ turns: [says('Here.')], chats: failingChats(overloaded) });
    const chunks = readChunks((await post('/v1/chat/completions', { messages, store: true, stream: true })).body);
    expect(chunks.at(-1)).toBe('[DONE]');
    expect(chunks.at(-2)).toMatchObject(warned('too much waits'));
  });

  it('over a socket', async () => {
    const { gateway } = await openGateway({ turns: [says('Here.')], chats: failingChats() });
    const browser = await connectFakeBrowser({ url: await listen(gateway.app), token: key });
    browser.send({ type: 'message', data: { model: 'model', content: 'Where?', store: true } });
    expect((await browser.next('assistant_end')).data).toMatchObject(unwritable);
    browser.terminate();
  });

  it('as a response, which says store: true when it is stored', async () => {
    const kept = await openGateway({ turns: [says('Here.')] });
    expect((await kept.post('/v1/responses', { input: 'Where?' })).json()).toMatchObject({ store: true });
    const { post } = await openGateway({ turns: [says('Here.')], responses: failingResponses() });
    expect((await post('/v1/responses', { input: 'Where?' })).json()).toMatchObject({ status: 'completed', ...unwritable });
  });

  it('as a response that streams', async () => {
    const { post } = await openGateway({ turns: [says('Here.')], responses: failingResponses(overloaded) });
    const { body } = await post('/v1/responses', { input: 'Where?', stream: true });
    expect(lastIn(body)).toMatchObject({ status: 'completed', ...warned('too much waits') });
  });

  it('as a response that is too large', async () => {
    const { post } = await openGateway({ turns: [says('x'.repeat(storedAnswerCharacters + 1))] });
    const response = await post('/v1/responses', { input: 'Where?' });
    expect(response.json()).toMatchObject(warned('it is larger than 2097152 characters'));
  });

  it('as a response that fails in its stream, which is never stored', async () => {
    const { post } = await openGateway({ turns: [[{ type: 'text', text: 'He' }, new GatewayError('upstream_error', 'Broken.')]] });
    const { body } = await post('/v1/responses', { input: 'Where?', stream: true });
    expect(lastIn(body)).toMatchObject({ status: 'failed', store: false });
  });

  it('as a response that repeats what still waits after a decision', async () => {
    const { responses } = memoryStores();
    let isFull = false;
    const store: ResponseStore = { ...responses, add: (stored) => (isFull ? failing(full)() : responses.add(stored)) };
    const { post } = await openGateway({
      turns: [calls(['pay', { amount: 5 }], ['refund', { amount: 1 }])],
      responses: store,
    });
    const asked = (await post('/v1/responses', { input: 'Pay.', tool_ids: ['server:bank'] })).json<{ id: string; output: JsonObject[] }>();
    const waiting = asked.output.filter(({ type }) => type === 'mcp_approval_request');
    expect(waiting).toHaveLength(2);
    isFull = true;
    const decision = { type: 'mcp_approval_response', approval_request_id: waiting[0]?.['id'], approve: true };
    const next = await post('/v1/responses', { previous_response_id: asked.id, input: [decision] });
    expect(next.json()).toMatchObject(unwritable);
  });

  it('as the end of a response in the background, which is tried several times', async () => {
    const { responses } = memoryStores();
    let failures = 0;
    let isFull = true;
    const store: ResponseStore = {
      ...responses,
      async replaceRunning(stored) {
        if (isFull) failures += 1;
        if (isFull) throw full;
        return responses.replaceRunning(stored);
      },
    };
    const { post, gateway } = await openGateway({ turns: [says('Here.'), says('There.')], responses: store });
    const begun = (await post('/v1/responses', { input: 'Where?', background: true })).json<{ id: string }>();
    await waitFor(() => expect(failures).toBe(1));
    expect((await call(gateway, `GET /v1/responses/${begun.id}`, { key })).json()).toMatchObject({ status: 'in_progress' });
    isFull = false;
    await waitFor(async () =>
      expect((await call(gateway, `GET /v1/responses/${begun.id}`, { key })).json()).toMatchObject({ status: 'completed' }),
    );
    isFull = true;
    const stream = post('/v1/responses', { input: 'Where?', background: true, stream: true });
    await waitFor(() => expect(failures).toBe(2));
    // A shutdown waits no longer.
    await gateway.app.close();
    expect(lastIn((await stream).body)).toMatchObject({ status: 'completed', ...unwritable });
  });
});

describe('an approval that cannot be kept', () => {
  const asks = { messages: [{ role: 'user', content: 'Pay 5, please.' }], tool_ids: ['server:bank'] };
  const pays = calls(['pay', { amount: 5 }]);

  it('is not asked for: its call does not run, and the answer says why', async () => {
    const waitingRuns: WaitingRunStore = { ...memoryStores().waitingRuns, save: failing(overloaded) };
    const { post, gateway } = await openGateway({ turns: [pays, says('I could not pay.')], waitingRuns });
    const answer = (await post('/v1/chat/completions', asks)).json<JsonObject>();
    expect(answer).toMatchObject({ choices: [{ message: { content: 'I could not pay.' } }], warnings: [{ code: 'overloaded' }] });
    expect(answer).not.toHaveProperty('approval');
    expect(gateway.sent).toEqual([]);
  });

  it('as a decision is refused, and the same decision counts later', async () => {
    const { waitingRuns } = memoryStores();
    let isFull = true;
    const store: WaitingRunStore = { ...waitingRuns, decide: (...args) => (isFull ? failing(overloaded)() : waitingRuns.decide(...args)) };
    const { post, gateway } = await openGateway({ turns: [pays, says('Paid.')], waitingRuns: store });
    const asked = (await post('/v1/chat/completions', asks)).json<Asked>();
    const refused = await decide(gateway, asked, { key });
    expect([refused.statusCode, refused.headers['retry-after'], refused.json()]).toMatchObject([
      503,
      '5',
      { error: { code: 'overloaded' } },
    ]);
    expect(gateway.sent).toEqual([]);
    isFull = false;
    expect((await decide(gateway, asked, { key })).json()).toMatchObject({ choices: [{ message: { content: 'Paid.' } }] });
    expect(gateway.sent).toHaveLength(1);
  });
});
