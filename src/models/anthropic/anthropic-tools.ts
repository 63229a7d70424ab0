import type { Tool, ToolChoice, ToolUnion } from '@anthropic-ai/sdk/resources/messages';

import type { ModelRequest } from '../../core/models/model.ts';
import { isJsonObject, ownValue, textIn, type JsonObject } from '../../shared/json/json.ts';
import { cacheMarkOf } from './anthropic-content.ts';
import { toInputSchema } from './anthropic-schemas.ts';
import type { WireNames } from './wire-names.ts';

interface AnthropicTools {
  tools?: ToolUnion[];
  tool_choice?: ToolChoice;
}

/**
 * The offered functions, the gateway's first, and how they may be called. A provider's own tools stay as the caller wrote them. `strict` is not sent:
 * Anthropic enforces few schemas, and refuses the others.
 */
export function toAnthropicTools(request: ModelRequest, names: WireNames): AnthropicTools {
  const own = request.tools.map(({ name, description, parameters }) => toTool({ name: names.toWire(name), description, parameters }));
  const all: ToolUnion[] = [...own, ...request.callerTools.map((entry) => callerTool(entry, names))];
  const allowed = allowedIn(request.toolChoice);
  const tools = allowed === undefined ? all : all.filter((tool) => 'name' in tool && allowed.names.has(names.fromWire(tool.name)));
  if (tools.length === 0) return {};
  const choice = toChoice(allowed === undefined ? request : { ...request, toolChoice: allowed.mode }, names);
  return { tools, ...(choice !== undefined && { tool_choice: choice }) };
}

function callerTool(entry: JsonObject, names: WireNames): ToolUnion {
  const called = ownValue(entry, 'function');
  if (!isJsonObject(called)) return entry as unknown as ToolUnion;
  const { name, description, parameters } = called;
  const schema = isJsonObject(parameters) ? parameters : noParameters;
  const tool = toTool({ name: names.toWire(textIn(name)), description: textIn(description), parameters: schema });
  return { ...tool, ...cacheMarkOf(called), ...cacheMarkOf(entry) };
}

const noParameters: JsonObject = { type: 'object', properties: {} };

interface NamedFunction {
  name: string;
  description: string;
  parameters: JsonObject;
}

/** By the parameters, which are the same object in every request. */
const converted = new WeakMap<JsonObject, { of: NamedFunction; tool: Tool }>();

function toTool({ name, description, parameters }: NamedFunction): Tool {
  const known = converted.get(parameters);
  if (known?.of.name === name && known.of.description === description) return known.tool;
  const { schema, note } = toInputSchema(parameters);
  const words = [description.trim() === '' ? undefined : description, note].filter((text) => text !== undefined).join('\n\n');
  const tool: Tool = { name, ...(words !== '' && { description: words }), input_schema: schema as Tool.InputSchema };
  converted.set(parameters, { of: { name, description, parameters }, tool });
  return tool;
}

function toChoice({ toolChoice: choice, parallelToolCalls }: ModelRequest, names: WireNames): ToolChoice | undefined {
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (choice === 'none') return { type: 'none' };
  if (choice === 'required') return { type: 'any', ...single };
  if (isJsonObject(choice)) {
    const called = ownValue(choice, 'function');
    const name = isJsonObject(called) ? ownValue(called, 'name') : undefined;
    return typeof name === 'string' ? { type: 'tool', name: names.toWire(name), ...single } : (choice as unknown as ToolChoice);
  }
  return parallelToolCalls === false ? { type: 'auto', ...single } : undefined;
}

/** Whether the model has to call a function. */
export function isForced(choice: ModelRequest['toolChoice']): boolean {
  return choice === 'required' || (isJsonObject(choice) && choice['type'] !== 'auto' && choice['type'] !== 'none');
}

/** OpenAI's `allowed_tools`: unlisted functions are not offered. */
function allowedIn(choice: ModelRequest['toolChoice']): { names: ReadonlySet<string>; mode: 'auto' | 'required' } | undefined {
  if (!isJsonObject(choice) || choice['type'] !== 'allowed_tools') return undefined;
  const nested = ownValue(choice, 'allowed_tools');
  const { mode, tools } = isJsonObject(nested) ? nested : choice;
  const entries = Array.isArray(tools) ? tools.filter(isJsonObject) : [];
  const names = entries.map((entry) => textIn((isJsonObject(entry['function']) ? entry['function'] : entry)['name']));
  return { names: new Set(names), mode: mode === 'required' ? 'required' : 'auto' };
}
