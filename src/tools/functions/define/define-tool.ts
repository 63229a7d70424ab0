import { limits } from '../../../core/limits.ts';
import { functionMark } from './function-definition.ts';
import type { FunctionTool, ToolDefinition, ToolParameters } from './function-definition.ts';
import { readSchema } from './function-schema.ts';

const legalName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const flags = ['default', 'strict', 'readOnly', 'parallel', 'sequential', 'repeats', 'idempotent', 'consumesFiles', 'worker'];
const switches = ['isEnabled', 'needsApproval'];
const lists = ['inputGuardrails', 'outputGuardrails'];
const delays = ['timeoutMs', 'cacheTtlMs'];
const known = new Set([
  'name',
  'description',
  'parameters',
  'execute',
  'timeoutBehavior',
  'onError',
  ...flags,
  ...switches,
  ...lists,
  ...delays,
]);
/** The longest time a timer can wait for. */
const longestDelayMs = 2_147_483_647;

/**
 * Declares a function of this process, to be exported from a module in `tools_dir`.
 * @throws TypeError that names the function and the cure, so that what cannot work never reaches a model
 */
export function defineTool<Parameters extends ToolParameters>(definition: ToolDefinition<Parameters>): FunctionTool {
  const problem = problemOf(definition);
  if (problem !== undefined) throw new TypeError(`defineTool ${shownName(definition)}: ${problem}.`);
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

function shownName(definition: unknown): string {
  const name: unknown = typeof definition === 'object' && definition !== null && 'name' in definition ? definition.name : undefined;
  return typeof name === 'string' ? `"${name.slice(0, 80)}"` : 'without a name';
}

/** Types are gone when a module is loaded, and a `.js` one never had any. */
function problemOf(definition: unknown): string | undefined {
  if (typeof definition !== 'object' || definition === null)
    return 'give it an object, as in defineTool({ name, description, parameters, execute })';
  const fields = definition as Record<string, unknown>;
  const { name, description, execute, parameters } = fields;
  if (typeof name !== 'string') return 'name is missing; give it one, such as "get_weather"';
  if (!legalName.test(name)) return 'a name consists of 1 to 64 letters, digits, "_" and "-", and does not begin with a digit or "-"';
  if (typeof description !== 'string' || description.trim() === '') return 'description is missing; say what it does and when to use it';
  if (typeof execute !== 'function') return 'execute is missing; it is the function that does the work, execute(args, context)';
  if (typeof parameters !== 'object' || parameters === null)
    return 'parameters is missing; give it z.object({ … }) or JSON Schema, z.object({}) for none';
  const stranger = Object.keys(fields).find((key) => !known.has(key));
  if (stranger !== undefined) return `"${stranger}" is no option; options are ${[...known].join(', ')}`;
  return problemOfOptions(fields);
}

function problemOfOptions(fields: Record<string, unknown>): string | undefined {
  const isSet = (key: string): boolean => fields[key] !== undefined;
  for (const key of flags) if (isSet(key) && typeof fields[key] !== 'boolean') return `${key} is true or false`;
  for (const key of switches) {
    if (isSet(key) && typeof fields[key] !== 'boolean' && typeof fields[key] !== 'function') return `${key} is true, false or a function`;
  }
  for (const key of lists) if (isSet(key) && !isListOfFunctions(fields[key])) return `${key} is a list of functions`;
  for (const key of delays)
    if (isSet(key) && !isDelay(fields[key])) return `${key} is a number of milliseconds above zero; leave it out for none`;
  const { timeoutBehavior, onError, parallel, sequential } = fields;
  if (isSet('parallel') && parallel === sequential) return 'parallel and sequential exclude each other; leave one of them out';
  if (isSet('timeoutBehavior') && timeoutBehavior !== 'result' && timeoutBehavior !== 'abort')
    return 'timeoutBehavior is "result" or "abort"';
  const isReaction = onError === 'result' || onError === 'abort' || typeof onError === 'function';
  return isSet('onError') && !isReaction ? 'onError is "result", "abort" or a function' : undefined;
}

function isListOfFunctions(value: unknown): boolean {
  return Array.isArray(value) && value.length <= limits.hooks && value.every((entry) => typeof entry === 'function');
}

function isDelay(value: unknown): boolean {
  return typeof value === 'number' && value > 0 && value <= longestDelayMs;
}
