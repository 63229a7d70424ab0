import type { OpenAI } from 'openai';
import type { Response, ResponseCreateParams, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { memoryStores } from '../../../_support/memory-stores.ts';
import { calls, says } from '../../../_support/scripted-model.ts';
import type { ScriptStep } from '../../../_support/scripted-model.ts';
import { call } from '../../../gateway/approvals/approval-fixture.ts';
import { adminKey, openOffice } from './stored-fixture.ts';
import { headersDelayMs } from '../../../../src/http/dialects/answers/answer-run.ts';
import { backgroundResponsesPerCaller } from '../../../../src/http/dialects/responses/stored/background-responses.ts';

/** A turn that says a word, and the rest when it is let. */
function slowTurn(): { turn: ScriptStep[]; finish: () => void } {
  const gate = Promise.withResolvers<void>();
  const turn: ScriptStep[] = [{ type: 'text', text: 'On' }, gate.promise, ...says(' the shelf.')];
  return { turn, finish: gate.resolve };
}

const question = { model: 'model', input: 'Where?', background: true } as const;

async function ended(client: OpenAI, id: string): Promise<Response> {
  let response = await client.responses.retrieve(id);
  while (response.status === 'queued' || response.status === 'in_progress') {
    await new Promise((resolve) => setTimeout(resolve, 10));
    response = await client.responses.retrieve(id);
  }
  return response;
}

async function eventsOf(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  return Array.fromAsync(stream);
}

const numbersOf = (events: readonly ResponseStreamEvent[]): number[] => events.map((event) => event.sequence_number);
const textOf = (events: readonly ResponseStreamEvent[]): string =>
  events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');

describe('a response in the background', () => {
  it('is answered at once, goes on by itself, and is polled', async () => {
    const { turn, finish } = slowTurn();
    const { client } = await openOffice({ turns: [turn] });
    const begun = await client.responses.create(question);
    expect(begun).toMatchObject({ status: 'in_progress', background: true, store: true, output: [] });
    expect(await client.responses.retrieve(begun.id)).toMatchObject({ id: begun.id, status: 'in_progress' });
    finish();
    const response = await ended(client, begun.id);
    expect(response).toMatchObject({ status: 'completed', output_text: 'On the shelf.', created_at: begun.created_at });
    expect((await client.responses.inputItems.list(begun.id)).data).toHaveLength(1);
  });

  it('is built on once it is complete, not before', async () => {
    const { turn, finish } = slowTurn();
    const { client } = await openOffice({ turns: [turn, says('Blue.')] });
    const { id } = await client.responses.create(question);
    const next = { model: 'model', input: 'Which?', previous_response_id: id };
    await expect(client.responses.create(next)).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
      message: expect.stringContaining('is not complete'),
    });
    finish();
    await ended(client, id);
    expect((await client.responses.create(next)).output_text).toBe('Blue.');
  });

  it('runs functions, and waits for approvals', async () => {
    const { client } = await openOffice({ turns: [calls(['look', { account: 'a' }]), calls(['pay', { amount: 5 }]), says('Paid.')] });
    const { id } = await client.responses.create(question);
    const response = await ended(client, id);
    expect(response.output.map(({ type }) => type)).toEqual(['mcp_call', 'mcp_approval_request', 'message']);
    const decision = { type: 'mcp_approval_response' as const, approval_request_id: response.output[1]?.id ?? '', approve: true };
    const next = await client.responses.create({ ...question, input: [decision], previous_response_id: id });
    expect(next.status).toBe('in_progress');
    expect((await ended(client, next.id)).output_text).toBe('Paid.');
  });

  it('that fails says so', async () => {
    const { client } = await openOffice({ turns: [[{ type: 'text', text: 'On' }, new Error('broken')]] });
    const { id } = await client.responses.create(question);
    const response = await ended(client, id);
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringContaining('Internal error') },
    });
    await expect(client.responses.create({ model: 'model', previous_response_id: id, input: 'And?' })).rejects.toMatchObject({
      status: 400,
    });
  });

  it.each<[what: string, fields: JsonObject, refusal: JsonObject]>([
    ['an unknown model', { model: 'nope' }, { status: 404, code: 'model_not_found' }],
    ['an unknown tool', { tool_ids: ['server:nope'] }, { status: 400, param: 'tool_ids' }],
    [
      'a choice of a function that is not there',
      { tool_choice: { type: 'function', name: 'nope' } },
      { status: 400, param: 'tool_choice' },
    ],
    ['a tool in a wrong form', { tools: [{ type: 'function', name: 7 }] }, { status: 400, param: 'tools.0.name' }],
  ])('is refused at once for %s, streamed or not, and not stored', async (_what, fields, refusal) => {
    const { responses } = memoryStores();
    const added = vi.spyOn(responses, 'add');
    const { client, gateway, newKey, clientOf } = await openOffice({ turns: [says('Here.')], responses });
    for (const stream of [false, true]) {
      const asked = client.responses.create({ ...question, ...fields, stream } as ResponseCreateParams);
      await expect(asked).rejects.toMatchObject(refusal);
    }
    expect(gateway.model.requests).toEqual([]);
    expect(added).not.toHaveBeenCalled();
    const { key } = await newKey({ limits: { concurrent_runs: 1 } });
    await expect(clientOf(key).responses.create({ ...question, ...fields } as ResponseCreateParams)).rejects.toMatchObject(refusal);
    await ended(clientOf(key), (await clientOf(key).responses.create(question)).id);
  });

  it('counts against the limits of its key while it runs', async () => {
    const { turn, finish } = slowTurn();
    const { newKey, clientOf } = await openOffice({ turns: [turn, says('Next.')] });
    const { key } = await newKey({ limits: { concurrent_runs: 1 } });
    const client = clientOf(key);
    const { id } = await client.responses.create(question);
    await expect(client.responses.create({ model: 'model', input: 'And?' })).rejects.toMatchObject({ status: 429 });
    finish();
    await ended(client, id);
    expect((await client.responses.create({ model: 'model', input: 'And?' })).output_text).toBe('Next.');
  });

  it('is one of so many at most', async () => {
    const gate = Promise.withResolvers<void>();
    const turn = (): ScriptStep[] => [gate.promise, ...says('Done.')];
    const { client } = await openOffice({ turns: Array.from({ length: backgroundResponsesPerCaller + 1 }, turn) });
    for (let number = 0; number < backgroundResponsesPerCaller; number += 1) await client.responses.create(question);
    await expect(client.responses.create(question)).rejects.toMatchObject({
      status: 429,
      code: 'rate_limit_exceeded',
      param: 'background',
    });
    gate.resolve();
    await expect.poll(async () => (await client.responses.create(question).catch(() => undefined))?.status).toBe('in_progress');
  });

  it('needs a store', async () => {
    const { client } = await openOffice({ turns: [says('a')] });
    await expect(client.responses.create({ ...question, store: false })).rejects.toMatchObject({
      status: 400,
      param: 'background',
      message: expect.stringContaining('Leave out "store": false'),
    });
  });
});

