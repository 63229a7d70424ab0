import { z } from 'zod';
import type { CallerWarning } from '../../../core/chat/caller-warning.ts';
import type { CallerFunction, ChatRequest } from '../../../core/chat/chat.ts';
import { invalidField } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { parseFields } from '../requests/parse-fields.ts';
import type { CountedBody } from './messages-body-schema.ts';
import { toolsetType } from './read-mcp-servers.ts';

const functionForm = 'Send a function as {"name", "description", "input_schema"}.';
const functionSchema = z.looseObject({
  name: z.string().min(1).max(256),
  description: z.string().nullish(),
  input_schema: z.custom<JsonObject>(isJsonObject, `must be a JSON Schema. ${functionForm}`),
});

type ReadTools = Pick<ChatRequest, 'callerFunctions' | 'toolChoice' | 'parallelToolCalls'> & { warnings: CallerWarning[] };

/**
 * The caller's own functions. Tools that Anthropic runs, or whose schema only its models know, are left out with a warning.
 * @throws GatewayError `invalid_request`
 */
export function readTools({ tools, tool_choice: choice }: Pick<CountedBody, 'tools' | 'tool_choice'>): ReadTools {
  const callerFunctions: CallerFunction[] = [];
  const warnings: CallerWarning[] = [];
  const leftOut = new Set<string>();
  for (const [index, tool] of (tools ?? []).entries()) {
    if (tool['type'] === toolsetType) continue;
    if (isOwn(tool)) callerFunctions.push(toFunction(tool, index));
    else if (tool['type'] === 'function') throw invalidField(`tools.${index}.type`, `this is the form of OpenAI. ${functionForm}`);
    else {
      const type = JSON.stringify(tool['type']).slice(0, 100);
      if (typeof tool['name'] === 'string') leftOut.add(tool['name']);
      const message = `tools.${index}: ${type} is a tool of Anthropic's servers and models, which this gateway does not have. It was left out.`;
      warnings.push({ code: 'tool_left_out', message });
    }
  }
  if (choice?.type === 'tool' && leftOut.has(choice.name)) {
    throw invalidField(
      'tool_choice',
      `${choice.name} is a tool of Anthropic's servers and models, which this gateway does not have. Choose another.`,
    );
  }
  const isSingle =
    choice !== undefined && choice !== null && 'disable_parallel_tool_use' in choice && choice.disable_parallel_tool_use === true;
  return { callerFunctions, toolChoice: toChoice(choice), parallelToolCalls: isSingle ? false : undefined, warnings };
}

/** An entry without a type counts as a function, so that the error names what is wrong with it. */
function isOwn(tool: JsonObject): boolean {
  const { type } = tool;
  return type === undefined || type === null || type === 'custom';
}

function toFunction(tool: JsonObject, index: number): CallerFunction {
  const { name, description, input_schema: parameters } = parseFields(functionSchema, tool, `tools.${index}`);
  return { name, wire: { type: 'function', function: { name, ...(description && { description }), parameters } } };
}

function toChoice(choice: CountedBody['tool_choice']): ChatRequest['toolChoice'] {
  switch (choice?.type) {
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name: choice.name } };
    case 'auto':
    case 'none':
      return choice.type;
    case undefined:
      return undefined;
  }
}
