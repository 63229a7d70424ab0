import type { ToolCall } from '../../../core/chat/chat.ts';
import { invalidField } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';

/** A body without the deprecated `functions`, `function_call` and role `function`. `isLegacy`: its answer has to use `function_call`. */
interface ModernBody {
  body: JsonObject;
  isLegacy: boolean;
}

/**
 * Converts `functions` and `function_call` to `tools` and `tool_choice`, and messages of that form to tool calls and results. That form has no
 * ids: a call gets the id that our own answer gave it, else one from its position, which is the same in every later request of the chat.
 * @throws GatewayError `invalid_request`
 */
export function fromLegacyFunctions(body: JsonObject): ModernBody {
  const isLegacy = isSet(body['functions']) || isSet(body['function_call']);
  if (!isLegacy && !hasLegacyMessages(body['messages'])) return { body, isLegacy: false };
  const { functions, function_call: choice, ...rest } = body;
  const modern: JsonObject = { ...rest };
  if (Array.isArray(rest['messages'])) modern['messages'] = toToolMessages(rest['messages']);
  if (isSet(functions)) {
    if (isSet(rest['tools'])) throw invalidField('functions', 'cannot be combined with tools. Send all of them as tools.');
    modern['tools'] = toTools(functions);
  }
  if (isSet(choice)) {
    if (isSet(rest['tool_choice'])) throw invalidField('function_call', 'cannot be combined with tool_choice. Send tool_choice alone.');
    modern['tool_choice'] = toToolChoice(choice);
  }
  return { body: modern, isLegacy };
}

function isSet(value: JsonValue | undefined): value is NonNullable<JsonValue> {
  return value !== undefined && value !== null;
}

function hasLegacyMessages(messages: JsonValue | undefined): boolean {
  return Array.isArray(messages) && messages.some((message) => isJsonObject(message) && isLegacyMessage(message));
}

function isLegacyMessage(message: JsonObject): boolean {
  return message['role'] === 'function' || isJsonObject(message['function_call']);
}

function toTools(functions: NonNullable<JsonValue>): JsonValue {
  if (!Array.isArray(functions)) throw invalidField('functions', 'must be an array of functions. Prefer tools, which replaces it.');
  return functions.map((definition, index) => {
    if (!isJsonObject(definition) || typeof definition['name'] !== 'string')
      throw invalidField(`functions.${index}`, 'must be an object with a name');
    return { type: 'function', function: definition };
  });
}

function toToolChoice(choice: NonNullable<JsonValue>): JsonValue {
  if (choice === 'none' || choice === 'auto') return choice;
  const name = isJsonObject(choice) ? choice['name'] : undefined;
  if (typeof name === 'string') return { type: 'function', function: { name } };
  throw invalidField('function_call', 'must be "none", "auto" or {"name": "…"}. Prefer tool_choice, which replaces it.');
}

/** Backends refuse a call without a result and a result without a call, so the missing one is added. */
function toToolMessages(messages: readonly JsonValue[]): JsonValue[] {
  const modern: JsonValue[] = [];
  let open: { id: string; name: string } | undefined;
  const close = (content: JsonValue): void => {
    if (open !== undefined) modern.push({ role: 'tool', tool_call_id: open.id, name: open.name, content });
    open = undefined;
  };
  messages.forEach((message, index) => {
    const wire = isJsonObject(message) ? message : {};
    const { function_call: call, ...rest } = wire;
    if (wire['role'] === 'function') {
      const { name } = wire;
      if (typeof name !== 'string') throw invalidField(`messages.${index}.name`, 'must name the function whose result this is');
      if (open?.name !== name) {
        close(lostResult);
        open = { id: idAt(index), name };
        modern.push(callMessage({ role: 'assistant', content: null }, { ...open, args: '{}' }));
      }
      return close(wire['content'] ?? '');
    }
    close(lostResult);
    if (!isJsonObject(call) || isSet(rest['tool_calls'])) return modern.push(message);
    const { name, arguments: args = '{}', id = idAt(index) } = call;
    if (typeof name !== 'string' || typeof id !== 'string')
      throw invalidField(`messages.${index}.function_call`, 'must be an object with a name');
    open = { id, name };
    return modern.push(callMessage(rest, { id, name, args }));
  });
  close(lostResult);
  return modern;
}

const lostResult = JSON.stringify({ error: 'The result of this call is not in the conversation.' });

function idAt(index: number): string {
  return `call_function_${index}`;
}

function callMessage(message: JsonObject, { id, name, args }: { id: string; name: string; args: JsonValue }): JsonObject {
  return { ...message, tool_calls: [{ id, type: 'function', function: { name, arguments: args } }] };
}

/** A call as `function_call`. The `id` is our addition: if a client sends the message back unchanged, the results of this run can be restored. */
export function toFunctionCall({ id, name, arguments: args }: ToolCall): JsonObject {
  return { function_call: { name, arguments: args, id } };
}
