import { limits } from '../../../core/limits.ts';
import { isFunctionTool, toolsetMark } from './function-definition.ts';
import type { Toolset, ToolsetDefinition } from './function-definition.ts';

const legalId = /^[a-z0-9_-]{1,64}$/;
const known = new Set(['id', 'tools', 'setup', 'close', 'default']);

/**
 * Bundles functions under one id: they are switched together, and offered to a model as single functions.
 * @throws TypeError that names the toolset and the cure, as for the same name twice
 */
export function defineToolset(definition: ToolsetDefinition): Toolset {
  const problem = problemOf(definition);
  if (problem !== undefined) throw new TypeError(`defineToolset ${shownId(definition)}: ${problem}.`);
  return Object.freeze({ [toolsetMark]: true as const, ...definition, tools: Object.freeze([...definition.tools]) });
}

function shownId(definition: unknown): string {
  const id: unknown = typeof definition === 'object' && definition !== null && 'id' in definition ? definition.id : undefined;
  return typeof id === 'string' ? `"${id.slice(0, 80)}"` : 'without an id';
}

function problemOf(definition: unknown): string | undefined {
  if (typeof definition !== 'object' || definition === null) return 'give it an object, as in defineToolset({ id, tools })';
  const fields = definition as Record<string, unknown>;
  const { id, tools } = fields;
  if (typeof id !== 'string' || !legalId.test(id)) return 'id consists of 1 to 64 small letters, digits, "_" and "-"';
  const stranger = Object.keys(fields).find((key) => !known.has(key));
  if (stranger !== undefined) return `"${stranger}" is no option; options are ${[...known].join(', ')}`;
  if (!Array.isArray(tools) || !tools.every(isFunctionTool)) return 'tools is a list of what defineTool gives';
  if (tools.length > limits.functionsPerModule)
    return `it has ${tools.length} functions, at most ${limits.functionsPerModule} are possible`;
  const twice = tools.find(({ name }, index) => tools.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) return `the function "${twice.name}" is there twice; give one of them another name`;
  for (const key of ['setup', 'close']) if (fields[key] !== undefined && typeof fields[key] !== 'function') return `${key} is a function`;
  return fields['default'] !== undefined && typeof fields['default'] !== 'boolean' ? 'default is true or false' : undefined;
}
