import { ownValue, type JsonObject } from '../../../shared/json/json.ts';
import { damagedCall, type ReadEntry } from '../answer-pieces.ts';
import { speaksAgainst } from '../selection/meant-calls.ts';
import type { ReadContext } from '../read-context.ts';

export const argumentKeys = ['parameters', 'arguments', 'args', 'params', 'input', 'tool_input', 'action_input', 'kwargs'] as const;
export const nameKeys = ['name', 'tool_name', 'function_name', 'function', 'tool', 'action', 'recipient_name'] as const;
export const listKeys = ['tool_calls', 'tool_call', 'function_calls', 'function_call', 'toolCalls', 'toolCall'] as const;

/** Members beside a call that say nothing about whether it is meant. */
const plainKeys: ReadonlySet<string> = new Set([
  ...argumentKeys,
  ...nameKeys,
  ...listKeys,
  'type',
  'id',
  'index',
  'call_id',
  'tool_call_id',
  'role',
  'required',
  'score',
  'confidence',
  'query',
  'language',
]);
/** The model explains itself: only what speaks against the call counts. */
const explanation =
  /^(?:thoughts?|thinking|reason(?:ing)?|rationale|explanation|analysis|description|summary|content|message|response|answer)$/;

/** Members that only identify a call. */
const frameKeys: ReadonlySet<string> = new Set([...argumentKeys, ...listKeys, 'type', 'id', 'index', 'call_id', 'tool_call_id', 'role']);

/**
 * Whether a call without arguments has them in members that are not read: `{"name": "f", "a": 1}`. `isStated`: that it has none is written, so that only
 * parameters of the function count.
 */
export function hasOtherArguments(
  value: JsonObject,
  name: string,
  { context, isStated }: { context: ReadContext; isStated: boolean },
): boolean {
  const nameKey = nameKeys.find((key) => typeof ownValue(value, key) === 'string');
  return Object.entries(value).some(([key, member]) => {
    if (key === nameKey || frameKeys.has(key) || member === null || member === '') return false;
    if (context.takes(name, [key])) return true;
    return !isStated && !plainKeys.has(key) && !(explanation.test(key) && typeof member === 'string');
  });
}

/** A call whose arguments may be in the JSON behind it does not run without them. */
export function withoutLostArguments(entry: ReadEntry): ReadEntry {
  const isBare = entry.type === 'call' && Object.keys(entry.arguments).length === 0;
  return isBare ? damagedCall('malformed', entry.text, entry.name) : entry;
}

/** Whether members beside a call may take it back, put it off or only propose it. */
export function hasReservation(value: JsonObject): boolean {
  return Object.entries(value).some(([key, member]) => {
    if (plainKeys.has(key) || member === null || member === '') return false;
    return !(explanation.test(key) && typeof member === 'string') || speaksAgainst(member);
  });
}
