import type { ToolCall } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { parseAsWritten } from '../../shared/json/parse-exactly.ts';
import { parsePythonLiteral } from './forms/python-literal.ts';

/** What models and servers send for functions without arguments. */
const noArguments: ReadonlySet<string> = new Set(['', 'null', 'None', '[]', '""']);

/**
 * The arguments of a native call: JSON, possibly within a JSON string or between marks, or a dictionary of Python. Undefined if they are anything else: they
 * must be complete.
 */
export function readArguments(text: string): JsonObject | undefined {
  if (noArguments.has(text.trim())) return {};
  const plain = withoutMarks(text);
  const value = parseWritten(text) ?? parseWritten(plain) ?? parsePythonLiteral(plain);
  const decoded = typeof value === 'string' ? parseWritten(value) : value;
  if (!isJsonObject(decoded) || isDeeperThan(decoded, limits.jsonDepth)) return undefined;
  return decoded;
}

/** The call with its arguments as a JSON object, if they can be read. */
export function withReadArguments(call: ToolCall): ToolCall {
  if (isJsonObject(parseWritten(call.arguments)) || Buffer.byteLength(call.arguments) > limits.argumentsBytes) return call;
  const read = readArguments(call.arguments);
  return read === undefined ? call : { ...call, arguments: JSON.stringify(read) };
}

/** What may follow a complete object if a server has cut the call out of a text: the marks that end calls, messages and fences. */
const endMarks = /^(?:\s|```|<\/[\w:-]{1,40}>|<\|[^<>|]{1,40}\|>){1,20}$/u;
const fence = /^\s{0,20}```(?:json|python)?\s{0,20}$/u;

function withoutMarks(text: string): string {
  const [start, end] = [text.indexOf('{'), text.lastIndexOf('}') + 1];
  const [before, behind] = [text.slice(0, Math.max(start, 0)), text.slice(end)];
  return endMarks.test(behind) && (before.trim() === '' || fence.test(before)) ? text.slice(start, end) : text;
}

function parseWritten(text: string): JsonValue | undefined {
  try {
    return parseAsWritten(text);
  } catch {
    return undefined;
  }
}
