import type { LightMyRequestResponse } from 'fastify';
import { textOf } from '../../src/core/chat/chat.ts';
import type { ChatMessage } from '../../src/core/chat/chat.ts';
import type { JsonObject } from '../../src/shared/json/json.ts';
import type { BackendConfig } from '../../src/app/config/backends.ts';
import type { ModelBackend } from '../../src/core/models/model.ts';
import type { OutboundRequest } from '../../src/core/outbound.ts';
import type { ToolServerRecord } from '../../src/core/stores/registry.ts';
import { memoryRegistry } from '../_support/memory-stores.ts';
import { backendOf, readChunks, testApp } from '../_support/build-app.ts';
import type { TestApp } from '../_support/build-app.ts';
import { ScriptedModel } from '../_support/scripted-model.ts';
import type { ScriptStep } from '../_support/scripted-model.ts';
import { toolServerRecord } from '../storage/registry-contract.ts';
import { scriptedSend } from '../tools/scripted-send.ts';
import type { ScriptedAnswer } from '../tools/scripted-send.ts';
import { outboundBody } from '../_support/outbound-body.ts';

type TestAppParts = NonNullable<Parameters<typeof testApp>[1]>;

export interface GatewayOptions extends TestAppParts {
  /** Configured backends, instead of the scripted model. */
  entries?: BackendConfig[];
  /** What the model says, a turn each. */
  turns?: ScriptStep[][];
  /** Registered servers, instead of those of the environment. */
  servers?: ToolServerRecord[];
  /** What tool servers answer, by URL. */
  answers?: Record<string, ScriptedAnswer>;
  environment?: NodeJS.ProcessEnv;
}

/** The whole gateway before a scripted model and scripted tool servers. */
export interface Gateway {
  app: TestApp;
  model: ScriptedModel;
  /** What was sent to tool servers, in order. */
  sent: OutboundRequest[];
  /** One chat as a stream with its events; `body` lies over a plain question. */
  ask(body?: JsonObject): Promise<Seen>;
  get(path: string): Promise<LightMyRequestResponse>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A streamed answer as a client can take it apart. */
export interface Seen {
  status: number;
  /** The whole stream as it came, or the body of an error. */
  raw: string;
  text: string;
  reasoning: string;
  finish: string[];
  /** The data of the run's events of a type. */
  eventsOf(type: string): JsonObject[];
  sources: JsonObject[];
  calls: JsonObject[];
  usage: JsonObject | undefined;
}

export const question = 'What time is it?';

export async function gatewayOf(options: GatewayOptions): Promise<Gateway> {
  const { turns = [], servers, answers = {}, environment = {}, entries, ...parts } = options;
  const model = new ScriptedModel(...turns);
  const script = scriptedSend(answers);
  const registry = servers === undefined ? {} : { registry: memoryRegistry(servers) };
  const backends = entries === undefined ? { backends: [backendOf(model)] } : { config: { backends: entries } };
  const app = await testApp(environment, { ...backends, ...registry, send: script.send, ...parts });
  const headers = { host: '127.0.0.1:8080' };
  return {
    app,
    model,
    sent: script.requests,
    async ask(body = {}) {
      const payload = {
        model: 'model',
        messages: [{ role: 'user', content: question }],
        stream: true,
        stream_options: { include_events: true, include_usage: true },
        ...body,
      };
      return toSeen(await app.server.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload }));
    },
    get: (path) => app.server.inject({ method: 'GET', url: path, headers }),
    [Symbol.asyncDispose]: () => app.close(),
  };
}

/**
 * One gateway for many tests, started with the first. Each test gets it with a script of its own and with what was sent since. What a gateway remembers
 * of callers, chats and models is for all of them: a test that changes or reads such things takes one of its own.
 */
