import { parse } from 'secure-json-parse';
import { isJsonObject, ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import { findJson, parseLoosely } from './find-json.ts';
import type { FoundJson } from './find-json.ts';
import { withoutReasoning } from './without-reasoning.ts';

/** A call that a model wrote in its answer to the selection prompt; its name is not yet checked against the offer. */
export interface SelectedCall {
  name: string;
  arguments: JsonObject;
}

export interface Selection {
  calls: SelectedCall[];
  /** What had to be mended, for the run's `selection` event. */
  repairs: string[];
  /** False when no selection could be read at all, which is not the same as an empty one. */
  isReadable: boolean;
}

const argumentKeys = ['parameters', 'arguments', 'args', 'input'] as const;

/**
 * Reads the answer to the selection prompt: `{"tool_calls":[{"name","parameters"}]}`, a single call, or an array of calls,
 * with thinking, fences and prose around it. Nothing inside a thinking block is ever a call.
 */
export function parseSelection(answer: string): Selection {
  const text = decodedOnce(withoutReasoning(answer.slice(0, limits.argumentsBytes)));
  const repairs: string[] = [];
  const calls: SelectedCall[] = [];
  const seen = new Set<string>();
  let isReadable = false;
  for (const json of findJson(text)) {
    const read = readCalls(json.value);
    if (read === undefined) continue;
    isReadable = true;
    if (json.isRepaired) repairs.push('invalid JSON');
    for (const call of read) {
      const text = JSON.stringify(call);
      if (!seen.has(text)) calls.push(call);
      seen.add(text);
    }
    if (calls.length >= limits.callsPerRound) break;
  }
  return { calls, repairs, isReadable };
}

/** Some models write the whole object as one JSON string. */
function decodedOnce(text: string): string {
  if (!text.trimStart().startsWith('"')) return text;
  try {
    const value: unknown = parse(text);
    return typeof value === 'string' ? value : text;
  } catch {
    return text;
  }
}

/** Undefined when the value is no selection in any known form. */
function readCalls(value: FoundJson['value']): SelectedCall[] | undefined {
  if (Array.isArray(value)) return readList(value);
  const list = ownValue(value, 'tool_calls');
  if (Array.isArray(list)) return readList(list);
  if (isJsonObject(list)) return readList([list]);
  const call = readCall(value);
  return call === undefined ? undefined : [call];
}

/** An empty list is a selection of nothing; a list without a single call is something else. */
function readList(list: JsonValue[]): SelectedCall[] | undefined {
  const calls = list.flatMap((entry) => readCall(entry) ?? []);
  return list.length > 0 && calls.length === 0 ? undefined : calls;
}

function readCall(value: JsonValue): SelectedCall | undefined {
  if (!isJsonObject(value)) return undefined;
  const nested = ownValue(value, 'function');
  if (isJsonObject(nested)) return readCall(nested);
  const name = ownValue(value, 'name');
  if (typeof name !== 'string' || name.trim() === '') return undefined;
  const key = argumentKeys.find((candidate) => Object.hasOwn(value, candidate));
  // `{"name": "Alice"}` is data: only keys that a call can have may stand beside a name without arguments.
  if (key === undefined)
    return Object.keys(value).every((other) => ['name', 'type', 'id'].includes(other)) ? { name, arguments: {} } : undefined;
  const args = readArguments(value[key]);
  return args === undefined ? undefined : { name, arguments: args };
}

/** Objects as they are, JSON text decoded once, nothing as an empty object. */
function readArguments(value: JsonValue | undefined): JsonObject | undefined {
  if (value === undefined || value === null || value === '') return {};
  if (isJsonObject(value)) return value;
  if (typeof value !== 'string') return undefined;
  const decoded = parseLoosely(value)?.value;
  return isJsonObject(decoded) ? decoded : undefined;
}
