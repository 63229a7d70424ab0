import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';
import { isJsonObject } from '../../src/shared/json/json.ts';
import type { OutboundRequest, OutboundResponse } from '../../src/core/outbound.ts';
import type { ScriptedAnswer } from '../tools/scripted-send.ts';
import { jsonResponse } from '../tools/scripted-send.ts';
import { outboundBody } from './outbound-body.ts';

/** What a model makes of a question: a call of `now`, or words. It follows whatever way of calling it is asked to use. */
type Reply = { text: string } | { call: string };

export interface Peers {
  answers: Record<string, ScriptedAnswer>;
  environment: NodeJS.ProcessEnv;
  /** Bodies of the chats, in order. */
  chats: JsonObject[];
}

export interface PeerOptions {
  /** Refuses functions, as models without native calls do. */
  refusesTools?: boolean;
  /** Refuses every form of structured output. */
  refusesForms?: boolean;
}

function replyTo(body: JsonObject): Reply {
  const messages = (Array.isArray(body['messages']) ? body['messages'] : []).filter(isJsonObject);
  const system = textOf(messages.find((message) => message['role'] === 'system')?.['content']);
  const last = textOf(messages.at(-1)?.['content']);
  const hasResult = messages.at(-1)?.['role'] === 'tool' || last.includes('Observation: ') || last.includes('Output: ');
  const answer = 'It is noon.';
  if (system.startsWith('Available Tools:')) return { text: '{"tool_calls": [{"name": "now", "parameters": {}}]}' };
  if (system.includes('Available Functions:'))
    return { text: hasResult ? `Thought: I know.\nFinal Answer: ${answer}` : 'Thought: The time?\nAction: now\nAction Input: {}' };
  return Array.isArray(body['tools']) && !hasResult ? { call: 'now' } : { text: answer };
}

function textOf(content: JsonValue | undefined): string {
  return typeof content === 'string' ? content : '';
}

function refusalOf(body: JsonObject, { refusesTools, refusesForms }: PeerOptions): OutboundResponse | undefined {
  const { tools, response_format: form, format } = body;
  if (refusesTools === true && tools !== undefined) return jsonResponse({ error: 'this model does not support tools' }, 400);
  if (refusesForms === true && (form ?? format) !== undefined) return jsonResponse({ error: 'invalid format: not supported' }, 400);
  return undefined;
}

function bodyOf(request: OutboundRequest): JsonObject {
  return JSON.parse(String(request.body ?? '{}')) as JsonObject;
}

function response(type: string, lines: string[]): OutboundResponse {
  async function* read(): AsyncGenerator<Uint8Array> {
    for (const line of lines) yield new TextEncoder().encode(line);
  }
  return { status: 200, headers: { 'content-type': type }, body: outboundBody(read()) };
}

/** A server that speaks the OpenAI API at `http://llm.test/v1`, with one model named `m`. */
export function openAiPeer(options: PeerOptions = {}): Peers {
  const chats: JsonObject[] = [];
  const chat = async (request: OutboundRequest): Promise<OutboundResponse> => {
    const body = bodyOf(request);
    chats.push(body);
    const reply = replyTo(body);
    const said =
      'text' in reply
        ? { content: reply.text }
        : { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: reply.call, arguments: '{}' } }] };
    const finish_reason = 'text' in reply ? 'stop' : 'tool_calls';
    const refusal = refusalOf(body, options);
    if (refusal !== undefined) return refusal;
    if (body['stream'] !== true) return jsonResponse({ choices: [{ index: 0, message: { role: 'assistant', ...said }, finish_reason }] });
    const chunks = [
      { choices: [{ index: 0, delta: { role: 'assistant', ...said }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason }] },
    ];
    return response('text/event-stream', [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n']);
  };
  return {
    chats,
    environment: { OPENAI_API_BASE_URLS: 'http://llm.test/v1' },
    answers: {
      'http://llm.test/v1/models': { object: 'list', data: [{ id: 'm', object: 'model' }] },
      'http://llm.test/v1/chat/completions': chat,
    },
  };
}

/** An Ollama at `http://ollama.test:11434`, with one model named `m`. */
export function ollamaPeer(options: PeerOptions = {}): Peers {
  const chats: JsonObject[] = [];
  const chat = async (request: OutboundRequest): Promise<OutboundResponse> => {
    const body = bodyOf(request);
    chats.push(body);
    const refusal = refusalOf(body, options);
    if (refusal !== undefined) return refusal;
    const reply = replyTo(body);
    const said =
      'text' in reply ? { content: reply.text } : { content: '', tool_calls: [{ function: { name: reply.call, arguments: {} } }] };
    const head = { model: 'm', created_at: '2026-01-01T12:00:00Z' };
    const lines = [
      { ...head, message: { role: 'assistant', ...said }, done: false },
      { ...head, message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop', eval_count: 1, prompt_eval_count: 1 },
    ];
    return response(
      'application/x-ndjson',
      lines.map((line) => `${JSON.stringify(line)}\n`),
    );
  };
  const tag = { name: 'm', model: 'm', modified_at: '2026-01-01T12:00:00Z', size: 1, digest: 'd', details: {} };
  return {
    chats,
    environment: { OLLAMA_BASE_URLS: 'http://ollama.test:11434' },
    answers: {
      'http://ollama.test:11434/api/tags': { models: [tag] },
      'http://ollama.test:11434/api/show': {
        details: {},
        model_info: {},
        capabilities: options.refusesTools === true ? ['completion'] : ['completion', 'tools'],
      },
      'http://ollama.test:11434/api/chat': chat,
    },
  };
}