describe('cancelling', () => {
  it('ends a response in the background, however often, with what it has said', async () => {
    const { turn } = slowTurn();
    const { client, gateway } = await openOffice({ turns: [turn] });
    const { id } = await client.responses.create(question);
    await expect.poll(() => gateway.model.requests.length).toBe(1);
    const cancelled = await Promise.all([1, 2, 3].map(() => client.responses.cancel(id)));
    expect(cancelled.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect(await client.responses.retrieve(id)).toMatchObject({ status: 'cancelled', error: null });
    expect((await client.responses.cancel(id)).status).toBe('cancelled');
    await expect.poll(() => gateway.model.requests[0]?.signal.aborted).toBe(true);
    const runs = async () => (await call(gateway, 'GET /api/runs', { key: adminKey })).json<{ data: { status: string }[] }>().data;
    await expect.poll(async () => (await runs())[0]?.status).toBe('cancelled');
  });

  it('leaves what has ended as it is, and others than those in the background', async () => {
    const { client, ask } = await openOffice({ turns: [says('One.'), says('Two.')] });
    const { id } = await client.responses.create(question);
    await ended(client, id);
    expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'completed' });
    const plain = await ask();
    await expect(client.responses.cancel(plain.id)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('"background": true'),
    });
    await expect(client.responses.cancel('resp_never')).rejects.toMatchObject({ status: 404 });
  });

  it('of the run cancels the response, and deleting it too', async () => {
    const { client, gateway } = await openOffice({ turns: [slowTurn().turn, slowTurn().turn] });
    const { data: first, response } = await client.responses.create(question).withResponse();
    const runId = response.headers.get('x-toolwharf-run-id');
    expect((await call(gateway, `POST /api/runs/${runId ?? ''}/cancel`, { key: adminKey })).statusCode).toBe(200);
    expect((await ended(client, first.id)).status).toBe('cancelled');
    const second = await client.responses.create(question);
    await client.responses.delete(second.id);
    await expect.poll(() => gateway.model.requests.at(-1)?.signal.aborted).toBe(true);
    await expect(client.responses.retrieve(second.id)).rejects.toMatchObject({ status: 404 });
  });

  it('of a key’s responses is what its deletion does, and nothing is left', async () => {
    const { responses } = memoryStores();
    const { turn } = slowTurn();
    const { newKey, clientOf, gateway } = await openOffice({ turns: [turn], responses });
    const { id: keyId, key } = await newKey();
    const { id } = await clientOf(key).responses.create(question);
    await expect.poll(() => gateway.model.requests.length).toBe(1);
    expect(await responses.find(keyId, id)).toBeDefined();
    await call(gateway, `DELETE /api/keys/${keyId}`, { key: adminKey });
    await expect.poll(() => gateway.model.requests[0]?.signal.aborted).toBe(true);
    await expect.poll(() => responses.find(keyId, id)).toBeUndefined();
  });
});

