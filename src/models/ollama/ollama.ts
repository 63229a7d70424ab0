import type { ChatRequest, ChatResponse } from 'ollama/browser';

import type { FinishReason, ModelEvent, ToolCall } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { ModelBackend, ModelRequest } from '../../core/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { OutputLimit } from '../output-limit.ts';
import { createContextChooser } from './ollama-context.ts';
import { cutWarning, defaultContext } from './choose-context-size.ts';
import { findNewImage, requireSight, toOllamaMessages, toOllamaTools } from './ollama-messages.ts';
import { findFacts, learnFacts, listOllamaModels } from './ollama-models.ts';
import type { OllamaFacts } from './ollama-models.ts';
import { asksForThought, cutFormWarning, toOllamaParameters } from './ollama-options.ts';
import { nameOf, openOllama } from './ollama-transport.ts';
import type { OllamaConnection } from './ollama-transport.ts';
import type { ReasoningPiece } from '../split-reasoning.ts';
import { ReasoningSplitter } from '../split-reasoning.ts';
import { ReasoningTemplateCache } from '../reasoning-template-cache.ts';
import { makeCallId } from '../tool-call-assembler.ts';
import { toUpstreamError } from '../upstream-errors.ts';

export { listOllamaModels };
export type { OllamaConnection };

/**
 * A model behind Ollama's own API. The answer is always streamed from Ollama, also for a caller who does not stream, so that a long answer
 * is measured by its pauses and not by its length, and so that leaving stops it.
 */
export function createOllamaBackend(connection: OllamaConnection, send: SendOutbound, now: () => number = Date.now): ModelBackend {
  const chooseContext = createContextChooser(connection, send, now);
  const templates = new ReasoningTemplateCache();

  return {
    async *chat(request) {
      const isDelicate = asksForThought(request.parameters) || findNewImage(request.messages) !== undefined;
      const facts = isDelicate ? await learnFacts(connection, send, request) : findFacts(connection, request.model);
      requireSight(request, facts?.capabilities);
      const prepared = toOllamaRequest(request, facts);
      const call = openOllama(connection, send, request.signal);
      try {
        const cut = cutFormWarning(request.parameters, prepared);
        if (cut !== undefined) yield { type: 'run-event', event: cut };
        const warning = await chooseContext(request, prepared);
        if (warning !== undefined) yield { type: 'run-event', event: warning };
        const answer = await call.client.chat({ ...prepared, stream: true });
        const splitter = new ReasoningSplitter({ isOpen: templates.startsInReasoning(request.model) });
        const numCtx = warning === undefined ? (prepared.options?.num_ctx ?? facts?.defaultContext ?? defaultContext) : undefined;
        yield* toEvents(answer, { name: nameOf(connection), splitter, meter: new OutputLimit(nameOf(connection)), numCtx });
        templates.learn(request.model, splitter.opensInTemplate);
      } catch (error) {
        request.signal.throwIfAborted();
        throw toFault(error, request.model, connection);
      } finally {
        await call.close();
      }
    },
  };
}

function toOllamaRequest(request: ModelRequest, facts: OllamaFacts | undefined): ChatRequest {
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

interface Reading {
  /** Of the backend. */
  name: string;
  splitter: ReasoningSplitter;
  meter: OutputLimit;
  /** The context presumably in force, to tell a prompt that was cut; undefined where a warning was given already. */
  numCtx: number | undefined;
}

/** Ollama's lines in our words. Its calls come whole, several in one line or one a line, often without id and all with index 0. */
async function* toEvents(
  answer: AsyncIterable<ChatResponse>,
  { name, splitter, meter, numCtx }: Reading,
): AsyncGenerator<ModelEvent, void, undefined> {
  const ids = new Set<string>();
  let hasMessage = false;
  for await (const line of answer) {
    const message: unknown = line.message;
    if (isJsonObject(message)) {
      hasMessage = true;
      const { thinking, content } = message;
      const calls = toCalls(message['tool_calls'], ids);
      meter.add(lengthOf(thinking) + lengthOf(content));
      for (const call of calls) meter.add(call.id.length + call.name.length + call.arguments.length);
      if (typeof thinking === 'string' && thinking !== '') yield { type: 'reasoning', text: thinking, field: 'thinking' };
      if (typeof content === 'string') yield* pieces(splitter.push(content));
      for (const call of calls) yield { type: 'tool-call', call };
    }
    if (!line.done) continue;
    if (!hasMessage) throw new GatewayError('upstream_invalid_response', `The model backend "${name}" answers without a message.`);
    const reason = finishReason(line.done_reason, ids.size > 0);
    yield* pieces(splitter.flush({ isCut: reason === 'length' }));
    const usage = usageOf(line);
    if (usage !== undefined) yield usage;
    if (numCtx !== undefined && line.prompt_eval_count === numCtx) yield { type: 'run-event', event: cutWarning(numCtx) };
    yield { type: 'finish', reason };
  }
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0;
}

function* pieces(list: ReasoningPiece[]): Generator<ModelEvent, void, undefined> {
  for (const { type, text } of list) yield { type, text };
}

function toCalls(value: unknown, ids: Set<string>): ToolCall[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown): ToolCall[] => {
    const called = isJsonObject(entry) ? entry['function'] : undefined;
    if (!isJsonObject(entry) || !isJsonObject(called) || typeof called['name'] !== 'string') return [];
    const own = entry['id'];
    const id = typeof own === 'string' && own !== '' && !ids.has(own) ? own : makeCallId();
    ids.add(id);
    const given = called['arguments'];
    return [{ id, name: called['name'], arguments: typeof given === 'string' ? given : JSON.stringify(given ?? {}) }];
  });
}

/** `load` and `unload` answer a request without messages; Ollama says `stop` after calls as well. */
function finishReason(reason: unknown, hasCalls: boolean): FinishReason {
  if (reason === 'length') return 'length';
  return hasCalls ? 'tool_calls' : 'stop';
}

/** A prompt that was wholly in Ollama's cache has no `prompt_eval_count`. */
function usageOf(line: Partial<ChatResponse>): ModelEvent | undefined {
  const { prompt_eval_count: asked, eval_count: answered } = line;
  if (typeof asked !== 'number' && typeof answered !== 'number') return undefined;
  const prompt = asked ?? 0;
  const completion = answered ?? 0;
  return { type: 'usage', usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion } };
}

/** What Ollama calls its own failure (500) though the request is wrong; clients would send the same again. */
const wrongRequest = /^(?:option "[^"]{1,100}" must be|invalid (?:JSON schema in )?format\b)/u;

/** A model that is not there gets the command that fetches it. */
function toFault(error: unknown, model: string, connection: OllamaConnection): GatewayError {
  const name = nameOf(connection);
  const fault = toUpstreamError(error, name);
  if (fault.code === 'upstream_error' && wrongRequest.test(fault.message))
    return new GatewayError('upstream_rejected', fault.message, { status: 400, cause: error });
  if (fault.status !== 404 || !/not found/iu.test(fault.message)) return fault;
  const message = `The model backend "${name}" does not have the model "${model}". Run: ollama pull ${model}`;
  return new GatewayError('model_not_found', message, { param: 'model', cause: error });
}
