import { join } from 'node:path';
import type { LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import type { PendingApproval } from '../../../src/core/user-input/approval.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { openSqlite } from '../../../src/storage/sqlite/sqlite-database.ts';
import { createNoteStore } from '../../../src/storage/sql/notes.ts';
import { createRunStore } from '../../../src/storage/sql/runs.ts';
import { createWaitingRunStore } from '../../../src/storage/sql/waiting-runs/waiting-runs.ts';
import { documentOf, gatewayOf, serverOf } from '../gateway.ts';
import type { Gateway, GatewayOptions } from '../gateway.ts';
import { waitFor } from '../../_support/wait-for.ts';

const object = (properties: JsonObject, required: string[] = []): JsonObject => ({ type: 'object', properties, required });
export const bankDocument = documentOf({
  pay: object({ amount: { type: 'integer' } }, ['amount']),
  refund: object({ amount: { type: 'integer' } }),
  look: object({ account: { type: 'string' } }),
});

/** `pay` and `refund` need an approval, `look` does not. */
export const bank = serverOf('bank', bankDocument, { extra: { config: { needs_approval: ['pay', 'refund'] } } });
export const bankAnswers = {
  'http://bank.test/pay': { paid: true },
  'http://bank.test/refund': { refunded: true },
  'http://bank.test/look': { balance: 7 },
};

export function bankGateway(options: GatewayOptions = {}): Promise<Gateway> {
  return gatewayOf({ servers: [bank], answers: bankAnswers, ...options });
}

/** The stores of one process over a file. */
export function storesIn(
  folder: string,
  secret = 'a secret of tests',
): Pick<GatewayOptions, 'runs' | 'waitingRuns' | 'noteStores' | 'config'> & { close(): Promise<void> } {
  const connection = openSqlite({ file: join(folder, 'toolwharf.db'), now: Date.now });
  return {
    runs: createRunStore(connection),
    waitingRuns: createWaitingRunStore(connection, secret),
    noteStores: {
      approval: createNoteStore(connection, secret, 'approval'),
      state: createNoteStore(connection, secret, 'state'),
      continuation: createNoteStore(connection, secret, 'continuation'),
      transcript: createNoteStore(connection, secret, 'transcript'),
      conversation: createNoteStore(connection, secret, 'conversation'),
    },
    config: { secret },
    close: () => connection.close(),
  };
}

export interface Asked extends JsonObject {
  choices: { message: { content: string | null; tool_calls?: JsonObject[] }; finish_reason: string }[];
  approval: PendingApproval & JsonObject;
  sources?: JsonObject[];
}

interface Sent {
  key?: string | undefined;
  payload?: object;
}

export function call({ app }: Gateway, route: string, { key, payload }: Sent = {}): Promise<LightMyRequestResponse> {
  const [method, url] = route.split(' ');
  const headers = { host: '127.0.0.1:8080', ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  return app.server.inject({ method: method as 'GET', url: url ?? '', headers, ...(payload !== undefined && { payload }) });
}

/** One chat without a stream. */
export async function askPlainly(gateway: Gateway, fields: object = {}, key?: string): Promise<Asked> {
  const payload = { model: 'model', messages: [{ role: 'user', content: 'Pay 5, please.' }], ...fields };
  return (await call(gateway, 'POST /v1/chat/completions', { key, payload })).json<Asked>();
}

/** Decides on the call at `place`, with its own token unless told otherwise. */
export function decide(
  gateway: Gateway,
  { approval }: Pick<Asked, 'approval'>,
  { place = 0, key, ...fields }: JsonObject & { place?: number; key?: string } = {},
): Promise<LightMyRequestResponse> {
  const waiting = approval.calls[place];
  if (waiting === undefined) throw new Error(`Only ${approval.calls.length} calls wait`);
  const route = `POST /api/runs/${approval.run_id}/approvals/${encodeURIComponent(waiting.id)}`;
  return call(gateway, route, { key, payload: { decision: 'approve', token: waiting.token, ...fields } });
}

export interface ReadRun extends JsonObject {
  status: string;
  events: { type: string; data: JsonObject }[];
}

export async function readRun(gateway: Gateway, { approval }: Pick<Asked, 'approval'>, key?: string): Promise<ReadRun> {
  return (await call(gateway, `GET /api/runs/${approval.run_id}`, { key })).json<ReadRun>();
}

/** What the model read as results before its last answer. */
export function lastResults({ model }: Gateway): unknown[] {
  return (model.requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []));
}

export const pathsSent = ({ sent }: Gateway): string[] => sent.map(({ url }) => new URL(url).pathname);

/** The path of the link, as a browser that is shown it requests it. */
export const linkOf = ({ approval }: Pick<Asked, 'approval'>): string => new URL(approval.url ?? '').pathname;

export interface Visit {
  headers?: Record<string, string>;
  /** Sent as a form, by `POST`. */
  form?: Record<string, string>;
}

export function visit({ app }: Gateway, path: string, { headers = {}, form }: Visit = {}): Promise<LightMyRequestResponse> {
  const shared = { host: '127.0.0.1:8080', ...headers };
  if (form === undefined) return app.server.inject({ method: 'GET', url: path, headers: shared });
  const payload = new URLSearchParams(form).toString();
  return app.server.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...shared },
    payload,
  });
}

/** What a reader of the page reads. */
export function textOfPage({ body }: LightMyRequestResponse): string {
  const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };
  const main = body.slice(body.indexOf('<main>')).replaceAll(/<[^>]*>/g, ' ');
  return main.replaceAll(/&[\w#]+;/g, (entity) => entities[entity] ?? entity).replaceAll(/\s+/g, ' ');
}

export async function ended(gateway: Gateway, asked: Pick<Asked, 'approval'>, key?: string): Promise<void> {
  await waitFor(async () => expect((await readRun(gateway, asked, key)).status).not.toMatch(/running|waiting/));
}