describe('a stream in the background', () => {
  // A reader who waits for something new gets the headers at once.
  it('outlives its client, who reads on where it stopped', { timeout: headersDelayMs }, async () => {
    const { turn, finish } = slowTurn();
    const { client } = await openOffice({ turns: [turn] });
    const seen: ResponseStreamEvent[] = [];
    const stream = await client.responses.create({ ...question, stream: true });
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.output_text.delta') break;
    }
    const [created] = seen;
    const id = created?.type === 'response.created' ? created.response.id : '';
    expect(await client.responses.retrieve(id)).toMatchObject({ status: 'in_progress', background: true });
    const after = seen.at(-1)?.sequence_number ?? 0;
    const rest = eventsOf(await client.responses.retrieve(id, { stream: true, starting_after: after }));
    finish();
    const all = [...seen, ...(await rest)];
    expect(numbersOf(all)).toEqual(all.map((_event, index) => index));
    expect(textOf(all)).toBe('On the shelf.');
    const last = all.at(-1);
    expect(last).toMatchObject({ type: 'response.completed', response: { id, status: 'completed' } });
    expect(await client.responses.retrieve(id)).toMatchObject({ status: 'completed', output_text: 'On the shelf.' });
    // Also after its end, for a while.
    expect(await eventsOf(await client.responses.retrieve(id, { stream: true }))).toEqual(all);
  });

  it('has several readers', async () => {
    const { turn, finish } = slowTurn();
    const { client } = await openOffice({ turns: [turn] });
    const first = await client.responses.create({ ...question, stream: true });
    const iterator = first[Symbol.asyncIterator]();
    const created = (await iterator.next()).value as ResponseStreamEvent & { response: Response };
    const readers = [0, 1].map(async () => eventsOf(await client.responses.retrieve(created.response.id, { stream: true })));
    finish();
    const [one, two] = await Promise.all(readers);
    const own = [created, ...(await Array.fromAsync({ [Symbol.asyncIterator]: () => iterator }))];
    expect([one, two]).toEqual([own, own]);
  });

  it('that is cancelled ends with the response', async () => {
    const { client } = await openOffice({ turns: [slowTurn().turn] });
    const stream = await client.responses.create({ ...question, stream: true });
    const seen: ResponseStreamEvent[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.created') await client.responses.cancel(event.response.id);
    }
    expect(seen.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'cancelled' } });
  });

  it('is there for what was requested as one alone; of others there is the end', async () => {
    const { turn, finish } = slowTurn();
    const { client } = await openOffice({ turns: [turn] });
    const { id } = await client.responses.create(question);
    await expect(client.responses.retrieve(id, { stream: true })).rejects.toMatchObject({ status: 400, param: 'stream' });
    finish();
    await ended(client, id);
    const events = await eventsOf(await client.responses.retrieve(id, { stream: true, starting_after: 3 }));
    expect(events).toMatchObject([{ type: 'response.completed', sequence_number: 4, response: { id, status: 'completed' } }]);
    await expect(client.responses.retrieve(id, { stream: true, starting_after: -1 })).rejects.toMatchObject({ param: 'starting_after' });
  });
});

describe('when the gateway stops', () => {
  it('it waits for responses in the background, and ends those that take too long', async () => {
    const { responses } = memoryStores();
    const quick = slowTurn();
    const { gateway, newKey, clientOf } = await openOffice({ turns: [quick.turn, slowTurn().turn], responses });
    const { id: keyId, key } = await newKey();
    const [first, second] = [await clientOf(key).responses.create(question), await clientOf(key).responses.create(question)];
    await expect.poll(() => gateway.model.requests.length).toBe(2);
    const closed = gateway.app.close();
    quick.finish();
    await closed;
    expect((await responses.find(keyId, first.id))?.response).toMatchObject({ status: 'completed' });
    const failed = await responses.find(keyId, second.id);
    expect(failed).toMatchObject({
      isRunning: false,
      response: { status: 'failed', error: { message: expect.stringContaining('shut down') } },
    });
  });

  it('at once, what was running has failed after the restart, and says so', async () => {
    const { responses } = memoryStores();
    const office = await openOffice({ turns: [slowTurn().turn], responses });
    const { id } = await office.client.responses.create(question);
    const after = await openOffice({ responses });
    const response = await after.client.responses.retrieve(id);
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringContaining('gateway stopped') },
    });
    expect((await after.client.responses.cancel(id)).status).toBe('failed');
    await expect(after.client.responses.create({ model: 'model', input: 'And?', previous_response_id: id })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('has the status "failed"'),
    });
    await after.client.responses.delete(id);
    await expect(after.client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });
});
