import { z } from 'zod';
import type { AssistantMessage, ChatMessage, ContentPart, ToolCall, ToolMessage } from '../../../core/chat/chat.ts';
import type { ReturnedThought } from '../../../core/chat/thought.ts';
import { invalidField } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { parseFields } from '../requests/parse-fields.ts';
import { nothingReadable, UnknownParts } from '../requests/unknown-parts.ts';
import type { Block, CountedBody } from './messages-body-schema.ts';
import { partsOfBlock, toContent, toParts, type ContentLocation } from './read-content.ts';

const id = z.string().min(1).max(1_000_000);
const callBlock = z.looseObject({ id, name: z.string(), input: z.unknown() });
const resultBlock = z.looseObject({
  tool_use_id: id,
  content: z
    .union([z.string(), z.array(z.looseObject({ type: z.string().max(256) })).max(10_000)], 'must be text or a list of blocks')
    .nullish(),
  is_error: z.boolean().nullish(),
});

/** A conversation in the gateway's types. */
interface ReadConversation {
  messages: ChatMessage[];
  /** It has calls that the gateway has run. */
  hasExecutedCalls: boolean;
  /** What was left out, because its type is not known. */
  unknown: UnknownParts;
}

/** @throws GatewayError `invalid_request` with `param` set to the first field at fault */
export function readConversation({ messages, system }: Pick<CountedBody, 'messages' | 'system'>): ReadConversation {
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant');
  const unknown = new UnknownParts();
  const read: ChatMessage[] = systemMessage(system ?? '', { path: 'system', isNew: true, unknown });
  let hasExecutedCalls = false;
  for (const [index, { role, content }] of messages.entries()) {
    const location = { path: `messages.${index}.content`, isNew: index > lastAnswer, unknown };
    if (role === 'system') read.push(...systemMessage(content, location));
    else if (role === 'user') read.push(...userMessages(content, location));
    else {
      const turn = new AssistantTurn();
      turn.read(content, location);
      read.push(...turn.messages);
      hasExecutedCalls ||= turn.hasExecutedCalls;
    }
  }
  if (read.length === 0) throw invalidField('messages', 'must have a text, an image or a result');
  return { messages: read, hasExecutedCalls, unknown };
}

/** Claude Code puts a line about its build first, which changes with each request: a backend could never reuse what it has of the prompt. */
const billingLine = /^x-anthropic-billing-header:/;

function systemMessage(content: string | readonly Block[], location: ContentLocation): ChatMessage[] {
  const parts = toParts(content, location).filter(
    ({ type, text }) => type !== 'text' || typeof text !== 'string' || !billingLine.test(text),
  );
  return parts.length === 0 ? [] : [{ role: 'system', content: toContent(parts) }];
}

/**
 * Results first, because they have to follow their calls. Most backends take images in the messages of users only.
 * @throws GatewayError `invalid_request`, also if nothing of a message to be answered is of a known type
 */
function userMessages(content: string | readonly Block[], location: ContentLocation): ChatMessage[] {
  if (typeof content === 'string') return [{ role: 'user', content }];
  const results: ChatMessage[] = [];
  const said: ContentPart[] = [];
  const { unknown, isNew } = location;
  const unknownBefore = unknown.count;
  for (const [index, block] of content.entries()) {
    const at = { ...location, path: `${location.path}.${index}` };
    if (block.type !== 'tool_result' && block.type !== 'mcp_tool_result') {
      said.push(...partsOfBlock(block, at));
      continue;
    }
    const { message, images } = readResult(block, at);
    results.push(message);
    if (images.length > 0) said.push({ type: 'text', text: `Images in the result of the call ${message.toolCallId}:` }, ...images);
  }
  if (isNew && said.length + results.length === 0 && unknown.count > unknownBefore)
    throw nothingReadable(content[0]?.type, `${location.path}.0`, 'blocks of the types text, image, document or tool_result');
  return said.length === 0 ? results : [...results, { role: 'user', content: toContent(said) }];
}

