import type { LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import type { PendingConnect } from '../../../src/core/user-input/connect.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ScriptStep } from '../../_support/scripted-model.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { bank, bankAnswers, call } from '../approvals/approval-fixture.ts';
import type { Asked, ReadRun } from '../approvals/approval-fixture.ts';

const text = { type: 'string' };
const object = (properties: JsonObject): JsonObject => ({ type: 'object', properties });

/** `remove` needs an approval as well. */
export const mail = serverOf('mail', documentOf({ send: object({ to: text }), remove: object({ id: text }) }), {
  name: 'Mail',
  authType: 'bearer',
  isPerUser: true,
  extra: { config: { needs_approval: ['remove'] } },
});
export const calendar = serverOf('calendar', documentOf({ plan: object({}) }), {
  name: 'Calendar',
  authType: 'bearer',
  isPerUser: true,
});

/** A gateway with the servers of everybody's mail and calendar, and a bank. */
export async function connectingGateway(
  turns: ScriptStep[][],
  environment: NodeJS.ProcessEnv = {},
  presets: readonly JsonObject[] = [],
  options: GatewayOptions = {},
): Promise<Gateway> {
  const answers = {
    ...bankAnswers,
    'http://mail.test/send': { sent: true },
    'http://mail.test/remove': { removed: true },
    'http://calendar.test/plan': { planned: true },
  };
  const gateway = await gatewayOf({ turns, servers: [mail, calendar, bank], answers, environment, ...options });
  for (const preset of presets) {
    const headers = { host: '127.0.0.1:8080', authorization: `Bearer ${gateway.app.startKey ?? ''}` };
    const made = await gateway.app.server.inject({ method: 'POST', url: '/api/presets', headers, payload: preset });
    expect(made.statusCode).toBe(201);
  }
  return gateway;
}

export interface AskedToConnect extends Asked {
  connect: PendingConnect & JsonObject;
}

/** One chat without a stream. */
export async function asks(gateway: Gateway, fields: object = {}, key?: string): Promise<AskedToConnect> {
  const payload = { model: 'model', messages: [{ role: 'user', content: 'Send it' }], ...fields };
  const response = await call(gateway, 'POST /v1/chat/completions', { key, payload });
  const body = response.json<AskedToConnect>();
  expect(body.connect).toBeDefined();
  return body;
}

/** Connects the caller by a key of their own. */
export async function connect(gateway: Gateway, server = 'mail', key?: string): Promise<void> {
  const response = await call(gateway, `PUT /api/credentials/${server}`, { key, payload: { key: 'CANARY-key' } });
  expect(response.statusCode).toBe(200);
}

export function resume(
  gateway: Gateway,
  { run_id: runId, token }: PendingConnect,
  { key }: { key?: string } = {},
): Promise<LightMyRequestResponse> {
  return call(gateway, `POST /api/runs/${runId}/resume`, { key, payload: { token } });
}

export async function readRunOf(gateway: Gateway, { run_id: runId }: PendingConnect, key?: string): Promise<ReadRun> {
  return (await call(gateway, `GET /api/runs/${runId}`, { key })).json<ReadRun>();
}
