import { createHmac, hkdfSync } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { ChatMessage, ChatRequest } from '../../core/chat/chat.ts';
import type { JsonObject, JsonValue } from '../../shared/json/json.ts';
import { canonicalJson } from '../fit-calls/canonical-json.ts';

/** Distinguishes this key from others that are derived from the same secret (RFC 5869, section 3.2). */
const keyLabel = 'toolwharf repeated requests v1';
/** How much of a request is hashed in one tick of the event loop. */
const tickCharacters = 512 * 1024;
/** These fields do not change what a model is asked. */
const otherParameters: ReadonlySet<string> = new Set(['stream_options', 'store']);

/** The key of a request of this caller: the same for another request that differs only in ids, and in whether it is streamed. */
export type RepeatKeys = (callerId: string, request: ChatRequest) => Promise<string>;

/** Keys that reveal nothing about the requests. */
export function createRepeatKeys(secret: string): RepeatKeys {
  const secretKey = Buffer.from(hkdfSync('sha256', secret, '', keyLabel, 32));
  return async (callerId, request) => {
    const hmac = createHmac('sha256', secretKey);
    const numbers = new Map<string, number>();
    let characters = 0;
    for (const part of [headOf(callerId, request), ...request.messages.map((message) => () => withoutIds(message, numbers))]) {
      const text = canonicalJson(typeof part === 'function' ? part() : part);
      // No text of JSON has a line break, so that each part stays apart from the next.
      hmac.update(`${text}\n`);
      characters += text.length;
      if (characters > tickCharacters) {
        characters = 0;
        await nextTick();
      }
    }
    return hmac.digest('base64url');
  };
}

function headOf(callerId: string, request: ChatRequest): JsonValue {
  const { model, chatId, conversationId, idempotencyKey, reply, purpose, mode, completion, callerFunctions, parameters } = request;
  const { toolIds, toolServers, mcpServers, hostedTools, toolChoice, parallelToolCalls, variables, files } = request;
  const { maxToolRounds, maxToolCalls, toolTimeoutMs } = request;
  const head = {
    who: [callerId, chatId, conversationId, idempotencyKey],
    asked: [reply?.dialect, model, purpose, mode, completion],
    tools: [toolIds, toolServers, mcpServers, callerFunctions.map(({ wire }) => wire), hostedTools, toolChoice, parallelToolCalls],
    limits: [maxToolRounds, maxToolCalls, toolTimeoutMs],
    more: [variables, files],
    parameters: Object.fromEntries(Object.entries(parameters).filter(([name]) => !otherParameters.has(name))),
  };
  return head as JsonObject;
}

/** The message with the number of each call in place of its id. */
function withoutIds(message: ChatMessage, numbers: Map<string, number>): JsonValue {
  const numberOf = (id: string): number => {
    const number = numbers.get(id) ?? numbers.size;
    numbers.set(id, number);
    return number;
  };
  const { extra, ...known } = message;
  const { id: _id, ...others } = extra ?? {};
  const shown = { ...known, extra: others };
  if (message.role === 'tool') return { ...shown, toolCallId: numberOf(message.toolCallId) } as JsonObject;
  if (message.role !== 'assistant') return shown as JsonObject;
  const toolCalls = message.toolCalls.map(({ id, sentId: _sentId, place: _place, ...call }) => ({ ...call, id: numberOf(id) }));
  const returned = message.returned?.map(({ callId: _callId, ...thought }) => thought);
  return { ...shown, toolCalls, returned };
}