function readResult(block: Block, { path, unknown }: ContentLocation): { message: ToolMessage; images: ContentPart[] } {
  const { tool_use_id: toolCallId, content, is_error: isError } = isPlainResult(block) ? block : parseFields(resultBlock, block, path);
  // An agent cannot take a result back: it would be refused with each further request, while a model can read that a part is missing.
  const parts = toParts(content ?? '', { path: `${path}.content`, isNew: false, isResult: true, unknown });
  const images = parts.filter(({ type }) => type !== 'text');
  const text = toContent(parts.filter(({ type }) => type === 'text')) as string;
  const shown = text === '' && images.length > 0 ? 'The result is the images below.' : text;
  // As the gateway tells models of its own calls that have failed.
  return { message: { role: 'tool', toolCallId, content: isError === true ? JSON.stringify({ error: shown }) : shown }, images };
}

/** The form that nearly all have, which needs no schema. */
function isPlainResult(block: Block): block is Block & { tool_use_id: string; content: string; is_error?: boolean } {
  const { tool_use_id: callId, content, is_error: isError } = block;
  return (
    typeof callId === 'string' && callId !== '' && typeof content === 'string' && (isError === undefined || typeof isError === 'boolean')
  );
}

/**
 * Reads one message of the assistant. It may have several rounds: the calls that the gateway has run and their results stand in it, in the order in
 * which they happened.
 */
class AssistantTurn {
  readonly messages: ChatMessage[] = [];
  hasExecutedCalls = false;
  #parts: ContentPart[] = [];
  #calls: ToolCall[] = [];
  #hasExecuted = false;
  #results: ToolMessage[] = [];
  #returned: ReturnedThought[] = [];

  read(content: string | readonly Block[], location: ContentLocation): void {
    if (typeof content === 'string') this.#parts = toParts(content, location);
    else for (const [index, block] of content.entries()) this.#add(block, { ...location, path: `${location.path}.${index}` });
    this.#endRound();
  }

  #add(block: Block, location: ContentLocation): void {
    if (block.type === 'mcp_tool_result') {
      this.#results.push(readResult(block, location).message);
      return;
    }
    if (this.#results.length > 0) this.#endRound();
    switch (block.type) {
      case 'text':
      case 'input_text':
      case 'output_text':
        // Text after a call that has no result because it waits for an approval.
        if (this.#hasExecuted) this.#endRound();
        this.#parts.push(...partsOfBlock(block, location));
        return;
      case 'thinking':
      case 'redacted_thinking':
        this.#addThought(block);
        return;
      case 'tool_use':
      case 'mcp_tool_use':
        this.#addCall(toCall(block, location));
        this.#hasExecuted ||= block.type === 'mcp_tool_use';
        this.hasExecutedCalls ||= this.#hasExecuted;
        return;
      default:
        location.unknown.note(block.type, location.path);
    }
  }

  #addCall(call: ToolCall): void {
    this.#calls.push(call);
    this.#returned = this.#returned.map((thought) => ({ callId: call.id, ...thought }));
  }

  #addThought(block: Block): void {
    const { type, thinking: shown, signature, data } = block;
    const text = type === 'thinking' ? signature : data;
    if (typeof text !== 'string' || text === '') return;
    if (type === 'redacted_thinking') this.#returned.push({ text, block: { type, data: text } });
    else if (typeof shown === 'string') this.#returned.push({ text, shown, block: { type, thinking: shown, signature: text } });
  }

  #endRound(): void {
    const text = toContent(this.#parts);
    const message: AssistantMessage = {
      role: 'assistant',
      content: text === '' ? null : text,
      toolCalls: this.#calls,
      ...(this.#returned.length > 0 && { returned: this.#returned }),
    };
    if (text !== '' || this.#calls.length > 0) this.messages.push(message);
    this.messages.push(...this.#results);
    this.#parts = [];
    this.#calls = [];
    this.#hasExecuted = false;
    this.#results = [];
    this.#returned = [];
  }
}

function isPlainCall(block: Block): block is Block & { id: string; name: string; input: JsonObject } {
  return typeof block['id'] === 'string' && block['id'] !== '' && typeof block['name'] === 'string' && isJsonObject(block['input']);
}

function toCall(block: Block, { path }: ContentLocation): ToolCall {
  const { id: callId, name, input } = isPlainCall(block) ? block : parseFields(callBlock, block, path);
  return { id: callId, name, arguments: JSON.stringify(isJsonObject(input) ? input : {}) };
}
