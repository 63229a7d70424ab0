import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it arrived. */
export interface ArrivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** Resolves once the connection's response is over; true when the client left before its end. */
  isLeft: Promise<boolean>;
  /** Numbers connections, so that a test can see one that is used again. */
  connection: number;
}

/** One step of a scripted answer to `/api/chat`: a line, raw bytes, something to wait for, or the end of the connection. */
export type AnswerStep =
  | { line: unknown }
  | { bytes: string | Uint8Array }
  | { wait: Promise<unknown> }
  | { reset: true }
  | { hang: true }
  | { status: number; body: string; type?: string };

export interface OllamaModel {
  name: string;
  digest?: string;
  /** Undefined: a server that does not know about capabilities. */
  capabilities?: string[];
  contextLength?: number;
  parameters?: string;
  family?: string;
  /** What it is loaded with; absent: it is not loaded. */
  loadedContext?: number;
}

export interface OllamaServer {
  url: string;
  requests: ArrivedRequest[];
  /** Answers of `/api/chat`, in order. */
  answers: AnswerStep[][];
  models: OllamaModel[];
  /** Set to make `/api/show` fail or wait. */
  onShow: (response: ServerResponse, model: string) => boolean | Promise<boolean>;
  chats(): Record<string, unknown>[];
  close(): Promise<void>;
}

/** A server that speaks Ollama's protocol byte by byte: `/api/tags`, `/api/ps`, `/api/show`, `/api/chat` as NDJSON and, with `stream:false`, as one object. */
export async function startOllamaServer(models: OllamaModel[] = []): Promise<OllamaServer> {
  const connections = new Map<unknown, number>();
  const server: Server = createServer((request, response) => void answer(request, response));
  const state: OllamaServer = {
    url: '',
    requests: [],
    answers: [],
    models,
    onShow: () => false,
    chats: () => state.requests.filter((request) => request.path === '/api/chat').map((request) => request.body),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const closed = Promise.withResolvers<boolean>();
    response.once('close', () => closed.resolve(!response.writableFinished));
    const connection = connections.get(request.socket) ?? connections.size + 1;
    connections.set(request.socket, connection);
    const path = request.url ?? '';
    state.requests.push({ method: request.method ?? '', path, headers: request.headers, body, isLeft: closed.promise, connection });
    if (path === '/api/tags') sendJson(response, 200, { models: state.models.map((model) => tagOf(model)) });
    else if (path === '/api/ps') sendJson(response, 200, { models: state.models.flatMap((model) => runningOf(model)) });
    else if (path === '/api/embed') sendJson(response, 200, embeddingsOf(body['input'] as string[]));
    else if (path === '/api/show') await show(response, String(body['model']));
    else if (path === '/api/chat' || path === '/api/generate')
      await play(response, state.answers.shift() ?? saysHello, body['stream'] !== false);
    else sendJson(response, 404, { error: 'page not found' });
  }

  async function show(response: ServerResponse, name: string): Promise<void> {
    if (await state.onShow(response, name)) return;
    const model = state.models.find((entry) => entry.name === name);
    if (model === undefined) sendJson(response, 404, { error: `model '${name}' not found` });
    else sendJson(response, 200, shownOf(model));
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

/** One line of an answer, with the fields that every line has. */
export function ollamaLine(message: Record<string, unknown>, more: Record<string, unknown> = {}): { line: unknown } {
  const head = { model: 'llama3.2:latest', created_at: '2026-01-01T12:00:00.123456Z' };
  return { line: { ...head, message: { role: 'assistant', content: '', ...message }, done: false, ...more } };
}

/** The line that ends an answer. */
export function ollamaEnd(reason = 'stop', more: Record<string, unknown> = {}): { line: unknown } {
  const counts = {
    total_duration: 5_000,
    load_duration: 1_000,
    prompt_eval_count: 26,
    prompt_eval_duration: 2_000,
    eval_count: 8,
    eval_duration: 1_000,
  };
  return ollamaLine({}, { done_reason: reason, done: true, ...counts, ...more });
}

const saysHello: AnswerStep[] = [ollamaLine({ content: 'Hello' }), ollamaLine({ content: ' there' }), ollamaEnd()];

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece as string;
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

async function play(response: ServerResponse, steps: AnswerStep[], isStream: boolean): Promise<void> {
  if (!isStream) {
    const lines = steps.flatMap((step) => ('line' in step ? [step.line as Record<string, unknown>] : []));
    const content = lines.map((line) => (line['message'] as { content?: string } | undefined)?.content ?? '').join('');
    sendJson(response, 200, { ...lines.at(-1), message: { role: 'assistant', content } });
    return;
  }
  for (const step of steps) {
    if ('status' in step) {
      response.writeHead(step.status, { 'content-type': step.type ?? 'application/json; charset=utf-8' }).end(step.body);
      return;
    }
    if ('hang' in step) return;
    if ('reset' in step) {
      response.destroy();
      return;
    }
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    if ('wait' in step) {
      response.flushHeaders();
      await step.wait;
    } else {
      const bytes = 'line' in step ? `${JSON.stringify(step.line)}\n` : step.bytes;
      await new Promise<void>((resolve) => void response.write(bytes, () => resolve()));
    }
  }
  response.end();
}

/** The vector of each text has its place in front. */
function embeddingsOf(texts: string[]): Record<string, unknown> {
  return { embeddings: texts.map((_text, index) => [index + 1, 0.25]), prompt_eval_count: texts.length };
}

function tagOf({ name, digest = `sha256:${name}` }: OllamaModel): Record<string, unknown> {
  const details = {
    parent_model: '',
    format: 'gguf',
    family: 'llama',
    families: ['llama'],
    parameter_size: '3.2B',
    quantization_level: 'Q4_K_M',
  };
  return { name, model: name, modified_at: '2025-08-20T12:09:16.773972+02:00', size: 2_019_393_189, digest, details };
}

function runningOf(model: OllamaModel): Record<string, unknown>[] {
  if (model.loadedContext === undefined) return [];
  const { modified_at: _at, ...tag } = tagOf(model);
  return [{ ...tag, expires_at: '2318-01-01T12:00:00.123456+02:00', size_vram: 0, context_length: model.loadedContext }];
}

function shownOf({ capabilities, contextLength, family = 'llama', parameters = '' }: OllamaModel): Record<string, unknown> {
  const info = { 'general.architecture': 'llama', ...(contextLength === undefined ? {} : { 'llama.context_length': contextLength }) };
  return {
    license: 'MIT',
    modelfile: '',
    parameters,
    template: '',
    details: { parent_model: '', format: 'gguf', family, families: [family], parameter_size: '3.2B', quantization_level: 'Q4_K_M' },
    model_info: info,
    ...(capabilities === undefined ? {} : { capabilities }),
  };
}
