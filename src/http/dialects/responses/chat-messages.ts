import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';

/** The items that a message of chat completions stands for, which agents send by mistake: results of calls, and an assistant's calls. */
export function itemsOf(item: JsonObject): JsonObject[] {
  const { type = 'message', role, content, tool_call_id: callId, tool_calls: calls, ...message } = item;
  if (type !== null && type !== 'message') return [item];
  if (role === 'tool' && typeof callId === 'string') return [{ type: 'function_call_output', call_id: callId, output: content ?? '' }];
  if (role !== 'assistant' || !Array.isArray(calls)) return [item];
  const isSaid = content !== undefined && content !== null && content !== '';
  return [...(isSaid ? [{ ...message, type, role, content }] : []), ...calls.flatMap(toCall)];
}

function toCall(call: JsonValue): JsonObject[] {
  const called = isJsonObject(call) ? call['function'] : undefined;
  if (!isJsonObject(call) || !isJsonObject(called)) return [];
  const { name = '', arguments: args = '' } = called;
  return [{ type: 'function_call', call_id: call['id'] ?? '', name, arguments: typeof args === 'string' ? args : JSON.stringify(args) }];
}
