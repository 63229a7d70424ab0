import type { ToolCall } from '../../core/chat/chat.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import { wholeParameters, type Tool, type ToolErrorCode, type ToolSpec } from '../../core/tools/tool.ts';
import { withPlainNumbers } from '../../shared/json/parse-exactly.ts';
import { nameCall, type NamedCall } from '../fit-calls/name-calls.ts';
import { fitArguments, rulesFor, strictRules, type FittedArguments, type FittingRules } from '../fit-calls/fit-arguments.ts';
import { readArguments } from '../parse-tool-calls/read-arguments.ts';
import { checkValue, type ValueCheck } from '../../validation/check-value.ts';

/** A call that may run, or the reason why it must not. */
export type PreparedCall = ReadyCall | RefusedCall;

export interface ReadyCall {
  type: 'ready';
  call: ToolCall;
  tool: Tool;
  args: JsonObject;
  /** As the model, a hook or a human gave them: what is shown and logged. */
  given: JsonObject;
  repairs: string[];
  /** What the model reads before the result. */
  notices: string[];
}

export interface RefusedCall {
  type: 'refused';
  call: ToolCall;
  tool: Tool | undefined;
  /** As the model wrote them, if they could be parsed. */
  args?: JsonObject;
  code: ToolErrorCode;
  message: string;
}

/** `name`: the offered name. */
type FunctionSchema = Pick<ToolSpec, 'name' | 'parameters'>;

/** The caller, and a signal that aborts a slow validation. */
export interface CallingRun {
  caller: { readonly id: string };
  signal?: AbortSignal | undefined;
}

/** Finds the function, then prepares the call. @throws the signal's reason */
export function prepareToolCall(call: ToolCall, tools: ReadonlyMap<string, Tool>, run: CallingRun): Promise<PreparedCall> {
  return prepareNamedCall(nameCall(call, tools), tools, run);
}

/**
 * Parses, coerces and validates the arguments of a call; no side effects. `finderName`: the tool that finds deferred functions.
 * @throws the signal's reason
 */
export async function prepareNamedCall(
  named: NamedCall,
  tools: ReadonlyMap<string, Tool>,
  { caller, signal, finderName }: CallingRun & { finderName?: string | undefined },
): Promise<PreparedCall> {
  const fitted = findAndFit(named, tools, finderName);
  if (fitted.type === 'refused') return fitted;
  return withCheckedArguments(fitted, { caller, signal });
}

/** The same call with arguments from a hook or a human, which are validated like the model's. @throws the signal's reason */
export async function prepareEditedCall({ call, tool }: ReadyCall, args: JsonObject, run: CallingRun): Promise<PreparedCall> {
  const fitted = parseAndFit(JSON.stringify(args), schemaOf(tool), rulesFor(tool));
  return fitted.type === 'refused' ? { ...fitted, call, tool } : withCheckedArguments({ ...fitted, call, tool }, run);
}

/**
 * Why arguments that a human has changed are invalid, worded for that human; undefined if they are valid. An argument that the function does not know is
 * an objection even if the function only reads: the human can correct it now, and reads no result.
 */
export async function objectionTo(args: JsonObject, spec: FunctionSchema, run: CallingRun): Promise<string | undefined> {
  const fitted = parseAndFit(JSON.stringify(args), spec, strictRules);
  return fitted.type === 'refused' ? fitted.message : (await misfitOf(fitted, spec, run))?.message;
}

async function withCheckedArguments(fitted: FittedCall, run: CallingRun): Promise<PreparedCall> {
  const misfit = await misfitOf(fitted, schemaOf(fitted.tool), run);
  return misfit === undefined ? toReady(fitted) : toRefused(fitted, misfit);
}

/** A call whose arguments are fitted to the function, but not validated. */
interface FittedCall extends ReadyCall {
  /** As in `FittedArguments`. */
  problems: string[];
}

function toReady({ problems: _problems, ...ready }: FittedCall): ReadyCall {
  return ready;
}

function toRefused({ call, tool, given }: FittedCall, misfit: Misfit): RefusedCall {
  return { type: 'refused', call, tool, args: given, ...misfit };
}

