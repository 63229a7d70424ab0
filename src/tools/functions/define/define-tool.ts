import { limits } from '../../../core/limits.ts';
import type { PlainJsonObject } from '../../../shared/json/json.ts';
import { longestTimerMs } from '../../../shared/async/timer-limits.ts';
import {
  functionMark,
  isFunctionTool,
  toolsetMark,
  type FunctionTool,
  type ToolDefinition,
  type ToolParameters,
  type Toolset,
  type ToolsetDefinition,
} from './function-definition.ts';
import { readSchema } from './function-schema.ts';

const legalName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const legalId = /^[a-z0-9_-]{1,64}$/;

/** The check of one option, and the wording of what it accepts. */
interface OptionRule {
  fits: (value: unknown) => boolean;
  expected: string;
}

const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isFunction = (value: unknown): boolean => typeof value === 'function';
const flag: OptionRule = { fits: isBoolean, expected: 'true or false' };
const condition: OptionRule = { fits: (value) => isBoolean(value) || isFunction(value), expected: 'true, false or a function' };
const callback: OptionRule = { fits: isFunction, expected: 'a function' };
const guardrails: OptionRule = {
  fits: (value) => Array.isArray(value) && value.length <= limits.hooks && value.every(isFunction),
  expected: 'a list of functions',
};
const milliseconds: OptionRule = {
  fits: (value) => typeof value === 'number' && value > 0 && value <= longestTimerMs,
  expected: 'a number of milliseconds above zero; leave it out for none',
};
const isResultOrAbort = (value: unknown): boolean => value === 'result' || value === 'abort';

const toolFields = ['name', 'description', 'parameters', 'execute'];
const toolOptions: Record<string, OptionRule> = {
  default: flag,
  strict: flag,
  readOnly: flag,
  parallel: flag,
  sequential: flag,
  repeats: flag,
  idempotent: flag,
  consumesFiles: flag,
  worker: flag,
  isEnabled: condition,
  needsApproval: condition,
  inputGuardrails: guardrails,
  outputGuardrails: guardrails,
  timeoutMs: milliseconds,
  cacheTtlMs: milliseconds,
  timeoutBehavior: { fits: isResultOrAbort, expected: '"result" or "abort"' },
  onError: { fits: (value) => isResultOrAbort(value) || isFunction(value), expected: '"result", "abort" or a function' },
};

const toolsetFields = ['id', 'tools'];
const toolsetOptions: Record<string, OptionRule> = {
  setup: callback,
  close: callback,
  default: flag,
};

/**
 * Defines a function that runs in the gateway's process; a module in `tools_dir` exports it.
 * @throws TypeError that names the function and how to fix it, so that an unusable function is never offered to a model
 */
export function defineTool<Parameters extends ToolParameters>(definition: ToolDefinition<Parameters>): FunctionTool {
  const fields = readDefinition(definition, [...toolFields, ...Object.keys(toolOptions)]);
  requireNoProblem('defineTool', fields, problemOfTool);
  const { name, description, parameters, ...options } = fields as unknown as ToolDefinition;
  try {
    const { schema, readArguments } = readSchema(parameters);
    return Object.freeze({
      [functionMark]: true as const,
      name,
      description,
      // Values written by authors contain JavaScript numbers.
      parameters: schema as PlainJsonObject,
      readArguments,
      options: Object.freeze(options),
    });
  } catch (error) {
    throw new TypeError(`defineTool "${name}": parameters: ${error instanceof Error ? error.message : String(error)}.`, { cause: error });
  }
}

/**
 * Bundles functions under one id. They are enabled and disabled together, but offered to a model one by one.
 * @throws TypeError that names the toolset and how to fix it, for example when two functions have the same name
 */
