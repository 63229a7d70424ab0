import { NotFoundError } from 'openai';
import type { Response } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';
import { memoryStores } from '../../../_support/memory-stores.ts';
import { calls, says } from '../../../_support/scripted-model.ts';
import { call, decide, pathsSent } from '../../../gateway/approvals/approval-fixture.ts';
import type { Asked } from '../../../gateway/approvals/approval-fixture.ts';
import { adminKey, openOffice } from './stored-fixture.ts';
import { storedAnswerCharacters } from '../../../../src/http/dialects/answers/store-answer.ts';
import { responseHistoryCharacters } from '../../../../src/http/dialects/responses/stored/prepare-request.ts';

describe('a stored response', () => {
  it('is read back as it was answered, streamed or not', async () => {
    const { client, ask } = await openOffice({ turns: [says('On the shelf.'), says('In the sink.')] });
    const answer = await ask({ metadata: { topic: 'kitchen' }, instructions: 'Be short.' });
    expect(answer).toMatchObject({ store: true, background: false, status: 'completed', output_text: 'On the shelf.' });
    expect(await client.responses.retrieve(answer.id)).toEqual(answer);

    const stream = client.responses.stream({ model: 'model', input: 'And now?' });
    const streamed = await stream.finalResponse();
    const read = await client.responses.retrieve(streamed.id);
    expect(read).toMatchObject({ id: streamed.id, created_at: streamed.created_at, output_text: 'In the sink.' });
    expect(read.output.map(({ id }) => id)).toEqual(streamed.output.map(({ id }) => id));
  });

  it('is there before the end of its stream is told', async () => {
    const { client } = await openOffice({ turns: [says('On the shelf.')] });
    const stream = await client.responses.create({ model: 'model', input: 'Where?', stream: true });
    let found: string | undefined;
    for await (const event of stream)
      if (event.type === 'response.completed') found = (await client.responses.retrieve(event.response.id)).output_text;
    expect(found).toBe('On the shelf.');
  });

  it('is not stored when it is not to be, and fails', async () => {
    const { client, ask, gateway } = await openOffice({ turns: [says('a'), [new Error('broken')]] });
    const answer = await ask({ store: false });
    expect(answer).toMatchObject({ store: false });
    await expect(client.responses.retrieve(answer.id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(ask()).rejects.toMatchObject({ status: 500 });
    const [failed] = (await call(gateway, 'GET /api/runs', { key: adminKey })).json<{ data: { status: string }[] }>().data;
    expect(failed?.status).toBe('failed');
  });

  it('needs a wish that can be read: what is not to be stored must not be', async () => {
    const { ask } = await openOffice({ turns: [says('a')] });
    await expect(ask({ store: 'false' as unknown as boolean })).rejects.toMatchObject({ status: 400, param: 'store' });
    await expect(ask({ store: 'true' as unknown as boolean, background: true })).rejects.toMatchObject({ status: 400, param: 'store' });
  });

  it('is deleted once, and then not there', async () => {
    const { client, ask, gateway } = await openOffice({ turns: [says('a')] });
    const { id } = await ask();
    const remove = () => call(gateway, `DELETE /v1/responses/${id}`, { key: adminKey });
    const answers = await Promise.all([remove(), remove(), remove()]);
    expect(answers.filter(({ statusCode }) => statusCode === 404)).toHaveLength(2);
    expect(answers.find(({ statusCode }) => statusCode === 200)?.json()).toEqual({ id, object: 'response', deleted: true });
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({
      status: 404,
      code: 'not_found',
      message: expect.stringContaining('Responses are kept for 30 days'),
    });
  });

  it('is its caller’s alone, and goes with the key', async () => {
    const { responses } = memoryStores();
    const { newKey, clientOf, client, gateway } = await openOffice({ turns: [says('a'), says('b'), says('c')], responses });
    const [ada, eve] = [await newKey({ name: 'ada' }), await newKey({ name: 'eve' })];
    const answer = await clientOf(ada.key).responses.create({ model: 'model', input: 'Where?' });
    const itemId = answer.output[0]?.id ?? '';
    for (const stranger of [clientOf(eve.key), client]) {
      await expect(stranger.responses.retrieve(answer.id)).rejects.toBeInstanceOf(NotFoundError);
      await expect(stranger.responses.inputItems.list(answer.id)).rejects.toBeInstanceOf(NotFoundError);
      await expect(stranger.responses.delete(answer.id)).rejects.toBeInstanceOf(NotFoundError);
      await expect(stranger.responses.cancel(answer.id)).rejects.toBeInstanceOf(NotFoundError);
      const built = stranger.responses.create({ model: 'model', input: 'And?', previous_response_id: answer.id });
      await expect(built).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found', param: 'previous_response_id' });
      await stranger.responses
        .create({
          model: 'model',
          input: [
            { type: 'item_reference', id: itemId },
            { role: 'user', content: 'And?' },
          ],
        })
        .catch(() => undefined);
    }
    expect(JSON.stringify(gateway.model.requests.slice(1))).not.toContain('"a"');
    expect((await clientOf(ada.key).responses.retrieve(answer.id)).output_text).toBe('a');
    await call(gateway, `DELETE /api/keys/${ada.id}`, { key: adminKey });
    await expect.poll(() => responses.find(ada.id, answer.id)).toBeUndefined();
  });

  it('has nothing of the credentials in its request', async () => {
    const { client, ask } = await openOffice({ turns: [says('a')] });
    const tools = [
      {
        type: 'mcp',
        server_label: 'm',
        server_url: 'https://mcp.test/secret-path',
        authorization: 'secret-token',
        headers: { 'x-key': 'secret-header' },
      },
    ];
    const input = [
      { type: 'additional_tools', role: 'developer', tools },
      { role: 'user', content: 'Where?' },
    ];
    const answer = await ask({
      input,
      tool_servers: [
        { url: 'https://api.test', openapi: { openapi: '3.1.0', info: {}, paths: {} }, auth_type: 'bearer', key: 'secret-key' },
      ],
    } as object);
    const items = await client.responses.inputItems.list(answer.id);
    const shown = JSON.stringify([answer, await client.responses.retrieve(answer.id), items.data]);
    expect(shown).not.toContain('secret-');
    expect(items.data).toHaveLength(1);
  });

  it('is stored without its images when it is too large, and not at all when its words are', async () => {
    const { client, ask, gateway } = await openOffice({
      environment: { BODY_LIMIT_BYTES: '20000000' },
      turns: [says('A kettle.'), says('Long.')],
    });
    const image_url = `data:image/png;base64,${'A'.repeat(storedAnswerCharacters)}`;
    const content = [
      { type: 'input_text' as const, text: 'What is it?' },
      { type: 'input_image' as const, image_url, detail: 'auto' as const },
    ];
    const { id } = await ask({ input: [{ role: 'user', content }] });
    const [message] = (await client.responses.inputItems.list(id)).data;
    expect(message).toMatchObject({
      content: [
        { type: 'input_text', text: 'What is it?' },
        { type: 'input_text', text: '[input_image left out: too large to be stored]' },
      ],
    });
    const long = await ask({ input: 'x'.repeat(storedAnswerCharacters) });
    await expect(client.responses.retrieve(long.id)).rejects.toBeInstanceOf(NotFoundError);
    expect(gateway.app.logLines.filter((line) => line.includes('a response was not stored'))).toHaveLength(1);
  });
});

describe('without STORE_CHATS', () => {
  it('responses are answered and not kept, and what would need them is refused', async () => {
    const { client, ask } = await openOffice({ environment: { STORE_CHATS: 'false' }, turns: [says('a')] });
    const answer = await ask({ store: true });
    expect(answer).toMatchObject({ store: false });
    const cure = expect.stringContaining('STORE_CHATS=true');
    await expect(client.responses.retrieve(answer.id)).rejects.toMatchObject({ status: 404, message: cure });
    const built = { status: 400, code: 'previous_response_not_found', param: 'previous_response_id', message: cure };
    await expect(ask({ previous_response_id: answer.id })).rejects.toMatchObject(built);
    await expect(ask({ background: true })).rejects.toMatchObject({ status: 400, param: 'background', message: cure });
  });
});

describe('input items', () => {
  it('are the whole conversation, the newest first, page by page', async () => {
    const { client, ask } = await openOffice({ turns: [says('One.'), says('Two.')] });
    const first = await ask({ input: 'First?' });
    const second = await ask({ input: [{ role: 'user', content: 'Second?' }], previous_response_id: first.id });
    const read = async (query: object) => (await client.responses.inputItems.list(second.id, query)).data;
    const textsOf = (items: object[]): unknown[] => items.map((item) => (item as { content: { text: string }[] }).content[0]?.text);
    const items = await read({});
    expect(textsOf(items)).toEqual(['Second?', 'One.', 'First?']);
    expect(items[0]).toEqual({
      id: expect.any(String),
      type: 'message',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_text', text: 'Second?' }],
    });
    expect(textsOf(await read({ order: 'asc', limit: 2 }))).toEqual(['First?', 'One.']);
    expect(textsOf(await read({ order: 'asc', after: items[1]?.id }))).toEqual(['Second?']);
    const paged: object[] = [];
    for await (const item of client.responses.inputItems.list(second.id, { limit: 1 })) paged.push(item);
    expect(paged).toEqual(items);
    await expect(client.responses.inputItems.list(second.id, { after: 'gone' })).rejects.toMatchObject({ status: 400, param: 'after' });
    await expect(client.responses.inputItems.list(second.id, { limit: 101 })).rejects.toMatchObject({ status: 400, param: 'limit' });
    await client.responses.delete(first.id);
    expect(textsOf(await read({}))).toEqual(['Second?']);
  });
});

describe('previous_response_id', () => {
  it('puts the conversation before the input, without its instructions, and each executed call once', async () => {
    const { ask, gateway, lastAsked } = await openOffice({
      turns: [calls(['look', { account: 'a' }]), says('Seven.'), says('Still seven.'), says('As I said.')],
    });
    const first = await ask({ input: 'How much?', instructions: 'Be a bank.' });
    expect(first.output.map(({ type }) => type)).toEqual(['mcp_call', 'message']);
    const second = await ask({ input: 'And now?', previous_response_id: first.id });
    expect(second.previous_response_id).toBe(first.id);
    await ask({ input: 'Sure?', previous_response_id: second.id, instructions: 'Be patient.' });
    expect(lastAsked()).toEqual([
      ['system', 'Be patient.'],
      ['user', 'How much?'],
      ['assistant', null],
      ['tool', expect.stringContaining('7')],
      ['assistant', 'Seven.'],
      ['user', 'And now?'],
      ['assistant', 'Still seven.'],
      ['user', 'Sure?'],
    ]);
    expect(pathsSent(gateway)).toEqual(['/look']);
  });

  it('takes results of the caller’s own functions, beside calls of the gateway', async () => {
    const own = { type: 'function' as const, name: 'mine', parameters: { type: 'object', properties: {} }, strict: false };
    const turn = calls(['look', { account: 'a' }], ['mine', {}]);
    const { ask, gateway } = await openOffice({ turns: [turn, says('Done.'), says('Again.')] });
    const first = await ask({ tools: [own] });
    const called = first.output.find(({ type }) => type === 'function_call') as { call_id: string };
    const output = [{ type: 'function_call_output' as const, call_id: called.call_id, output: 'mine is done' }];
    const second = await ask({ tools: [own], input: output, previous_response_id: first.id });
    expect(second.output_text).toBe('Done.');
    const results = () =>
      gateway.model.requests
        .at(-1)
        ?.messages.filter(({ role }) => role === 'tool')
        .map(({ content }) => content);
    expect(results()).toEqual([expect.stringContaining('7'), 'mine is done']);
    await ask({ tools: [own], previous_response_id: second.id });
    expect(results()).toEqual([expect.stringContaining('7'), 'mine is done']);
    expect(pathsSent(gateway)).toEqual(['/look']);
  });

  it('forks a conversation, and keeps nothing of a response that is not to be stored', async () => {
    const { ask, lastAsked } = await openOffice({ turns: [says('One.'), says('Two.'), says('Three.'), says('Four.')] });
    const first = await ask({ input: 'First?' });
    const second = await ask({ input: 'Second?', previous_response_id: first.id, store: false });
    await expect(ask({ previous_response_id: second.id })).rejects.toMatchObject({ code: 'previous_response_not_found' });
    await ask({ input: 'Third?', previous_response_id: first.id });
    expect(lastAsked()).toEqual([
      ['user', 'First?'],
      ['assistant', 'One.'],
      ['user', 'Third?'],
    ]);
  });

  it('names what is gone, and the cure', async () => {
    const { ask, client } = await openOffice({ turns: [says('One.'), says('Two.')] });
    const first = await ask();
    const second = await ask({ previous_response_id: first.id });
    await client.responses.delete(first.id);
    await expect(ask({ previous_response_id: second.id })).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
      message: expect.stringMatching(new RegExp(`${first.id}, on which ${second.id} builds.*Send the conversation itself`)),
    });
    await expect(ask({ previous_response_id: 'resp_never' })).rejects.toMatchObject({ code: 'previous_response_not_found' });
  });

  it('leads to a conversation of limited size, with an error that names the cure', async () => {
    const half = 'x'.repeat(responseHistoryCharacters / 2);
    const { ask } = await openOffice({ turns: [says('One.'), says('Two.')] });
    const first = await ask({ input: half });
    const second = await ask({ input: half, previous_response_id: first.id });
    await expect(ask({ previous_response_id: second.id })).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
      message: expect.stringContaining('Start a new conversation'),
    });
  });

  it('leaves errors about the input where they were sent', async () => {
    const { ask } = await openOffice({ turns: [says('One.')] });
    const first = await ask();
    const input = [
      { role: 'user', content: 'ok' },
      { type: 'function_call_output', output: 'x' },
    ];
    await expect(ask({ input, previous_response_id: first.id } as object)).rejects.toMatchObject({
      status: 400,
      param: 'input.1.call_id',
      message: expect.stringContaining('input.1.call_id'),
    });
  });
});

