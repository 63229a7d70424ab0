import type {
  AssistantMessageParam,
  ContentBlockParam,
  RedactedThinkingBlockParam,
  TextBlockParam,
  ThinkingBlockParam,
  ToolResultBlockParam,
  ToolUseBlockParam,
  UserMessageParam,
} from '@anthropic-ai/sdk/resources/messages';

import { textOf, type AssistantMessage, type ChatMessage, type ToolMessage } from '../../core/chat/chat.ts';
import { argumentsAsObject } from '../../core/tools/call-arguments.ts';
import { isJsonObject, ownValue, type JsonObject } from '../../shared/json/json.ts';
import { cacheMarkOf, textBlocks, toBlocks, toTextBlocks, withCacheMark, type ContentPlace } from './anthropic-content.ts';
import { WireIds, type WireNames } from './wire-names.ts';

type MessageParam = UserMessageParam | AssistantMessageParam;

interface AnthropicConversation {
  system: TextBlockParam[];
  messages: MessageParam[];
}

/** Said by the user where a conversation begins with something else: Anthropic refuses it otherwise. */
const opening = '(The conversation begins here.)';

/**
 * Converts a conversation: instructions apart from the messages, roles that alternate from a user's message on, all results of a turn in one message of
 * the user, before anything else in it.
 * @throws GatewayError `invalid_request` for content that Anthropic does not take
 */
export function toAnthropicMessages(messages: readonly ChatMessage[], names: WireNames): AnthropicConversation {
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant');
  const system: TextBlockParam[] = [];
  const turns = new Turns();
  const ids = new WireIds();
  for (const [index, message] of messages.entries()) {
    const place: ContentPlace = { path: `messages.${index}.content`, isNew: index > lastAnswer };
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(...withCacheMark(toTextBlocks(message.content), message.extra));
        break;
      case 'user':
        turns.add('user', withCacheMark(toBlocks(message.content, place), message.extra));
        break;
      case 'assistant':
        turns.add('assistant', assistantBlocks(message, ids, names));
        break;
      case 'tool': {
        const result = resultBlock(message, ids, place);
        if (result === undefined) turns.add('user', textBlocks(`Result of ${message.name ?? 'a call'}: ${textOf(message.content)}`));
        else turns.addResult(result);
      }
    }
  }
  return { system, messages: turns.toMessages() };
}

/** Caches the instructions, with the functions before them, and the conversation so far. */
export function cachedConversation({ system, messages }: AnthropicConversation, mark: JsonObject | undefined): AnthropicConversation {
  const last = messages.at(-1);
  if (mark === undefined || last === undefined || typeof last.content === 'string') return { system, messages };
  const marked: MessageParam = { ...last, content: withCacheMark(last.content, mark) };
  return { system: withCacheMark(system, mark), messages: [...messages.slice(0, -1), marked] };
}

/** Thinking first, unchanged, then the text, then the calls. A turn of thinking only is refused. */
function assistantBlocks(message: AssistantMessage, ids: WireIds, names: WireNames): ContentBlockParam[] {
  const calls = message.toolCalls.map(({ id, name, arguments: args, extra }): ToolUseBlockParam => ({
    type: 'tool_use',
    id: ids.ofCall(id),
    name: names.toWire(name),
    input: argumentsAsObject(args),
    ...cacheMarkOf(extra),
  }));
  const said = [...toTextBlocks(message.content), ...calls];
  return said.length === 0 ? [] : withCacheMark([...thinkingBlocksOf(message), ...said], message.extra);
}

export function thinkingBlocksOf({ extra }: AssistantMessage): (ThinkingBlockParam | RedactedThinkingBlockParam)[] {
  const blocks = extra === undefined ? undefined : ownValue(extra, 'thinking_blocks');
  if (!Array.isArray(blocks)) return [];
  return blocks.filter((block) => {
    if (!isJsonObject(block)) return false;
    const { type, signature, data } = block;
    // Without the field it would be refused. An imitator's is empty, and it wants its thinking back.
    return type === 'thinking' ? typeof signature === 'string' : type === 'redacted_thinking' && typeof data === 'string';
  }) as unknown as (ThinkingBlockParam | RedactedThinkingBlockParam)[];
}

