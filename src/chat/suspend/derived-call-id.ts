import { argumentsAsObject } from '../../core/tools/call-arguments.ts';
import type { ToolCall } from '../../core/chat/chat.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { callIdFrom } from '../../shared/text/call-ids.ts';
import { canonicalJson } from '../fit-calls/canonical-json.ts';

/**
 * The id of a call that is returned to a client which may not send ids back. It follows from what the client does send back: the conversation before
 * (`seed`), the position of the call and the call itself. Empty arguments do not count, because some clients omit them.
 */
export function derivedCallId(seed: string, position: number, { name, arguments: args }: Pick<ToolCall, 'name' | 'arguments'>): string {
  return callIdFrom(canonicalJson([seed, position, name, withoutEmpty(argumentsAsObject(args))]));
}

function withoutEmpty(args: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== '' && value !== null && value !== undefined));
}