describe('item references', () => {
  it('stand for stored items, also of several responses', async () => {
    const { ask, lastAsked } = await openOffice({ turns: [says('One.'), says('Two.'), says('Three.')] });
    const first = await ask({ input: 'First?' });
    const second = await ask({ input: 'Second?' });
    const reference = (response: typeof first) => ({ type: 'item_reference' as const, id: response.output[0]?.id ?? '' });
    const user = (content: string) => ({ role: 'user' as const, content });
    const third = await ask({ input: [user('First?'), reference(first), user('Second?'), reference(second), user('Third?')] });
    const whole = [
      ['user', 'First?'],
      ['assistant', 'One.'],
      ['user', 'Second?'],
      ['assistant', 'Two.'],
      ['user', 'Third?'],
    ];
    expect(lastAsked()).toEqual(whole);
    expect(third.status).toBe('completed');
  });

  it('to what previous_response_id brings already are there once', async () => {
    const { ask, lastAsked } = await openOffice({ turns: [says('One.'), says('Two.')] });
    const first = await ask({ input: 'First?' });
    const [said] = first.output;
    const input = [{ type: 'item_reference' as const, id: said?.id ?? '' }, said, { role: 'user' as const, content: 'Second?' }];
    await ask({ input: input as never, previous_response_id: first.id });
    expect(lastAsked()).toEqual([
      ['user', 'First?'],
      ['assistant', 'One.'],
      ['user', 'Second?'],
    ]);
  });
});

