import type { ChatRequest } from 'ollama/browser';

import type { ModelEvent, TextCompletion } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import type { Embed } from '../../core/models/embeddings.ts';
import type { ModelBackend, ModelRecord, ModelRequest } from '../../core/models/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { emitAnswer } from '../answers/answer-stream.ts';
import { BackendClient, type BackendConnection } from '../transport/backend-client.ts';
import { OutputLimit } from '../answers/output-limit.ts';
import { createContextChooser } from './ollama-context.ts';
import { truncationWarning, defaultContext } from './choose-context-size.ts';
import { JsonLines, requireAnswer } from './read-json-lines.ts';
import { findNewImage, requireVision, toOllamaMessages, toOllamaTools } from './ollama-messages.ts';
import { OllamaModels, type OllamaModelDetails } from './ollama-models.ts';
import { setsReasoning, reducedSchemaWarning, toOllamaParameters } from './ollama-options.ts';
import { readVectors } from '../transport/read-vectors.ts';
import { ReasoningSplitter } from '../answers/split-reasoning.ts';
import { ReasoningTemplateCache } from '../answers/reasoning-template-cache.ts';
import { endOf, finishEvents, requireEnded } from '../answers/finish-reasons.ts';
import { ToolCallAssembler } from '../answers/tool-call-assembler.ts';

/** An Ollama server, or a proxy in front of one. */
export interface OllamaConnection extends BackendConnection {
  /** For error messages; default `ollama`. */
  name?: string;
  /** The largest `num_ctx` that the gateway sets by itself, in tokens. */
  maxContext: number;
}

export interface Ollama {
  backend: ModelBackend;
  list: (signal: AbortSignal) => Promise<ModelRecord[]>;
  describe: OllamaModels['describe'];
  loaded: OllamaModels['loaded'];
  embed: Embed;
}

/**
 * A backend over Ollama's own API. Answers are always streamed from Ollama, even if the caller does not stream: so the idle time limit applies
 * instead of one on the whole answer, and a disconnect stops the model.
 */
export function createOllama(connection: OllamaConnection, send: SendOutbound, now: () => number = Date.now): Ollama {
  const client = new BackendClient(connection.name ?? 'ollama', connection, send);
  const models = new OllamaModels(client);
  const chooseContext = createContextChooser(models, connection.maxContext, now);
  const templates = new ReasoningTemplateCache();

  async function answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    if (request.completion !== undefined) return complete(request, request.completion, emit);
    const needsFacts = setsReasoning(request.parameters) || findNewImage(request.messages) !== undefined;
    const facts = needsFacts ? await models.learn(request) : models.find(request.model);
    requireVision(request, facts?.capabilities);
    const prepared = toOllamaRequest(request, facts);
    const formWarning = reducedSchemaWarning(request.parameters, prepared);
    const contextWarning = await chooseContext(request, prepared);
    for (const event of [formWarning, contextWarning]) if (event !== undefined) await emit([{ type: 'run-event', event }]);
    const splitter = new ReasoningSplitter({ isOpen: templates.startsInReasoning(request.model, request.origin?.callerId) });
    const numCtx = contextWarning === undefined ? (prepared.options?.num_ctx ?? facts?.defaultContext ?? defaultContext) : undefined;
    const lines = new JsonLines(client, toEventsOf({ client, splitter, numCtx }));
    const body = { ...prepared, stream: true } as unknown as JsonObject;
    const sent = { signal: request.signal, caller: request.origin?.callerId, trace: request.trace?.(), body };
    await client.exchange('/api/chat', sent, (response) => emitAnswer(lines, { body: response.body, emit }));
    templates.learn(request.model, splitter.opensInTemplate, request.origin?.callerId);
  }

  /** Continues a bare prompt (`POST /api/generate`). */
  async function complete(request: ModelRequest, completion: TextCompletion, emit: Emit<ModelEvent>): Promise<void> {
    const body = { ...toGenerateBody(request, completion, models.find(request.model)), stream: true };
    const lines = new JsonLines(client, toEventsOfText(client));
    const sent = { signal: request.signal, caller: request.origin?.callerId, trace: request.trace?.(), body };
    await client.exchange('/api/generate', sent, (response) => emitAnswer(lines, { body: response.body, emit }));
  }

  return {
    backend: {
      answer: (request, emit) =>
        answer(request, emit).catch((error: unknown) => {
          throw toGatewayError(error, request.model, client);
        }),
    },
    list: (signal) => models.list(signal),
    describe: (model, signal) => models.describe(model, signal),
    loaded: (signal) => models.loaded(signal),
    embed: ({ model, texts, dimensions, ollama, signal, caller }) => {
      const body = { ...ollama, model, input: [...texts], ...(dimensions !== undefined && { dimensions }) };
      return client.exchange('/api/embed', { signal, caller, body }, async (response) => {
        const answer = requireAnswer(await client.readJson(response), client);
        const { embeddings, prompt_eval_count: read } = answer;
        const vectors = readVectors(Array.isArray(embeddings) ? embeddings : [], texts.length, client);
        return { vectors, promptTokens: typeof read === 'number' ? read : 0 };
      });
    },
  };
}

