import { textOf } from '../../core/chat.ts';
import type { ChatMessage, ToolCall } from '../../core/chat.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ToolSpec } from '../../core/tool.ts';

/** What a function gave, as far as the conversation tells. */
export interface ToolResultText {
  name: string;
  /** Known on the native path only. */
  args: JsonObject;
  text: string;
}

/** What the conversation asks of whoever answers it. */
export type Reading =
  /** Functions have answered since the last question. */
  | { type: 'results'; results: ToolResultText[] }
  /** A selection pass: choose among the functions in the prompt. */
  | { type: 'selection'; specs: ToolSpec[]; question: string }
  /** Steps of thought and action in labelled text; without functions no further action is wanted. */
  | { type: 'steps'; specs: ToolSpec[]; question: string; results: ToolResultText[] }
  | { type: 'question'; question: string };

/** A question that is longer is a text: what is asked stands at its beginning. */
const questionCharacters = 4_000;

export function readConversation(messages: readonly ChatMessage[]): Reading {
  const reading = readWhole(messages);
  return 'question' in reading ? { ...reading, question: reading.question.slice(0, questionCharacters) } : reading;
}

function readWhole(messages: readonly ChatMessage[]): Reading {
  const steps = readSteps(messages);
  if (steps !== undefined) return steps;
  const lastUser = messages.findLastIndex((message) => message.role === 'user');
  const asked = textOf(messages[lastUser]?.content ?? null);
  const specs = messages
    .slice(0, lastUser)
    .flatMap((message) => (message.role === 'system' ? (specsOf(textOf(message.content)) ?? []) : []));
  if (asked.startsWith('Query: ') && messages.some((message) => message.role === 'system' && hasOffer(textOf(message.content)))) {
    return { type: 'selection', specs, question: queryOf(asked) };
  }
  const results = [...foldedResults(asked), ...toolResults(messages, lastUser)];
  return results.length > 0 ? { type: 'results', results } : { type: 'question', question: asked };
}

const stepMark = 'Available Functions:';
const observationMark = 'Observation: ';

/** Undefined when the conversation does not ask for steps. */
function readSteps(messages: readonly ChatMessage[]): Reading | undefined {
  const offers = messages.flatMap((message) => (message.role === 'system' ? (specsOf(textOf(message.content), stepMark) ?? []) : []));
  const results = messages.flatMap((message, index) => {
    const text = message.role === 'user' ? textOf(message.content) : '';
    const before = messages[index - 1];
    const action = before?.role === 'assistant' ? /(?:^|\n)Action: ([^\n]{1,300})/u.exec(textOf(before.content))?.[1] : undefined;
    if (action === undefined || !text.startsWith(observationMark)) return [];
    return [{ index, name: action, args: {}, text: text.slice(observationMark.length) }];
  });
  if (offers.length === 0 && results.length === 0) return undefined;
  const question = messages.findLastIndex((message, index) => message.role === 'user' && !results.some((result) => result.index === index));
  const asked = textOf(messages[question]?.content ?? null);
  return { type: 'steps', specs: offers, question: asked, results: results.filter((result) => result.index > question) };
}

function toolResults(messages: readonly ChatMessage[], lastUser: number): ToolResultText[] {
  const calls = new Map<string, ToolCall>();
  for (const message of messages) if (message.role === 'assistant') for (const call of message.toolCalls) calls.set(call.id, call);
  return messages.slice(lastUser + 1).flatMap((message) => {
    if (message.role !== 'tool') return [];
    const call = calls.get(message.toolCallId);
    const name = message.label ?? message.name ?? call?.name ?? message.toolCallId;
    return [{ name, args: parseArguments(call?.arguments), text: textOf(message.content) }];
  });
}

function parseArguments(text = '{}'): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** ``Tool `<name>` Output: <result>``, set off by blank lines behind the question. */
function foldedResults(text: string): ToolResultText[] {
  const marks = [...text.matchAll(/(?:^|\n)Tool `([^`\n]{1,300})` Output: ?/gu)];
  return marks.map((mark, index) => {
    const end = marks[index + 1]?.index ?? text.length;
    return { name: mark[1] ?? '', args: {}, text: text.slice(mark.index + mark[0].length, end).trim() };
  });
}

/** The query stands on the last line that is marked so, behind the history. */
function queryOf(text: string): string {
  const mark = '\nQuery: ';
  const index = text.lastIndexOf(mark);
  return index < 0 ? text.slice('Query: '.length) : text.slice(index + mark.length);
}

const offerMark = 'Available Tools:';

function hasOffer(text: string): boolean {
  return text.includes(offerMark);
}

/** The JSON array behind the mark; undefined when there is none that can be read. */
function specsOf(text: string, mark = offerMark): ToolSpec[] | undefined {
  const start = text.indexOf('[', text.indexOf(mark));
  if (!text.includes(mark) || start < 0) return undefined;
  try {
    const list: unknown = JSON.parse(text.slice(start, arrayEnd(text, start)));
    return Array.isArray(list) ? list.flatMap((entry: unknown) => toSpec(entry) ?? []) : undefined;
  } catch {
    return undefined;
  }
}

/** Where the array that starts here ends, brackets within strings not counted. */
function arrayEnd(text: string, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let index = start; index < text.length; index++) {
    const character = text[index];
    if (isInString) {
      if (character === '\\') index++;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === '[') depth++;
    else if (character === ']' && --depth === 0) return index + 1;
  }
  return text.length;
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