export function defineToolset(definition: ToolsetDefinition): Toolset {
  const fields = readDefinition(definition, [...toolsetFields, ...Object.keys(toolsetOptions)]);
  requireNoProblem('defineToolset', fields, problemOfToolset);
  const toolset = fields as unknown as ToolsetDefinition;
  return Object.freeze({ [toolsetMark]: true as const, ...toolset, tools: Object.freeze([...toolset.tools]) });
}

type Fields = Record<string, unknown>;

/**
 * The fields of a definition. Those of a class instance may be inherited, or use `this`, and its other fields are its own business. Undefined if it is no
 * object.
 */
function readDefinition(definition: unknown, known: readonly string[]): Fields | undefined {
  if (typeof definition !== 'object' || definition === null) return undefined;
  const given = definition as Fields;
  const prototype: unknown = Object.getPrototypeOf(given);
  const isInstance = prototype !== Object.prototype && prototype !== null;
  const names = isInstance ? known.filter((name) => name in given) : Object.keys(given);
  return Object.fromEntries(names.map((name) => [name, boundTo(given, given[name])]));
}

function boundTo(owner: object, value: unknown): unknown {
  return typeof value === 'function' ? (value.bind(owner) as unknown) : value;
}

/** The definition is checked at run time, because types are stripped when a module is loaded and a `.js` module never had any. */
function requireNoProblem(
  caller: 'defineTool' | 'defineToolset',
  fields: Fields | undefined,
  problemOf: (fields: Fields) => string | undefined,
): void {
  const idField = caller === 'defineTool' ? 'name' : 'id';
  const example = (caller === 'defineTool' ? toolFields : toolsetFields).join(', ');
  const problem = fields === undefined ? `pass an object, as in ${caller}({ ${example} })` : problemOf(fields);
  if (problem === undefined) return;
  const id = fields?.[idField];
  throw new TypeError(
    `${caller} ${typeof id === 'string' ? `"${id.slice(0, 80)}"` : `without ${idField === 'id' ? 'an' : 'a'} ${idField}`}: ${problem}.`,
  );
}

function problemOfTool(fields: Fields): string | undefined {
  const { name, description, execute, parameters, parallel, sequential } = fields;
  if (typeof name !== 'string') return 'name is missing; give it one, such as "get_weather"';
  if (!legalName.test(name)) return 'name must consist of 1 to 64 letters, digits, "_" and "-", and must not begin with a digit or "-"';
  if (typeof description !== 'string' || description.trim() === '') return 'description is missing; say what it does and when to use it';
  if (typeof execute !== 'function') return 'execute is missing; it is the function that does the work: execute(args, context)';
  if (typeof parameters !== 'object' || parameters === null)
    return 'parameters is missing; use z.object({ … }) or a JSON Schema, and z.object({}) for no parameters';
  if (parallel !== undefined && parallel === sequential) return 'parallel and sequential contradict each other; remove one of them';
  return problemOfOptions(fields, toolFields, toolOptions);
}

function problemOfToolset(fields: Fields): string | undefined {
  const { id, tools } = fields;
  if (typeof id !== 'string' || !legalId.test(id)) return 'id must consist of 1 to 64 lower-case letters, digits, "_" and "-"';
  if (!Array.isArray(tools) || !tools.every(isFunctionTool)) return 'tools must be a list of functions that defineTool returned';
  if (tools.length > limits.functionsPerModule) return `it has ${tools.length} functions; the maximum is ${limits.functionsPerModule}`;
  const names = tools.map(({ name }) => name);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) return `two functions are named "${duplicate}"; rename one of them`;
  return problemOfOptions(fields, toolsetFields, toolsetOptions);
}

function problemOfOptions(fields: Fields, required: readonly string[], rules: Record<string, OptionRule>): string | undefined {
  for (const [key, value] of Object.entries(fields)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (rule === undefined && !required.includes(key))
      return `"${key}" is not an option; the options are ${[...required, ...Object.keys(rules)].join(', ')}`;
    if (rule !== undefined && value !== undefined && !rule.fits(value)) return `${key} must be ${rule.expected}`;
  }
  return undefined;
}