export function sharedGateway(options: Omit<GatewayOptions, 'turns' | 'backends' | 'send'>): {
  with: (...turns: ScriptStep[][]) => Promise<Gateway>;
  close: () => Promise<void>;
} {
  let model = new ScriptedModel();
  let script = scriptedSend();
  let started: Promise<Gateway> | undefined;
  const start = (): Promise<Gateway> => {
    const backend: ModelBackend = { answer: (request, emit) => model.answer(request, emit) };
    return gatewayOf({ ...options, backends: [backendOf(backend)], send: (request) => script.send(request) });
  };
  return {
    async with(...turns) {
      model = new ScriptedModel(...turns);
      script = scriptedSend(options.answers);
      started ??= start();
      return { ...(await started), model, sent: script.requests, [Symbol.asyncDispose]: async () => undefined };
    },
    close: async () => (await started)?.app.close(),
  };
}

function toSeen({ statusCode, body }: LightMyRequestResponse): Seen {
  return { status: statusCode, ...readSeen(body) };
}

/** What the chunks of a stream hold, taken together. */
export function readSeen(raw: string): Omit<Seen, 'status'> {
  const chunks = readChunks(raw).filter((chunk) => typeof chunk !== 'string') as JsonObject[];
  const choices = chunks.flatMap((chunk) => (chunk['choices'] ?? []) as { delta: JsonObject; finish_reason: string | null }[]);
  const joined = (key: string): string => choices.map(({ delta }) => textIn(delta, key)).join('');
  const events = chunks.flatMap((chunk) => (chunk['event'] === undefined ? [] : [chunk['event'] as { type: string; data: JsonObject }]));
  return {
    raw,
    text: joined('content'),
    reasoning: joined('reasoning_content'),
    finish: choices.flatMap((choice) => choice.finish_reason ?? []),
    eventsOf: (type) => events.filter((event) => event.type === type).map((event) => event.data),
    sources: chunks.flatMap((chunk) => (chunk['sources'] ?? []) as JsonObject[]),
    calls: choices.flatMap(({ delta }) => (delta['tool_calls'] ?? []) as JsonObject[]),
    usage: chunks.find((chunk) => chunk['usage'] !== undefined)?.['usage'] as JsonObject | undefined,
  };
}

function textIn(delta: JsonObject, key: string): string {
  const text = delta[key];
  return typeof text === 'string' ? text : '';
}

/** A message's text; empty where there is no message. */
export function textOfMessage(message: ChatMessage | undefined): string {
  return textOf(message?.content ?? null);
}

/** A registered server at `http://<id>.test` that brings its document along. */
export function serverOf(id: string, document: JsonObject, fields: Partial<ToolServerRecord> = {}): ToolServerRecord {
  return toolServerRecord({ id, url: `http://${id}.test`, spec: document, ...fields });
}

/** A document with `POST /<name>` for each name; the properties of its JSON body are the arguments. */
export function documentOf(bodies: Record<string, JsonObject>): JsonObject {
  const operation = (name: string, schema: JsonObject): JsonObject => ({
    operationId: name,
    description: `Does ${name}`,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: { 200: { description: 'Done' } },
  });
  const paths = Object.entries(bodies).map(([name, schema]) => [`/${name}`, { post: operation(name, schema) }]);
  return { openapi: '3.1.0', info: { title: 'Tools', version: '1' }, paths: Object.fromEntries(paths) as JsonObject };
}

/** A body of JSON of any kind. */
export function answerOf(body: string, { status = 200, type = 'application/json' } = {}): ScriptedAnswer {
  async function* read(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode(body);
  }
  return async () => ({ status, headers: { 'content-type': type }, body: outboundBody(read()) });
}

/** A model's answer to the selection prompt. */
export function selects(...wanted: [name: string, parameters: JsonObject][]): ScriptStep[] {
  const text = JSON.stringify({ tool_calls: wanted.map(([name, parameters]) => ({ name, parameters })) });
  return [
    { type: 'text', text },
    { type: 'finish', reason: 'stop' },
  ];
}
