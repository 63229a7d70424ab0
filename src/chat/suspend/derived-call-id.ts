import { limits } from '../../core/limits.ts';
import { argumentsAsObject } from '../../core/tools/call-arguments.ts';
import type { ToolCall } from '../../core/chat/chat.ts';
import { isContainer, isDeeperThan, type JsonValue } from '../../shared/json/json.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';
import { callIdFrom } from '../../shared/text/call-ids.ts';
import { canonicalJson } from '../fit-calls/canonical-json.ts';

/**
 * The id of a call that is returned to a client which may not send ids back. It follows from what the client does send back: the conversation before
 * (`seed`), the position of the call and the call itself.
 */
export function derivedCallId(seed: string, position: number, { name, arguments: args }: Pick<ToolCall, 'name' | 'arguments'>): string {
  return callIdFrom(`${JSON.stringify([seed, position, name])}${comparableArguments(args)}`);
}

/** A text that stays the same if a client omits empty arguments, or parses JSON in them, as some do. */
export function comparableArguments(text: string): string {
  const entries = Object.entries(argumentsAsObject(text)).filter(([, value]) => !isEmpty(value));
  return canonicalJson(Object.fromEntries(entries.map(([name, value]) => [name, parsedIfJson(value)])));
}

/** Home Assistant drops values that are false in Python. */
function isEmpty(value: JsonValue | undefined): boolean {
  return isContainer(value) ? Object.keys(value).length === 0 : !value;
}

function parsedIfJson(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'string' || !/^\s*[[{]/u.test(value)) return value;
  try {
    const parsed = parseExactly(value) as JsonValue;
    return isContainer(parsed) && !isDeeperThan(parsed, limits.jsonDepth) ? parsed : value;
  } catch {
    return value;
  }
}
