import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { listen } from '../../../_support/build-app.ts';
import { calls, says } from '../../../_support/scripted-model.ts';
import type { ScriptStep } from '../../../_support/scripted-model.ts';
import { gatewayOf, sharedGateway } from '../../../gateway/gateway.ts';
import type { Gateway } from '../../../gateway/gateway.ts';
import type { DialectClient } from './chat.ts';
import { servedClients } from './clients.ts';
import { servers, toolAnswers } from './scenarios.ts';
import { waitFor } from '../../../_support/wait-for.ts';

const adminKey = 'sk-tw-fixed-administrator';
const plain = { turns: [{ role: 'user' as const, text: 'Hi!' }], fields: { tool_ids: [] } };

const environment = { TOOLWHARF_ADMIN_KEY: adminKey };
const shared = sharedGateway({ environment });
afterAll(shared.close);

/** One of its own, for a run that is left under way. */
async function gatewayWithKeys(...turns: ScriptStep[][]): Promise<Gateway> {
  const gateway = await gatewayOf({ turns, environment });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

interface Sent {
  status: number;
  headers: Record<string, unknown>;
  error: string;
}

async function send({ app }: Gateway, client: DialectClient, key?: string): Promise<Sent> {
  const headers = { ...client.headers, ...(key !== undefined && { 'x-api-key': key }) };
  const response = await app.server.inject({ method: 'POST', url: client.path, headers, payload: client.write(plain, false) });
  const { statusCode: status } = response;
  return { status, headers: response.headers, error: status === 200 ? '' : client.readError(response.json<JsonObject>()) };
}

async function keyWith({ app }: Gateway, fields: JsonObject): Promise<string> {
  const payload = { name: 'limited', role: 'user', ...fields };
  const response = await app.server.inject({ method: 'POST', url: '/api/keys', headers: { 'x-api-key': adminKey }, payload });
  return response.json<{ key: string }>().key;
}

describe.each(servedClients.map((client) => [client.name, client] as const))('through %s', (_name, client) => {
  it('a request without a key is refused in its own error body', async () => {
    const gateway = await shared.with();
    expect(await send(gateway, client)).toMatchObject({ status: 401, error: expect.stringContaining('No API key was sent') });
  });

  it('a key may use the models alone that it names', async () => {
    const gateway = await shared.with(says('Hello.'));
    const key = await keyWith(gateway, { models: ['another'] });
    expect(await send(gateway, client, key)).toMatchObject({ status: 403, error: expect.stringContaining('may not use') });
    expect(gateway.model.requests).toEqual([]);
  });

  it('the limits of a key hold', async () => {
    const gateway = await shared.with(says('One.'), says('Two.'));
    const key = await keyWith(gateway, { limits: { requests_per_minute: 1 } });
    expect((await send(gateway, client, key)).status).toBe(200);
    const refused = await send(gateway, client, key);
    expect(refused).toMatchObject({ status: 429, error: expect.stringContaining('one request a minute') });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('a run is in the log, under the id in the header', async () => {
    const gateway = await shared.with(says('Hello.'));
    const { headers } = await send(gateway, client, adminKey);
    const run = await gateway.app.server.inject({
      url: `/api/runs/${String(headers['x-toolwharf-run-id'])}`,
      headers: { 'x-api-key': adminKey },
    });
    expect(run.json()).toMatchObject({ status: 'completed', model: 'model' });
  });

  it.each([true, false])('a client that leaves ends the request to the model (stream: %s)', async (stream) => {
    const gateway = await gatewayWithKeys([{ type: 'text', text: 'So' }, new Promise(() => undefined)]);
    const origin = await listen(gateway.app);
    const leaving = new AbortController();
    const response = fetch(`${origin}${client.path}`, {
      method: 'POST',
      headers: { ...client.headers, 'content-type': 'application/json', 'x-api-key': adminKey },
      body: JSON.stringify(client.write(plain, stream)),
      signal: leaving.signal,
    });
    if (stream) await (await response).body?.getReader().read();
    else response.catch(() => undefined);
    await waitFor(() => expect(gateway.model.requests).toHaveLength(1));
    leaving.abort();
    await waitFor(() => expect(gateway.model.requests[0]?.signal.aborted).toBe(true));
  });

  it('a client that leaves ends the calls of its chat', async () => {
    const gateway = await gatewayOf({ turns: [calls(['slow', { city: 'Rome' }])], servers, answers: toolAnswers });
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    const origin = await listen(gateway.app);
    const leaving = new AbortController();
    const chat = { ...plain, fields: { tool_ids: ['server:town'] } };
    fetch(`${origin}${client.path}`, {
      method: 'POST',
      headers: { ...client.headers, 'content-type': 'application/json' },
      body: JSON.stringify(client.write(chat, true)),
      signal: leaving.signal,
    }).catch(() => undefined);
    await waitFor(() => expect(gateway.sent).toHaveLength(1));
    leaving.abort();
    await waitFor(() => expect(gateway.sent[0]?.signal?.aborted).toBe(true));
  });
});
