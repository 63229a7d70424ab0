import type { ChatMessage } from '../core/chat/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { valuesIn } from '../shared/json/json-depth.ts';

/**
 * The arguments of calls are texts, which no limit of bodies looks into, and each is parsed to be repaired and again for its backend. So all those of one
 * conversation together may have as many values as a body, which holds them as objects in other dialects.
 * @throws GatewayError `payload_too_large`
 */
export function requireBoundedCalls(messages: readonly ChatMessage[]): void {
  let left: number = limits.bodyValues;
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const { arguments: text } of message.toolCalls) left -= valuesIn(text, left);
    if (left < 0)
      throw new GatewayError(
        'payload_too_large',
        `The arguments of the calls in the messages have more than ${limits.bodyValues} values. Leave out older calls with their results.`,
      );
  }
}
