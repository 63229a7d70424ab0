import { textOf, type ChatMessage, type ToolCall } from '../../core/chat/chat.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';
import { isJsonObject, ownValue, type JsonObject } from '../../shared/json/json.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';

/** What a function gave, as far as the conversation says. */
export interface ToolResultText {
  name: string;
  /** Known in native mode only. */
  args: JsonObject;
  text: string;
}

/** What the conversation asks of a model. */
export type Reading =
  /** Functions have answered since the last question. */
  | { type: 'results'; results: ToolResultText[] }
  /** A selection: choose among the functions in the prompt. */
  | { type: 'selection'; specs: ToolSpec[]; question: string }
  /** Steps of thought and action in labelled text (`react`); without functions no further action is wanted. */
  | { type: 'steps'; specs: ToolSpec[]; question: string; results: ToolResultText[] }
  | { type: 'question'; question: string };

/** A longer question is a document with its question at the beginning. */
const questionCharacters = 4_000;

export function readConversation(messages: readonly ChatMessage[]): Reading {
  const reading = readSteps(messages) ?? readSelection(messages) ?? readQuestion(messages);
  return 'question' in reading ? { ...reading, question: reading.question.slice(0, questionCharacters) } : reading;
}

const observationMark = 'Observation: ';

/** Undefined when the conversation does not ask for steps. */
function readSteps(messages: readonly ChatMessage[]): Reading | undefined {
  const specs = offeredAfter('Available Functions: ', messages);
  const results = messages.flatMap((message, index) => {
    const text = message.role === 'user' ? textOf(message.content) : '';
    const before = messages[index - 1];
    const action = before?.role === 'assistant' ? /(?:^|\n)Action: ([^\n]{1,300})/u.exec(textOf(before.content))?.[1] : undefined;
    if (action === undefined || !text.startsWith(observationMark)) return [];
    return [{ index, name: action, args: {}, text: text.slice(observationMark.length) }];
  });
  if (specs === undefined && results.length === 0) return undefined;
  const asked = messages.findLastIndex((message, index) => message.role === 'user' && !results.some((result) => result.index === index));
  const question = textOf(messages[asked]?.content ?? null);
  return { type: 'steps', specs: specs ?? [], question, results: results.filter(({ index }) => index > asked) };
}

/** The query is the last line that is marked so, after the history. */
function readSelection(messages: readonly ChatMessage[]): Reading | undefined {
  const specs = offeredAfter('Available Tools: ', messages);
  const asked = textOf(messages.findLast(({ role }) => role === 'user')?.content ?? null);
  if (specs === undefined || !asked.startsWith('Query: ')) return undefined;
  return { type: 'selection', specs, question: asked.split(/(?:^|\n)Query: /u).at(-1) ?? '' };
}

function readQuestion(messages: readonly ChatMessage[]): Reading {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  const question = textOf(messages[lastUser]?.content ?? null);
  const results = [...inlineResults(question), ...toolResults(messages, lastUser)];
  return results.length > 0 ? { type: 'results', results } : { type: 'question', question };
}

function toolResults(messages: readonly ChatMessage[], lastUser: number): ToolResultText[] {
  const calls = new Map<string, ToolCall>();
  for (const message of messages) if (message.role === 'assistant') for (const call of message.toolCalls) calls.set(call.id, call);
  return messages.slice(lastUser + 1).flatMap((message) => {
    if (message.role !== 'tool') return [];
    const call = calls.get(message.toolCallId);
    const args = parseJson(call?.arguments ?? '');
    const name = message.label ?? message.name ?? call?.name ?? message.toolCallId;
    return [{ name, args: isJsonObject(args) ? args : {}, text: textOf(message.content) }];
  });
}

/** ``Tool `<name>` Output: <result>``, separated from the question by blank lines, where the model knows no role for results. */
function inlineResults(text: string): ToolResultText[] {
  const marks = [...text.matchAll(/(?:^|\n)Tool `([^`\n]{1,300})` Output: ?/gu)];
  return marks.map((mark, index) => {
    const end = marks[index + 1]?.index ?? text.length;
    return { name: mark[1] ?? '', args: {}, text: text.slice(mark.index + mark[0].length, end).trim() };
  });
}

/** The functions in the JSON list after this mark in a system message; undefined without the mark. */
function offeredAfter(mark: string, messages: readonly ChatMessage[]): ToolSpec[] | undefined {
  for (const message of messages) {
    const text = message.role === 'system' ? textOf(message.content) : '';
    const start = text.indexOf(mark);
    if (start < 0) continue;
    const [line = ''] = text.slice(start + mark.length).split('\n', 1);
    const list = parseJson(line.slice(0, line.lastIndexOf(']') + 1));
    return Array.isArray(list) ? list.flatMap((entry) => toSpec(entry) ?? []) : [];
  }
  return undefined;
}

/** A function in either form: `{name, description, parameters}`, or the same within `function`. */
export function toSpec(entry: unknown): ToolSpec | undefined {
  const inner = isJsonObject(entry) ? ownValue(entry, 'function') : undefined;
  const wire = isJsonObject(inner) ? inner : entry;
  if (!isJsonObject(wire)) return undefined;
  const { name, description, parameters } = wire;
  if (typeof name !== 'string' || name === '') return undefined;
  return { name, description: typeof description === 'string' ? description : '', parameters: isJsonObject(parameters) ? parameters : {} };
}
