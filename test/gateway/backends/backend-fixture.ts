import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { testApp } from '../../_support/build-app.ts';
import type { TestApp } from '../../_support/build-app.ts';
import { events, respond, startUpstream, stream } from '../../_support/upstream-server.ts';
import type { RecordedRequest, ScriptStep, UpstreamServer } from '../../_support/upstream-server.ts';

export const adminKey = 'sk-tw-fixed-administrator';

export interface Answer {
  status: number;
  raw: string;
  body: JsonObject;
}

export interface BackendGateway {
  app: TestApp;
  call: (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, payload?: JsonObject) => Promise<Answer>;
  /** Ids of the models that clients can choose. */
  models: () => Promise<string[]>;
}

export async function gatewayWith(environment: NodeJS.ProcessEnv = {}, parts: Parameters<typeof testApp>[1] = {}): Promise<BackendGateway> {
  const app = await testApp({ TOOLWHARF_ADMIN_KEY: adminKey, OLLAMA_BASE_URLS: ';', TOOLWHARF_DEMO: 'false', ...environment }, parts);
  onTestFinished(() => app.close());
  const headers = { authorization: `Bearer ${adminKey}` };
  const call: BackendGateway['call'] = async (method, url, payload) => {
    const answer = await app.server.inject({ method, url, headers, ...(payload && { payload }) });
    return { status: answer.statusCode, raw: answer.body, body: answer.json<JsonObject>() };
  };
  return {
    app,
    call,
    models: async () => ((await call('GET', '/v1/models')).body['data'] as { id: string }[]).map(({ id }) => id),
  };
}

/** A server with OpenAI's API that lists models and answers chats with its name. */
export async function modelServer(
  models: readonly string[],
  answer: (request: RecordedRequest) => ScriptStep[] | Promise<ScriptStep[]> | undefined = () => undefined,
): Promise<UpstreamServer> {
  return upstream(async (request) => {
    const given = await answer(request);
    if (given !== undefined) return given;
    if (request.url === '/v1/models') return respond(200, { object: 'list', data: models.map((id) => ({ id, object: 'model' })) });
    if (request.url === '/v1/embeddings')
      return respond(200, { data: [{ index: 0, embedding: [1] }], model: 'e', usage: { prompt_tokens: 1 } });
    if (request.url === '/v1/chat/completions') return stream(events(chunkOf('Hello'), '[DONE]'));
    return respond(404, { error: { message: 'no such route' } });
  });
}

export async function upstream(script: Parameters<typeof startUpstream>[0]): Promise<UpstreamServer> {
  const server = await startUpstream(script);
  onTestFinished(() => server.close());
  return server;
}

export function chunkOf(content: string): JsonObject {
  return { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] };
}

/** An address at which nothing listens. */
export async function deadUrl(): Promise<string> {
  const server = await startUpstream([]);
  await server.close();
  return server.origin;
}