function toOllamaRequest(request: ModelRequest, facts: OllamaModelDetails | undefined): ChatRequest {
  const { options, fields } = toOllamaParameters(request.parameters, facts?.thinking);
  const tools = toOllamaTools(request);
  return {
    model: request.model,
    messages: toOllamaMessages(request.messages),
    ...(tools.length > 0 ? { tools } : {}),
    ...fields,
    ...(Object.keys(options).length > 0 ? { options } : {}),
  };
}

function toGenerateBody(request: ModelRequest, { suffix, ollama = {} }: TextCompletion, facts: OllamaModelDetails | undefined): JsonObject {
  const { options, fields } = toOllamaParameters(request.parameters, facts?.thinking);
  const messages = toOllamaMessages(request.messages);
  const system = ollama['raw'] === true ? undefined : messages.find(({ role }) => role === 'system')?.content;
  const prompt = messages.findLast(({ role }) => role === 'user');
  return {
    model: request.model,
    prompt: prompt?.content ?? '',
    ...(suffix !== undefined && { suffix }),
    ...(prompt?.images !== undefined && { images: prompt.images as string[] }),
    ...(system !== undefined && { system }),
    ...ollama,
    ...fields,
    ...(Object.keys(options).length > 0 && { options }),
  };
}

/** Converts the lines of `POST /api/generate`. `context` are the tokens that a later request may go on from. */
function toEventsOfText(client: BackendClient): (line: JsonObject) => ModelEvent[] {
  const meter = new OutputLimit(client.name);
  return (line) => {
    const { response: text, thinking, context } = line;
    meter.add(lengthOf(thinking) + lengthOf(text));
    const events: ModelEvent[] = [];
    if (typeof thinking === 'string' && thinking !== '') events.push({ type: 'reasoning', text: thinking, field: 'thinking' });
    if (typeof text === 'string' && text !== '') events.push({ type: 'text', text });
    if (line['done'] !== true) return events;
    const reason = reasonIn(line);
    requireEnded(reason, client);
    if (Array.isArray(context)) events.push({ type: 'extra', level: 'response', fields: { context } });
    return [...events, ...usageOf(line), ...finishEvents(reason, { hasCalls: false })];
  };
}

interface Reading {
  client: BackendClient;
  splitter: ReasoningSplitter;
  /** The context size presumably in effect, to detect a truncated prompt; undefined if a warning was already given. */
  numCtx: number | undefined;
}

/** Converts Ollama's lines to events. Its tool calls are complete, several per line or one per line, often without an id and all with index 0. */
function toEventsOf({ client, splitter, numCtx }: Reading): (line: JsonObject) => ModelEvent[] {
  const meter = new OutputLimit(client.name);
  const calls = new ToolCallAssembler({ meter });
  let hasMessage = false;
  return ({ message, ...line }) => {
    const events: ModelEvent[] = [];
    if (isJsonObject(message)) {
      hasMessage = true;
      const { thinking, content } = message;
      meter.add(lengthOf(thinking) + lengthOf(content));
      if (typeof thinking === 'string' && thinking !== '') events.push({ type: 'reasoning', text: thinking, field: 'thinking' });
      if (typeof content === 'string') events.push(...splitter.push(content));
      if (Array.isArray(message['tool_calls'])) for (const call of message['tool_calls']) calls.addWhole(call);
    }
    if (line['done'] !== true) return events;
    if (!hasMessage) throw client.invalid('answers without a message');
    const reason = reasonIn(line);
    requireEnded(reason, client);
    events.push(...splitter.flush({ isCut: endOf(reason) === 'length' }));
    const made = calls.finish();
    events.push(...made.map((call): ModelEvent => ({ type: 'tool-call', call })), ...usageOf(line));
    if (numCtx !== undefined && line['prompt_eval_count'] === numCtx) events.push({ type: 'run-event', event: truncationWarning(numCtx) });
    events.push(...finishEvents(reason, { hasCalls: made.length > 0 }));
    return events;
  };
}

/** Ollama says `stop` after tool calls too. */
function reasonIn({ done_reason: reason }: JsonObject): string | undefined {
  return typeof reason === 'string' ? reason : undefined;
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0;
}

/** Ollama omits `prompt_eval_count` if the whole prompt was cached. */
function usageOf({ prompt_eval_count: read, eval_count: written }: JsonObject): ModelEvent[] {
  if (typeof read !== 'number' && typeof written !== 'number') return [];
  const prompt = typeof read === 'number' ? read : 0;
  const completion = typeof written === 'number' ? written : 0;
  return [{ type: 'usage', usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion } }];
}

/** Messages that Ollama sends with status 500 although the request is invalid; clients would retry it. */
const wrongRequest = /^(?:option "[^"]{1,100}" must be|invalid (?:JSON schema in )?format\b)/u;

/** For a missing model, says which command pulls it. */
function toGatewayError(error: unknown, model: string, { name }: BackendClient): unknown {
  if (!(error instanceof GatewayError)) return error;
  if (error.code === 'upstream_error' && wrongRequest.test(error.message))
    return new GatewayError('upstream_rejected', error.message, { status: 400, cause: error });
  if (error.status !== 404 || !/not found/iu.test(error.message)) return error;
  const message = `The model backend "${name}" does not have the model "${model}". Run: ollama pull ${model}`;
  return new GatewayError('model_not_found', message, { param: 'model', cause: error });
}
