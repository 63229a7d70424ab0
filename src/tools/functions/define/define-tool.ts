import { limits } from '../../../core/limits.ts';
import { functionMark, isFunctionTool, toolsetMark } from './function-definition.ts';
import type { FunctionTool, ToolDefinition, ToolParameters, Toolset, ToolsetDefinition } from './function-definition.ts';
import { readSchema } from './function-schema.ts';

const legalName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const legalId = /^[a-z0-9_-]{1,64}$/;
/** The longest time a timer can wait for. */
const longestDelayMs = 2_147_483_647;

/** What an option has to be. */
interface OptionRule {
  fits: (value: unknown) => boolean;
  words: string;
}

const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isFunction = (value: unknown): boolean => typeof value === 'function';
const flag: OptionRule = { fits: isBoolean, words: 'true or false' };
const condition: OptionRule = { fits: (value) => isBoolean(value) || isFunction(value), words: 'true, false or a function' };
const callback: OptionRule = { fits: isFunction, words: 'a function' };
const guardrails: OptionRule = {
  fits: (value) => Array.isArray(value) && value.length <= limits.hooks && value.every(isFunction),
  words: 'a list of functions',
};
const delay: OptionRule = {
  fits: (value) => typeof value === 'number' && value > 0 && value <= longestDelayMs,
  words: 'a number of milliseconds above zero; leave it out for none',
};
const isReaction = (value: unknown): boolean => value === 'result' || value === 'abort';

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
  timeoutMs: delay,
  cacheTtlMs: delay,
  timeoutBehavior: { fits: isReaction, words: '"result" or "abort"' },
  onError: { fits: (value) => isReaction(value) || isFunction(value), words: '"result", "abort" or a function' },
};

const toolsetFields = ['id', 'tools'];
const toolsetOptions: Record<string, OptionRule> = {
  setup: callback,
  close: callback,
  default: flag,
};

/**
 * Declares a function of this process, to be exported from a module in `tools_dir`.
 * @throws TypeError that names the function and the cure, so that what cannot work never reaches a model
 */
export function defineTool<Parameters extends ToolParameters>(definition: ToolDefinition<Parameters>): FunctionTool {
  requireNoProblem('defineTool', definition, problemOfTool);
  const { name, description, parameters, ...options } = definition as unknown as ToolDefinition;
  try {
    const { schema, readArguments } = readSchema(parameters);
    return Object.freeze({
      [functionMark]: true as const,
      name,
      description,
      parameters: schema,
      readArguments,
      options: Object.freeze({ ...options }),
    });
  } catch (error) {
    throw new TypeError(`defineTool "${name}": parameters: ${error instanceof Error ? error.message : String(error)}.`, { cause: error });
  }
}

/**
 * Bundles functions under one id: they are switched together, and offered to a model as single functions.
 * @throws TypeError that names the toolset and the cure, as for the same name twice
 */
export function defineToolset(definition: ToolsetDefinition): Toolset {
  requireNoProblem('defineToolset', definition, problemOfToolset);
  return Object.freeze({ [toolsetMark]: true as const, ...definition, tools: Object.freeze([...definition.tools]) });
}

type Fields = Record<string, unknown>;

/** Types are gone when a module is loaded, and a `.js` one never had any. */
function requireNoProblem(
  caller: 'defineTool' | 'defineToolset',
  definition: unknown,
  problemOf: (fields: Fields) => string | undefined,
): void {
  const isObject = typeof definition === 'object' && definition !== null;
  const fields = isObject ? (definition as Fields) : {};
  const idField = caller === 'defineTool' ? 'name' : 'id';
  const example = (caller === 'defineTool' ? toolFields : toolsetFields).join(', ');
  const problem = isObject ? problemOf(fields) : `give it an object, as in ${caller}({ ${example} })`;
  if (problem === undefined) return;
  const id = fields[idField];
  throw new TypeError(
    `${caller} ${typeof id === 'string' ? `"${id.slice(0, 80)}"` : `without ${idField === 'id' ? 'an' : 'a'} ${idField}`}: ${problem}.`,
  );
}

function problemOfTool(fields: Fields): string | undefined {
  const { name, description, execute, parameters, parallel, sequential } = fields;
  if (typeof name !== 'string') return 'name is missing; give it one, such as "get_weather"';
  if (!legalName.test(name)) return 'a name consists of 1 to 64 letters, digits, "_" and "-", and does not begin with a digit or "-"';
  if (typeof description !== 'string' || description.trim() === '') return 'description is missing; say what it does and when to use it';
  if (typeof execute !== 'function') return 'execute is missing; it is the function that does the work, execute(args, context)';
  if (typeof parameters !== 'object' || parameters === null)
    return 'parameters is missing; give it z.object({ … }) or JSON Schema, z.object({}) for none';
  if (parallel !== undefined && parallel === sequential) return 'parallel and sequential exclude each other; leave one of them out';
  return problemOfOptions(fields, toolFields, toolOptions);
}

function problemOfToolset(fields: Fields): string | undefined {
  const { id, tools } = fields;
  if (typeof id !== 'string' || !legalId.test(id)) return 'id consists of 1 to 64 small letters, digits, "_" and "-"';
  if (!Array.isArray(tools) || !tools.every(isFunctionTool)) return 'tools is a list of what defineTool gives';
  if (tools.length > limits.functionsPerModule)
    return `it has ${tools.length} functions, at most ${limits.functionsPerModule} are possible`;
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return `the function "${twice}" is there twice; give one of them another name`;
  return problemOfOptions(fields, toolsetFields, toolsetOptions);
}

function problemOfOptions(fields: Fields, required: readonly string[], rules: Record<string, OptionRule>): string | undefined {
  for (const [key, value] of Object.entries(fields)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (rule === undefined && !required.includes(key))
      return `"${key}" is no option; options are ${[...required, ...Object.keys(rules)].join(', ')}`;
    if (rule !== undefined && value !== undefined && !rule.fits(value)) return `${key} is ${rule.words}`;
  }
  return undefined;
}