/** The whole one, whatever part of it the model has read. */
function schemaOf(tool: Tool): FunctionSchema {
  return { name: tool.spec.name, parameters: wholeParameters(tool) };
}

type Misfit = Pick<RefusedCall, 'code' | 'message'>;

function misfit(code: ToolErrorCode, message: string): Misfit {
  return { code, message };
}

async function misfitOf(
  { args, problems }: Pick<FittedArguments, 'args' | 'problems'>,
  { name, parameters }: FunctionSchema,
  run: CallingRun,
): Promise<Misfit | undefined> {
  const check = await checkArguments(args, parameters, run);
  const found = check.type === 'faulty' ? [...problems, ...check.errors] : problems;
  if (found.length > 0) return invalidArguments(name, found);
  if (check.type === 'too_large')
    return misfit('args_too_large', `The arguments of '${name}' are too large to be checked. Call it again with less.`);
  if (check.type !== 'unchecked') return undefined;
  // An unchecked call must not run, or a caller could avoid the check.
  const message = `The arguments of '${name}' could not be checked in time, so the call was not run: the check ${check.reason}. Call it again; if that fails too, use less nesting and shorter lists and texts.`;
  return misfit('tool_internal_error', message);
}

function invalidArguments(name: string, problems: readonly string[]): Misfit {
  return misfit('args_invalid', `Invalid arguments for '${name}': ${problems.join('; ')}.`);
}

/** Finds the function, then parses and coerces the arguments without validating them. */
export function fitToolCall(call: ToolCall, tools: ReadonlyMap<string, Tool>): PreparedCall {
  const fitted = findAndFit(nameCall(call, tools), tools, undefined);
  if (fitted.type === 'refused') return fitted;
  const { problems, tool } = fitted;
  return problems.length === 0 ? toReady(fitted) : toRefused(fitted, invalidArguments(tool.spec.name, problems));
}

/** Malformed arguments never run: the model is told what is wrong, and may call again. */
function findAndFit(
  { call, written, candidates = [] }: NamedCall,
  tools: ReadonlyMap<string, Tool>,
  finderName: string | undefined,
): FittedCall | RefusedCall {
  const tool = tools.get(call.name);
  if (tool === undefined)
    return { type: 'refused', call, tool, code: 'tool_not_found', message: unknownName(call.name, candidates, finderName) };
  const fitted = parseAndFit(call.arguments, schemaOf(tool), rulesFor(tool));
  if (fitted.type === 'refused') return { ...fitted, call, tool };
  const repairs = written === undefined ? fitted.repairs : [`name: "${written}" read as "${call.name}"`, ...fitted.repairs];
  return { ...fitted, call, tool, repairs };
}

function parseAndFit(
  text: string,
  { name, parameters }: FunctionSchema,
  rules: FittingRules,
): Omit<FittedCall, 'call' | 'tool'> | Pick<RefusedCall, 'type' | 'code' | 'message'> {
  if (Buffer.byteLength(text) > limits.argumentsBytes) {
    const message = `The arguments of '${name}' are larger than ${limits.argumentsBytes} bytes. Call it again with less.`;
    return { type: 'refused', code: 'args_too_large', message };
  }
  const written = readArguments(text);
  if (written === undefined) {
    const message = `The arguments of '${name}' are not a JSON object. Call it again with one, such as {"key": "value"}.`;
    return { type: 'refused', code: 'args_not_json', message };
  }
  return { type: 'ready', given: withPlainNumbers(written) as JsonObject, ...fitArguments(written, parameters, rules) };
}

/** Checks coerced arguments against the schema of a function. @throws the signal's reason */
export function checkArguments(args: JsonObject, schema: JsonObject, { caller, signal }: CallingRun): Promise<ValueCheck> {
  return checkValue(args, schema, { caller: caller.id, signal });
}

function unknownName(name: string, candidates: readonly string[], finderName: string | undefined): string {
  const shown = name.length > 80 ? `${name.slice(0, 80)}…` : name;
  const cure = finderName === undefined ? '' : ` Others are found by '${finderName}'.`;
  return candidates.length === 0
    ? `There is no function '${shown}'.${cure}`
    : `There is no function '${shown}'. Available: ${candidates.join(', ')}.${cure}`;
}
