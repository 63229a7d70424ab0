import type { LightMyRequestResponse } from 'fastify';
import { textOf } from '../../../../src/core/chat/chat.ts';
import type { ChatMessage } from '../../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import type { Gateway } from '../../../gateway/gateway.ts';
import { nothing } from './chat.ts';
import type { Answer, DialectClient } from './chat.ts';
import { demandedMaxTokens } from './clients.ts';
import type { Scenario } from './scenarios.ts';

/** What came of a scenario. */
export interface Account {
  answers: Answer[];
  /** What the model was asked, request by request. */
  asked: JsonObject[];
  /** What tool servers were asked. */
  sent: { path: string; body: unknown }[];
}

/** A gateway in front of a model that follows the script of a scenario. */
export interface Stage {
  gateway: Gateway;
  /** What the model has been asked so far. */
  asked: () => JsonObject[];
}

export async function play(
  { gateway, asked }: Stage,
  scenario: Scenario,
  { client, stream }: { client: DialectClient; stream: boolean },
): Promise<Account> {
  const { chat, next, approves, connects } = scenario;
  const first = await request(gateway, client, { path: client.path, body: client.write(chat, stream) });
  const answers = [first];
  if (connects === true) {
    const headers = { host: '127.0.0.1:8080' };
    const payload = { key: 'a key' };
    await gateway.app.server.inject({ method: 'PUT', url: '/api/credentials/mail', headers, payload });
  }
  const { run_id: runId = '', token = '' } = first.connect;
  if (connects === true && next === undefined)
    answers.push(await request(gateway, client, { path: `/api/runs/${runId}/resume`, body: { token } }));
  if (next !== undefined)
    answers.push(await request(gateway, client, { path: client.path, body: client.write(next(chat, first), stream) }));
  if (approves !== undefined)
    answers.push(await request(gateway, client, withStream(client.decide(chat, first.waiting, approves), client, stream)));
  return {
    answers,
    asked: asked(),
    sent: gateway.sent
      .filter(({ method }) => method === 'POST')
      .map(({ url, body }) => ({ path: new URL(url).pathname, body: bodyOf(body) })),
  };
}

/** A decision by token is answered as the chat was; in a dialect's own request it says so. */
function withStream(
  decision: { path: string; body: JsonObject },
  { path }: DialectClient,
  stream: boolean,
): { path: string; body: JsonObject } {
  return decision.path === path ? { ...decision, body: { ...decision.body, stream } } : decision;
}

async function request({ app }: Gateway, client: DialectClient, { path, body }: { path: string; body: JsonObject }): Promise<Answer> {
  const headers = { host: '127.0.0.1:8080', ...client.headers };
  const response: LightMyRequestResponse = await app.server.inject({ method: 'POST', url: path, headers, payload: body });
  const { statusCode: status } = response;
  if (status !== 200) return { ...nothing, status, error: client.readError(response.json<JsonObject>()) };
  const isStream = /event-stream|ndjson/.test(String(response.headers['content-type']));
  return { status, ...(isStream ? client.readStream(response.body) : client.read(response.json<JsonObject>())) };
}

const bodyOf = (body: unknown): unknown => (typeof body === 'string' ? JSON.parse(body) : body);

/** An answer without what differs between requests or dialects by rule: ids, and what holds no more than a proof of a decision. */
export function comparable({ answers, asked, sent }: Account, scenario: Scenario): JsonObject {
  const isWaiting = ({ waiting }: Answer): boolean => waiting.length > 0;
  return JSON.parse(
    JSON.stringify({
      asked: asked.map((request) => ({ ...request, ...(request['tokens'] === demandedMaxTokens && { tokens: null }) })),
      sent,
      answers: answers.map((answer) => ({
        ...answer,
        calls: answer.calls.map(({ name, args }) => ({ name, args })),
        waiting: answer.waiting.map(({ tool, args }) => ({ tool, args })),
        // Its text may be a link to decide with, or nothing where the dialect has items for it.
        text: isWaiting(answer) ? null : answer.text.replaceAll(/[\w-]{43}/g, 'link'),
        connect: answer.connect.servers?.map(({ server, name }) => ({ server, name })) ?? null,
        // What precedes a fault can be read in a stream alone.
        ...(scenario.answer.error !== undefined && { text: null, sources: null, tokens: null }),
        ...(scenario.answer.error !== undefined && scenario.failsEarly !== true && { status: null }),
        // Others count what they were not told as zero.
        ...((answer.tokens?.in ?? 0) === 0 && { tokens: null }),
      })),
    }),
  ) as JsonObject;
}

/** A request to the model without what a dialect may choose for itself: ids of calls, and how parts and parameters are spelled. */
export function toAsked({ messages, tools, callerTools, toolChoice, parameters }: Gateway['model']['requests'][number]): JsonObject {
  const format = parameters['response_format'] as { json_schema?: { schema?: JsonObject } } | undefined;
  return {
    messages: messages.map(toPlain),
    tools: [...tools.map(({ name }) => name), ...callerTools.map((tool) => (tool['function'] as JsonObject)['name'] ?? null)],
    choice: toolChoice ?? null,
    tokens: parameters['max_tokens'] ?? parameters['max_completion_tokens'] ?? null,
    temperature: parameters['temperature'] ?? null,
    schema: format?.json_schema?.schema ?? null,
  };
}

function toPlain(message: ChatMessage): JsonObject {
  const parts = Array.isArray(message.content) ? message.content : [];
  const images = parts.flatMap((part) => (part.type === 'image_url' ? [(part['image_url'] as JsonObject)['url'] ?? null] : []));
  const made = message.role === 'assistant' ? message.toolCalls : [];
  return {
    role: message.role,
    text: textOf(message.content),
    images,
    calls: made.map(({ name, arguments: args }) => ({ name, args: readable(args) })),
  };
}

function readable(args: string): JsonObject | string {
  try {
    return JSON.parse(args) as JsonObject;
  } catch {
    return args;
  }
}
