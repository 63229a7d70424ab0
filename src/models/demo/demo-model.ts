import { emitFrom } from '../../shared/emit.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { ChatMessage, ModelEvent, Usage } from '../../core/chat.ts';
import { textOf } from '../../core/chat.ts';
import { limits } from '../../core/limits.ts';
import type { ModelBackend, ModelRecord, ModelRequest } from '../../core/model.ts';
import type { ToolSpec } from '../../core/tool.ts';
import { answerQuestion, answerResults } from './answer-text.ts';
import { chooseCalls, chooseNames } from './choose-calls.ts';
import type { ChosenCall } from './choose-calls.ts';
import { propertiesOf } from './fill-arguments.ts';
import { readConversation, toSpec } from './read-conversation.ts';
import type { Reading } from './read-conversation.ts';
import { makeCallId } from '../tool-call-assembler.ts';

export const demoModel: ModelRecord = {
  id: 'demo',
  owner: 'demo',
  isLocal: true,
  // 2026-01-01, because a stand-in has no birthday and a list must not change by itself.
  created: 1_767_225_600,
  capabilities: ['completion', 'tools'],
  details: { name: 'Demo (rule-based, not a language model)' },
};

export interface DemoOptions {
  /** Milliseconds since 1970, for questions such as "how long since …". */
  now?: () => number;
  newCallId?: () => string;
}

/** Words between two turns of the event loop, so that others are served while a long answer is given. */
const wordsPerTurn = 32;

/**
 * A rule-based stand-in for a model: it chooses functions for a question by what they look like, natively or in a selection pass, and
 * quotes their results. The same conversation gives the same answer, but for call ids and the clock. It says what it is and knows nothing.
 */
export function createDemoBackend({ now = Date.now, newCallId = makeCallId }: DemoOptions = {}): ModelBackend {
  async function* events(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    request.signal.throwIfAborted();
    const reply = replyTo(request, now());
    if (reply.calls !== undefined) {
      for (const { name, args } of reply.calls)
        yield { type: 'tool-call', call: { id: newCallId(), name, arguments: JSON.stringify(args) } };
    } else yield* speak(reply.text, request.signal);
    const spoken = reply.calls === undefined ? reply.text : JSON.stringify(reply.calls);
    yield { type: 'usage', usage: usageOf(request, spoken) };
    yield { type: 'finish', reason: reply.calls === undefined ? 'stop' : 'tool_calls' };
  }
  return { answer: (request, emit) => emitFrom(events(request), emit) };
}

type Reply = { text: string; calls?: undefined } | { calls: ChosenCall[] };

function replyTo(request: ModelRequest, now: number): Reply {
  const reading = readConversation(request.messages);
  if (reading.type === 'results') return { text: answerResults(reading.results) };
  if (reading.type === 'selection') return { text: selectionOf(reading, now) };
  if (reading.type === 'steps') return { text: nextStep(reading, now) };
  const specs = offeredTo(request);
  const calls = chooseCalls({ question: reading.question, specs, toolChoice: request.toolChoice, now });
  if (calls.length > 0) return { calls: request.parallelToolCalls === false ? calls.slice(0, 1) : calls };
  return { text: answerQuestion(reading.question, namesOf(specs)) };
}

/** As the selection's prompt asks for it. So many functions are shown by their names alone: then names are asked for. */
function selectionOf({ specs, question }: Reading & { type: 'selection' }, now: number): string {
  const areNames = specs.length > limits.selectedAtOnce && specs.every((spec) => propertiesOf(spec).length === 0);
  const calls = areNames ? chooseNames({ question, specs, now }) : chooseCalls({ question, specs, toolChoice: undefined, now });
  return JSON.stringify({ tool_calls: calls.map(({ name, args }) => ({ name, parameters: args })) });
}

/** In the labelled text of `react`: one action for each call that fits the question, then the answer. */
function nextStep({ specs, question, results }: Reading & { type: 'steps' }, now: number): string {
  const next = chooseCalls({ question, specs, toolChoice: undefined, now })[results.length];
  if (next !== undefined)
    return `Thought: ${next.name} fits the question.\nAction: ${next.name}\nAction Input: ${JSON.stringify(next.args)}\n`;
  if (results.length > 0) return `Thought: The functions have answered.\nFinal Answer: ${answerResults(results)}`;
  return `Thought: No function fits the question.\nFinal Answer: ${answerQuestion(question, namesOf(specs))}`;
}

function namesOf(specs: readonly ToolSpec[]): string[] {
  return specs.map(({ name }) => name);
}

function offeredTo({ tools, callerTools, toolChoice }: ModelRequest): ToolSpec[] {
  return toolChoice === 'none' ? [] : [...tools, ...callerTools.flatMap((entry) => toSpec(entry) ?? [])];
}

async function* speak(text: string, signal: AbortSignal): AsyncGenerator<ModelEvent, void, undefined> {
  let count = 0;
  for (const [word] of text.matchAll(/\s{0,99}\S+/gu)) {
    if (++count % wordsPerTurn === 0) await nextTurn();
    signal.throwIfAborted();
    yield { type: 'text', text: word };
  }
}

/** Words stand for tokens. */
function usageOf(request: ModelRequest, reply: string): Usage {
  const read = request.messages.reduce((sum, message) => sum + wordsIn(message), 0);
  const prompt = read + offeredTo(request).reduce((sum, spec) => sum + countWords(JSON.stringify(spec)), 0);
  const completion = countWords(reply);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function wordsIn(message: ChatMessage): number {
  const calls = message.role === 'assistant' ? message.toolCalls.map((call) => `${call.name} ${call.arguments}`).join(' ') : '';
  return countWords(`${textOf(message.content)} ${calls}`);
}

function countWords(text: string): number {
  return text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
}