/** Undefined for a result without a call. */
function resultBlock({ toolCallId, content, extra }: ToolMessage, ids: WireIds, { path }: ContentPlace): ToolResultBlockParam | undefined {
  const id = ids.ofResult(toolCallId);
  if (id === undefined) return undefined;
  const blocks = toBlocks(content, { path, isNew: false });
  const [first] = blocks;
  const text = blocks.length === 1 && first?.type === 'text' && first.cache_control === undefined ? first.text : undefined;
  return { type: 'tool_result', tool_use_id: id, ...(blocks.length > 0 && { content: text ?? blocks }), ...cacheMarkOf(extra) };
}

interface Turn {
  role: 'user' | 'assistant';
  blocks: ContentBlockParam[];
  /** Of its calls. */
  results: ToolResultBlockParam[];
}

const lostResult = 'The result of this call is not in the conversation.';

/**
 * Messages of the same role become one. The results of an answer's calls begin the message after it, wherever they were, and none is missing: Anthropic
 * refuses anything else.
 */
class Turns {
  readonly #turns: Turn[] = [];
  readonly #turnByCall = new Map<string, Turn>();

  add(role: Turn['role'], blocks: readonly ContentBlockParam[]): void {
    if (blocks.length === 0) return;
    const turn = this.#turnOf(role);
    turn.blocks.push(...blocks);
    for (const block of blocks) if (block.type === 'tool_use') this.#turnByCall.set(block.id, turn);
  }

  addResult(result: ToolResultBlockParam): void {
    this.#turnByCall.get(result.tool_use_id)?.results.push(result);
  }

  toMessages(): MessageParam[] {
    const messages: MessageParam[] = [];
    let results: ToolResultBlockParam[] = [];
    for (const turn of this.#turns) {
      const content = turn.role === 'user' ? [...results, ...turn.blocks] : turn.blocks;
      if (turn.role === 'assistant' && results.length > 0) messages.push({ role: 'user', content: results });
      messages.push({ role: turn.role, content });
      results = resultsOf(turn);
    }
    if (results.length > 0) messages.push({ role: 'user', content: results });
    const last = messages.pop();
    const ending = last?.role === 'assistant' ? withoutTrailingSpace(last) : last;
    const all = ending === undefined ? messages : [...messages, ending];
    return all[0]?.role === 'user' ? all : [{ role: 'user', content: textBlocks(opening) }, ...all];
  }

  #turnOf(role: Turn['role']): Turn {
    const last = this.#turns.at(-1);
    // What is said after calls was said after their results.
    if (last?.role === role && (role === 'user' || !last.blocks.some(({ type }) => type === 'tool_use'))) return last;
    const turn: Turn = { role, results: [], blocks: [] };
    this.#turns.push(turn);
    return turn;
  }
}

function resultsOf({ blocks, results }: Turn): ToolResultBlockParam[] {
  const answered = new Set(results.map(({ tool_use_id: id }) => id));
  const lost = blocks.flatMap((block): ToolResultBlockParam[] =>
    block.type === 'tool_use' && !answered.has(block.id) ? [{ type: 'tool_result', tool_use_id: block.id, content: lostResult }] : [],
  );
  return [...results, ...lost];
}

/** An answer that is to be continued must not end with white space. */
function withoutTrailingSpace(message: MessageParam): MessageParam {
  const { content } = message;
  const last = Array.isArray(content) ? content.at(-1) : undefined;
  if (!Array.isArray(content) || last?.type !== 'text') return message;
  return { ...message, content: [...content.slice(0, -1), { ...last, text: last.text.trimEnd() }] };
}
