import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../shared/json.ts';

/**
 * What stands in `params` of a request or in its body and is no model parameter, with the place where a preset has it. `store` is nobody's but the
 * request's: whoever chats decides whether the chat is kept.
 */
const elsewhere: ReadonlyMap<string, string> = new Map([
  ['function_calling', 'write function_calling beside params'],
  ['max_tool_rounds', 'write max_tool_rounds beside params'],
  ['tool_timeout_ms', 'write tool_timeout_ms beside params'],
  ['system', 'write system beside params'],
  ['tools', 'write tools beside params, with entries as in tool_ids'],
  ['tool_ids', 'write tools beside params'],
  ['model', 'write base_model beside params'],
  ['messages', 'write a role into system, beside params'],
  ['tool_choice', 'each request says it for itself'],
  ['stream', 'each request says it for itself'],
  ['store', 'each request says for itself whether it is kept'],
]);

/** @throws GatewayError `invalid_request` that names the parameter and the cure */
export function requireModelParams(params: JsonObject): void {
  const wrong = Object.keys(params).find((name) => elsewhere.has(name));
  if (wrong === undefined) return;
  const param = `params.${wrong}`;
  throw new GatewayError('invalid_request', `${param}: is no parameter of a model here; ${elsewhere.get(wrong) ?? ''}.`, { param });
}

/** What an older gateway has stored may hold more than a preset may have today. */
export function withoutForeignParams(params: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(params).filter(([name]) => !elsewhere.has(name)));
}