describe('a response that waits for approvals', () => {
  it('is built on with what came of them, whoever decided', async () => {
    const turns = [
      calls(['look', { account: 'a' }]),
      calls(['pay', { amount: 5 }]),
      says('Not yet.'),
      says('Paid.'),
      says('Yes.'),
      says('Still.'),
    ];
    const { ask, gateway } = await openOffice({ turns, environment: { PUBLIC_URL: 'https://gateway.test' } });
    const results = () => gateway.model.requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
    const balance = expect.stringContaining('7');
    const first = (await ask({ input: 'Pay 5.' })) as Response & Pick<Asked, 'approval'>;
    expect(first.output.map(({ type }) => type)).toEqual(['mcp_call', 'mcp_approval_request', 'message']);
    await ask({ input: 'Done?', previous_response_id: first.id });
    expect(results()).toEqual([balance, expect.stringContaining('It has not run')]);
    expect((await decide(gateway, first, { key: adminKey })).statusCode).toBe(200);
    const third = await ask({ input: 'And now?', previous_response_id: first.id });
    expect(results()).toEqual([balance, expect.stringContaining('paid')]);
    await ask({ input: 'Sure?', previous_response_id: third.id });
    expect(results()).toEqual([balance, expect.stringContaining('paid')]);
    expect(JSON.stringify(gateway.model.requests)).not.toContain('gateway.test');
    expect(pathsSent(gateway)).toEqual(['/look', '/pay']);
  });

  it('is continued by the decision alone, and what else was sent is no part of the conversation', async () => {
    const { ask, client, lastAsked } = await openOffice({ turns: [calls(['pay', { amount: 5 }]), says('Paid.'), says('Blue.')] });
    const first = await ask({ input: 'Pay 5.' });
    const decision = { type: 'mcp_approval_response' as const, approval_request_id: first.output[0]?.id ?? '', approve: true };
    const forged = { ...decision, approval_request_id: 'mcpr_none' };
    await expect(ask({ input: [forged], previous_response_id: first.id })).rejects.toMatchObject({
      status: 400,
      param: 'input.0.approval_request_id',
      message: expect.stringMatching(/^400 input\.0\.approval_request_id/),
    });
    const second = await ask({ input: [decision, { role: 'user', content: 'Which colour?' }], previous_response_id: first.id });
    expect((second as unknown as { warnings: unknown[] }).warnings).toEqual([
      { code: 'item_left_out', message: expect.stringMatching(/^input\.1:/) },
    ]);
    expect((await client.responses.inputItems.list(second.id, { order: 'asc' })).data.map(({ type }) => type)).toEqual([
      'message',
      'mcp_approval_request',
      'message',
      'mcp_approval_response',
    ]);
    await ask({ input: 'Which colour?', previous_response_id: second.id });
    expect(lastAsked().map((message) => (message as [string])[0])).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  });

  it('is stored, and continued by a decision on it', async () => {
    const { ask, client, gateway, lastAsked } = await openOffice({ turns: [calls(['pay', { amount: 5 }]), says('Paid.'), says('Again?')] });
    const first = await ask({ input: 'Pay 5.' });
    expect(first.output.map(({ type }) => type)).toEqual(['mcp_approval_request', 'message']);
    expect((await client.responses.retrieve(first.id)).output).toEqual(first.output);
    const decision = { type: 'mcp_approval_response' as const, approval_request_id: first.output[0]?.id ?? '', approve: true };
    const second = await ask({ input: [decision], previous_response_id: first.id });
    expect(second).toMatchObject({ previous_response_id: first.id, output_text: 'Paid.' });
    expect(second.id).not.toBe(first.id);
    expect(pathsSent(gateway)).toEqual(['/pay']);
    await ask({ input: 'Thanks.', previous_response_id: second.id });
    expect(lastAsked()).toEqual([
      ['user', 'Pay 5.'],
      ['assistant', null],
      ['tool', expect.stringContaining('paid')],
      ['assistant', 'Paid.'],
      ['user', 'Thanks.'],
    ]);
    expect(pathsSent(gateway)).toEqual(['/pay']);
  });
});
