import type { z } from 'zod';
import { derivedCallId } from '../../../chat/suspend/derived-call-id.ts';
import type { ChatMessage, MessageContent, ToolCall } from '../../../core/chat/chat.ts';
import { ConversationSeed } from './conversation-seed.ts';
import type { messageSchema } from './ollama-body-schema.ts';

type WireMessage = z.infer<typeof messageSchema>;

/**
 * Converts a conversation to the gateway's types. Calls get the ids with which they were returned to the client, whatever ids it has for them: some
 * clients of Ollama send none back, others make their own. Results find their call by the client's id, by the function's name, or by their order. `seed` is for calls that follow.
 */
export function toMessages(wire: readonly WireMessage[]): { messages: ChatMessage[]; seed: () => string } {
  let open: OpenCall[] = [];
  const seed = new ConversationSeed();
  const messages = wire.map((message, index): ChatMessage => {
    const content = toContent(message.content ?? '', message.images ?? []);
    if (message.role !== 'assistant') seed.add(message);
    switch (message.role) {
      case 'system':
      case 'developer':
        return { role: 'system', content };
      case 'user':
        return { role: 'user', content };
      case 'assistant': {
        open = toCalls(message, seed);
        const toolCalls = open.map(({ call }) => call);
        seed.add(message);
        const thinking = message.thinking ?? '';
        return { role: 'assistant', content, toolCalls, ...(thinking !== '' && { extra: { thinking } }) };
      }
      case 'tool': {
        const name = message.tool_name ?? message.name ?? undefined;
        const call = takeCall(open, message.tool_call_id ?? undefined, name);
        const toolCallId = call?.id ?? message.tool_call_id ?? `call_${index}`;
        const named = call?.name ?? name;
        return { role: 'tool', toolCallId, content, ...(named !== undefined && { name: named }) };
      }
    }
  });
  return { messages, seed: () => seed.value };
}

/** A call without a result so far. */
interface OpenCall {
  call: ToolCall;
  sentId: string | null | undefined;
}

function toCalls({ tool_calls: calls }: WireMessage, seed: ConversationSeed): OpenCall[] {
  return (calls ?? []).map(({ id: sentId, function: { name, arguments: args } }, position) => {
    const call = { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) };
    const id = derivedCallId(seed.value, position, call);
    const isOwn = typeof sentId === 'string' && sentId !== '' && sentId !== id;
    return { call: { ...call, id, place: { seed: seed.value, position }, ...(isOwn && { sentId }) }, sentId };
  });
}

/** Takes the call that a result answers out of those without a result. */
function takeCall(open: OpenCall[], id: string | undefined, name: string | undefined): ToolCall | undefined {
  const byId = id === undefined ? -1 : open.findIndex(({ sentId }) => sentId === id);
  const byName = name === undefined || byId >= 0 ? byId : open.findIndex(({ call }) => call.name === name);
  const isUnnamed = id === undefined && name === undefined;
  const [taken] = open.splice(byName < 0 ? (isUnnamed ? 0 : open.length) : byName, 1);
  return taken?.call;
}

/** Text, or parts if there are images. */
export function toContent(text: string, images: readonly string[]): MessageContent {
  if (images.length === 0) return text;
  return [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...images.map((image) => ({ type: 'image_url', image_url: { url: toUrl(image) } })),
  ];
}

/** The first characters of a file of this type, in base64. */
const imageTypes: readonly (readonly [start: string, type: string])[] = [
  ['/9j/', 'image/jpeg'],
  ['R0lG', 'image/gif'],
  ['UklGR', 'image/webp'],
];

/** Ollama accepts only base64, but some clients send a `data:` URI. */
function toUrl(image: string): string {
  if (image.startsWith('data:')) return image;
  const type = imageTypes.find(([start]) => image.startsWith(start))?.[1] ?? 'image/png';
  return `data:${type};base64,${image}`;
}
