import type { IncomingHttpHeaders } from 'node:http';
import type { ChatEvent, FinishReason, Source, ToolCall, Usage } from '../../../core/chat.ts';
import { CallerWarnings } from '../../../core/caller-warning.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { RunEvent } from '../../../core/run-event.ts';
import { addUsage } from '../../../core/usage.ts';
import { errorBody } from '../../error-handler.ts';
import type { AnswerCollector, AnswerFormat, AnswerHead, StreamEncoder } from '../answer-format.ts';
import { inLegacyForm } from './legacy-functions.ts';

export interface CompletionOptions {
  includeUsage: boolean;
  includeEvents: boolean;
  /** Calls in OpenAI's first form. */
  isLegacy?: boolean | undefined;
}

/** OpenAI's completions and chunks, with the gateway's extensions. `headers` are the request's. */
export function chatCompletionFormat(options: CompletionOptions, headers: IncomingHttpHeaders): AnswerFormat {
  const format: AnswerFormat = {
    stream: (head) => createChunkEncoder(head, { ...options, sourcesAreEvents: keepsEventsAlone(headers) }),
    collect: createCompletionCollector,
  };
  return options.isLegacy === true ? inLegacyForm(format) : format;
}

/**
 * Open WebUI shows the `sources` of the first such chunk alone and keeps none; what comes as an event it shows and keeps. Nothing tells it apart
 * but its HTTP client.
 */
function keepsEventsAlone(headers: IncomingHttpHeaders): boolean {
  return headers['user-agent']?.includes('aiohttp/') === true;
}

/** The id of a run's completion, streamed and not. */
export function completionId(runId: string): string {
  return `chatcmpl-${runId}`;
}

/** Server-sent events, one OpenAI chunk each. */
function createChunkEncoder(
  { runId, created, model }: AnswerHead,
  options: CompletionOptions & { sourcesAreEvents: boolean },
): StreamEncoder {
  // Written once a run, not once a chunk: the text of a delta is all that differs.
  const prefix = `data: ${JSON.stringify({ id: completionId(runId), object: 'chat.completion.chunk', created, model }).slice(0, -1)}`;
  const chunk = (fields: JsonObject): string => `${prefix},${JSON.stringify(fields).slice(1)}\n\n`;
  const deltaChunk = (delta: JsonObject, choice = 0): string => chunk({ choices: [{ index: choice, delta, finish_reason: null }] });
  const textPrefix = `${prefix},"choices":[{"index":0,"delta":{"content":`;
  const started = new Set<number>();
  const callCounts = new Map<number, number>();
  const warnings = new CallerWarnings();
  let usage: Usage | undefined;

  const begin = (choice: number): string => {
    if (started.has(choice)) return '';
    started.add(choice);
    return deltaChunk({ role: 'assistant', content: '' }, choice);
  };
  const sourceChunk = (source: JsonObject): string => {
    const asEvent = options.sourcesAreEvents && { event: { type: 'source', data: source } };
    return chunk({ choices: [{ index: 0, delta: {}, finish_reason: null }], sources: [source], ...asEvent });
  };
  const runEventChunk = (event: RunEvent): string => {
    const warning = warnings.add(event);
    if (warning === undefined && !options.includeEvents) return '';
    return chunk({
      choices: [{ index: 0, delta: {}, finish_reason: null }],
      ...(warning !== undefined && { warnings: [{ ...warning }] }),
      ...(options.includeEvents && { event: { ...event } }),
    });
  };
  const callChunk = (call: ToolCall, choice: number): string => {
    const index = callCounts.get(choice) ?? 0;
    callCounts.set(choice, index + 1);
    return deltaChunk(
      { tool_calls: [{ index, ...call.extra, id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } }] },
      choice,
    );
  };

  return {
    contentType: 'text/event-stream; charset=utf-8',
    keepAlive: ': keep-alive\n\n',
    encode(event) {
      switch (event.type) {
        case 'text':
          if (event.choice === undefined || event.choice === 0)
            return `${begin(0)}${textPrefix}${JSON.stringify(event.text)}},"finish_reason":null}]}\n\n`;
          return begin(event.choice) + deltaChunk({ content: event.text }, event.choice);
        case 'reasoning':
          return begin(event.choice ?? 0) + deltaChunk({ reasoning_content: event.text }, event.choice);
        case 'thought':
          return begin(event.choice ?? 0) + deltaChunk(event.fields, event.choice);
        case 'tool-call':
          return begin(event.choice ?? 0) + callChunk(event.call, event.choice ?? 0);
        case 'finish':
          return begin(event.choice ?? 0) + chunk({ choices: [{ index: event.choice ?? 0, delta: {}, finish_reason: event.reason }] });
        case 'source':
          return sourceChunk(event.source as unknown as JsonObject);
        case 'run-event':
          return runEventChunk(event.event);
        case 'approval':
          return begin(0) + chunk({ choices: [{ index: 0, delta: {}, finish_reason: null }], approval: { ...event.approval } });
        case 'extra':
          if (event.level === 'delta') return begin(event.choice ?? 0) + deltaChunk(event.fields, event.choice);
          if (event.level === 'choice')
            return chunk({ choices: [{ index: event.choice ?? 0, delta: {}, finish_reason: null, ...event.fields }] });
          return chunk({ choices: [{ index: 0, delta: {}, finish_reason: null }], ...event.fields });
        case 'usage':
          usage = addUsage(usage, event.usage);
          return '';
        default:
          return event satisfies never;
      }
    },
    end: () => `${options.includeUsage ? chunk({ choices: [], usage: usage ?? emptyUsage }) : ''}data: [DONE]\n\n`,
    // After it the stream ends without `[DONE]`.
    failure: (error) => `data: ${JSON.stringify(errorBody(error))}\n\n`,
  };
}

