import { parse } from 'secure-json-parse';
import type { ToolCall } from '../../core/chat.ts';
import { isDeeperThan, isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import type { Tool, ToolErrorCode } from '../../core/tool.ts';
import { coerceArguments } from './coerce-arguments.ts';
import { findOfferedName } from './find-offered-name.ts';
import { checkValue } from '../../validation/check-value.ts';

/** A call that may run, or the reason why it must not. */
export type PreparedCall = ReadyCall | RefusedCall;

export interface ReadyCall {
  type: 'ready';
  call: ToolCall;
  tool: Tool;
  args: JsonObject;
  repairs: string[];
}

export interface RefusedCall {
  type: 'refused';
  call: ToolCall;
  tool: Tool | undefined;
  /** As the model wrote them, where they could be read at all. */
  args?: JsonObject;
  code: ToolErrorCode;
  message: string;
}

/** Whose call it is; the signal ends a check that takes long. */
export interface CallingRun {
  caller: { readonly id: string };
  signal?: AbortSignal | undefined;
}

/**
 * Finds, parses, fits and checks one call, without any effect, as `fitToolCall` and then with the function's schema.
 * @throws the signal's reason
 */
export async function prepareToolCall(
  call: ToolCall,
  tools: ReadonlyMap<string, Tool>,
  { caller, signal, finderName }: CallingRun & { finderName?: string | undefined },
): Promise<PreparedCall> {
  const fitted = fitToolCall(call, tools, finderName);
  if (fitted.type === 'refused') return fitted;
  const { tool, args } = fitted;
  const problems = await argumentProblems(args, tool.spec.parameters, { caller, signal });
  if (problems.length === 0) return fitted;
  const message = `Invalid arguments for '${tool.spec.name}': ${problems.join('; ')}.`;
  return { type: 'refused', call, tool, args, code: 'args_invalid', message };
}

/**
 * Finds, parses and fits one call. Only tools offered in this run are found.
 * Damaged arguments never run: they are told to the model, which may call again; `finderName` is the function by which it finds others.
 */
export function fitToolCall(call: ToolCall, tools: ReadonlyMap<string, Tool>, finderName?: string): PreparedCall {
  const match = findOfferedName(call.name, [...tools.keys()]);
  const tool = match.type === 'unknown' ? undefined : tools.get(match.name);
  const refuse = (code: ToolErrorCode, message: string): PreparedCall => ({ type: 'refused', call, tool, code, message });
  if (match.type === 'unknown' || tool === undefined)
    return refuse('tool_not_found', unknownName(call.name, match.type === 'unknown' ? match.candidates : [], finderName));
  if (Buffer.byteLength(call.arguments) > limits.argumentsBytes) {
    return refuse(
      'args_too_large',
      `The arguments of '${tool.spec.name}' are larger than ${limits.argumentsBytes} bytes. Call it again with less.`,
    );
  }
  const parsed = parseArguments(call.arguments);
  if (parsed === undefined) {
    return refuse(
      'args_not_json',
      `The arguments of '${tool.spec.name}' are not a JSON object. Call it again with one, such as {"key": "value"}.`,
    );
  }
  const { args, changes } = coerceArguments(parsed, tool.spec.parameters);
  const repairs = match.type === 'repaired' ? [`name: "${call.name}" read as "${match.name}"`, ...changes] : changes;
  return { type: 'ready', call, tool, args, repairs };
}

/**
 * Why arguments must not run, a sentence each; empty when they fit. Those that are too expensive to check are refused: whoever chooses them must
 * not choose whether they are checked. @throws the signal's reason
 */
export async function argumentProblems(args: JsonObject, schema: JsonObject, { caller, signal }: CallingRun): Promise<string[]> {
  const check = await checkValue(args, schema, { caller: caller.id, signal });
  switch (check.type) {
    case 'fits':
      return [];
    case 'faulty':
      return check.errors;
    case 'unchecked':
      return [`what they hold, with the schema of this function, ${check.reason}`];
  }
}

/** An empty text is what models send for functions without arguments; a JSON text in a JSON string is decoded once. */
function parseArguments(text: string): JsonObject | undefined {
  if (text.trim() === '' || text.trim() === 'null') return {};
  const value = parseJson(text);
  const decoded = typeof value === 'string' ? parseJson(value) : value;
  if (!isJsonObject(decoded) || isDeeperThan(decoded, limits.jsonDepth)) return undefined;
  return decoded;
}

function parseJson(text: string): unknown {
  try {
    return parse(text, undefined, { protoAction: 'remove', constructorAction: 'remove' });
  } catch {
    return undefined;
  }
}

function unknownName(name: string, candidates: readonly string[], finderName: string | undefined): string {
  const shown = name.length > 80 ? `${name.slice(0, 80)}…` : name;
  const cure = finderName === undefined ? '' : ` Others are found by '${finderName}'.`;
  return candidates.length === 0
    ? `There is no function '${shown}'.${cure}`
    : `There is no function '${shown}'. Available: ${candidates.join(', ')}.${cure}`;
}