const emptyUsage: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

interface CollectedChoice {
  text: string;
  reasoning: string;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  delta: JsonObject;
  fields: JsonObject;
}

/** One completion. */
export function createCompletionCollector({ runId, created, model }: AnswerHead): AnswerCollector {
  const choices = new Map<number, CollectedChoice>();
  const choiceAt = (index = 0): CollectedChoice => {
    const known = choices.get(index);
    if (known !== undefined) return known;
    const fresh: CollectedChoice = { text: '', reasoning: '', toolCalls: [], finishReason: 'stop', delta: {}, fields: {} };
    choices.set(index, fresh);
    return fresh;
  };
  const sources: Source[] = [];
  const warnings = new CallerWarnings();
  let response: JsonObject = {};
  let usage: Usage | undefined;

  function add(event: ChatEvent): void {
    if (event.type === 'text') choiceAt(event.choice).text += event.text;
    else if (event.type === 'reasoning') choiceAt(event.choice).reasoning += event.text;
    else if (event.type === 'tool-call') choiceAt(event.choice).toolCalls.push(event.call);
    else if (event.type === 'finish') choiceAt(event.choice).finishReason = event.reason;
    else if (event.type === 'source') sources.push(event.source);
    else if (event.type === 'run-event') warnings.add(event.event);
    else if (event.type === 'usage') usage = addUsage(usage, event.usage);
    else if (event.type === 'approval') response = { ...response, approval: { ...event.approval } };
    else if (event.type === 'thought' || (event.type === 'extra' && event.level === 'delta'))
      Object.assign(choiceAt(event.choice).delta, event.fields);
    else if (event.type === 'extra' && event.level === 'choice') Object.assign(choiceAt(event.choice).fields, event.fields);
    else if (event.type === 'extra') response = { ...response, ...event.fields };
  }

  function body(): JsonObject {
    choiceAt(0);
    return {
      id: completionId(runId),
      object: 'chat.completion',
      created,
      model,
      choices: [...choices].toSorted(([left], [right]) => left - right).map(([index, choice]) => completedChoice(index, choice)),
      ...(usage === undefined ? {} : { usage }),
      ...response,
      ...(sources.length === 0 ? {} : { sources: sources as unknown as JsonObject[] }),
      ...(warnings.list.length === 0 ? {} : { warnings: warnings.list.map((warning) => ({ ...warning })) }),
    };
  }

  return { add, body };
}

function completedChoice(index: number, choice: CollectedChoice): JsonObject {
  const calls = choice.toolCalls.map(({ id, name, arguments: args, extra }) => ({
    ...extra,
    id,
    type: 'function',
    function: { name, arguments: args },
  }));
  const message: JsonObject = {
    role: 'assistant',
    content: choice.text === '' && calls.length > 0 ? null : choice.text,
    ...(choice.reasoning === '' ? {} : { reasoning_content: choice.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...choice.delta,
  };
  return { index, message, logprobs: null, finish_reason: choice.finishReason, ...choice.fields };
}
