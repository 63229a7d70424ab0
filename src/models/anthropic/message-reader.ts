import type { RawContentBlockDelta, RawMessageStreamEvent, StopReason } from '@anthropic-ai/sdk/resources/messages';

import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ModelEvent } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import { isDeeperThan, isJsonObject, textIn, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { BackendClient } from '../transport/backend-client.ts';
import { finishEvents, requireEnded } from '../answers/finish-reasons.ts';
import type { OutputLimit } from '../answers/output-limit.ts';
import { ToolCallAssembler, unreadable } from '../answers/tool-call-assembler.ts';
import { toAnthropicUsage, usageFields } from './anthropic-usage.ts';
import type { WireNames } from './wire-names.ts';

interface MessageContext {
  client: BackendClient;
  names: WireNames;
  makeCallId: () => string;
  meter: OutputLimit;
}

/** Blocks of one message; far more than the calls of a round, with texts and thinking between them. */
const maxBlocks = 1_000;

/** A block of the answer, as far as it has arrived. */
interface Block {
  /** What is needed of how it began. */
  start: JsonObject;
  thinking: string;
  signature: string;
  /** The input of a call, as it was written. */
  input: string;
}

type StreamEventType = RawMessageStreamEvent['type'];
type DeltaType = RawContentBlockDelta['type'];

/**
 * Converts the events of one message, or a whole message, to events. Text and thinking are emitted as they arrive; calls, the thinking that has to come
 * back with them, usage and the finish reason by `finish`. Blocks, deltas and events of other types are ignored.
 */
export class MessageReader {
  readonly #context: MessageContext;
  readonly #blocks: Block[] = [];
  /** The latest block of each index. */
  readonly #byIndex = new Map<JsonValue, Block>();
  /** What came for no call, or in a form that is not known. */
  #lost = '';
  #usage: JsonObject = {};
  #ending: JsonObject = {};
  #hasBegun = false;
  #hasSpoken = false;
  #needsGap = false;

  constructor(context: MessageContext) {
    this.#context = context;
  }

  /** Whether there is a message, even an empty one. */
  get hasMessage(): boolean {
    return this.#hasBegun;
  }

  read(event: JsonObject, events: ModelEvent[]): void {
    const { index = 0 } = event;
    switch (event['type'] as StreamEventType) {
      case 'message_start':
        if (!isJsonObject(event['message'])) return;
        this.#hasBegun = true;
        this.#noteUsage(event['message']['usage']);
        return;
      case 'content_block_start':
        if (isJsonObject(event['content_block'])) this.#start(event['content_block'], index, events);
        return;
      case 'content_block_delta':
        if (isJsonObject(event['delta'])) this.#grow(event['delta'], index, events);
        return;
      case 'message_delta':
        this.#noteUsage(event['usage']);
        if (isJsonObject(event['delta'])) this.#end(event['delta']);
        return;
      case 'content_block_stop':
      case 'message_stop':
        return;
      default:
    }
  }

  /** A message that was not streamed. */
  readWhole(message: JsonObject, events: ModelEvent[]): void {
    const { content, usage } = message;
    if (!Array.isArray(content)) return;
    this.#hasBegun = true;
    this.#noteUsage(usage);
    this.#end(message);
    for (const [index, block] of content.entries()) {
      if (isJsonObject(block)) this.#start(block, index, events);
    }
  }

  /** The remaining events once the message is complete. */
  finish(): ModelEvent[] {
    const { client, names, makeCallId } = this.#context;
    const { stop_reason: reason } = this.#ending;
    const word = typeof reason === 'string' ? reason : undefined;
    requireEnded(word, client);
    const assembler = new ToolCallAssembler({ makeId: makeCallId });
    for (const [index, { start, input }] of this.#blocks.filter(isCall).entries()) {
      const name = names.fromWire(textIn(start['name']));
      assembler.add({ index, id: textIn(start['id']), name, arguments: input || textIn(start['input']) });
    }
    assembler.addLost(this.#lost);
    const calls = assembler.finish();
    const thinking = calls.length === 0 ? [] : this.#blocks.flatMap(toThinkingBlock);
    const events: ModelEvent[] = [...this.#endingEvents()];
    if (thinking.length > 0) events.push({ type: 'thought', fields: { thinking_blocks: thinking } });
    for (const call of calls) events.push({ type: 'tool-call', call });
    const usage = toAnthropicUsage(this.#usage);
    if (usage !== undefined) events.push({ type: 'usage', usage });
    return [...events, ...finishEvents(word, { hasCalls: calls.length > 0 })];
  }

  #start(start: JsonObject, index: JsonValue, events: ModelEvent[]): void {
    this.#hasBegun = true;
    this.#byIndex.delete(index);
    if (isDeeperThan(start, limits.jsonDepth)) return;
    // Between two texts the model has thought, or used a tool of Anthropic's; texts in a row are one text with sources.
    this.#needsGap ||= this.#hasSpoken && this.#blocks.at(-1)?.start['type'] !== 'text';
    if (this.#blocks.length >= maxBlocks) throw this.#context.client.invalid(`sends more than ${maxBlocks} blocks in one answer`);
    const block: Block = { start: this.#keptOf(start), thinking: '', signature: '', input: '' };
    this.#blocks.push(block);
    this.#byIndex.set(index, block);
    if (start['type'] === 'text') this.#say(textIn(start['text']), events);
    if (start['type'] !== 'thinking') return;
    this.#think(block, textIn(start['thinking']), events);
    this.#sign(block, textIn(start['signature']));
  }

  /** What is kept is counted; a block of a type that is not known may hold anything. */
  #keptOf(start: JsonObject): JsonObject {
    switch (textIn(start['type'])) {
      case 'text':
        return { type: 'text' };
      case 'tool_use': {
        // What begins a call that is streamed says nothing of its input.
        const input = jsonIn(start['input']);
        const call = { type: 'tool_use', id: textIn(start['id']), name: textIn(start['name']), input: input === '{}' ? '' : input };
        this.#context.meter.add(call.id.length + call.name.length + call.input.length);
        return call;
      }
      case 'thinking':
      case 'redacted_thinking':
        this.#context.meter.add(JSON.stringify(start).length);
        return start;
      default:
        return {};
    }
  }

  #grow(delta: JsonObject, index: JsonValue, events: ModelEvent[]): void {
    this.#hasBegun = true;
    const block = this.#byIndex.get(index);
    switch (delta['type'] as DeltaType) {
      case 'text_delta':
        return this.#say(textIn(delta['text']), events);
      case 'thinking_delta':
        return this.#think(block, textIn(delta['thinking']), events);
      case 'signature_delta':
        return this.#sign(block, textIn(delta['signature']));
      case 'input_json_delta':
        return this.#write(block, jsonIn(delta['partial_json']));
      case 'citations_delta':
        return undefined;
      default:
        if (block !== undefined && isCall(block)) this.#lost = unreadable;
    }
  }

  #say(text: string, events: ModelEvent[]): void {
    this.#context.meter.add(text.length);
    if (text === '') return;
    events.push({ type: 'text', text: this.#needsGap ? `\n\n${text}` : text });
    this.#needsGap = false;
    this.#hasSpoken = true;
  }

  #think(block: Block | undefined, text: string, events: ModelEvent[]): void {
    this.#context.meter.add(text.length);
    if (block !== undefined) block.thinking += text;
    if (text !== '') events.push({ type: 'reasoning', text });
  }

  #sign(block: Block | undefined, text: string): void {
    this.#context.meter.add(text.length);
    if (block !== undefined) block.signature += text;
  }

  #write(block: Block | undefined, text: string): void {
    this.#context.meter.add(text.length);
    if (block === undefined || !isCall(block)) this.#lost += this.#lost.length > limits.argumentsBytes ? '' : text;
    // Arguments that are too large are refused when the call would run; here they only must stop growing.
    else if (block.input.length <= limits.argumentsBytes) block.input += text;
  }

  #noteUsage(usage: JsonValue | undefined): void {
    if (!isJsonObject(usage) || isDeeperThan(usage, limits.jsonDepth)) return;
    // Counts are cumulative, and some are null at the end.
    for (const name of usageFields) this.#usage[name] = usage[name] ?? this.#usage[name];
  }

  /** Only what is read of it: other members may have a new name in each event. */
  #end(message: JsonObject): void {
    for (const name of endingFields) if (message[name] !== undefined) this.#ending[name] = message[name];
  }

  #endingEvents(): ModelEvent[] {
    const { stop_reason: reason, stop_sequence: sequence, stop_details: details } = this.#ending;
    const isStopped = reason === ('stop_sequence' satisfies StopReason);
    // As vLLM says it.
    if (isStopped && typeof sequence === 'string') return [{ type: 'extra', level: 'choice', fields: { stop_reason: sequence } }];
    if (reason === ('pause_turn' satisfies StopReason)) return [warningEvent(pausedTurn)];
    const words = reason === ('refusal' satisfies StopReason) && isJsonObject(details) ? textIn(details['explanation']) : '';
    return words === '' ? [] : [{ type: 'extra', level: 'delta', fields: { refusal: words } }];
  }
}

const endingFields = ['stop_reason', 'stop_sequence', 'stop_details'] as const;

const pausedTurn = {
  code: 'turn_paused',
  message: "Anthropic paused a long turn in which the model uses Anthropic's own tools. Ask it to go on.",
};

function isCall({ start }: Block): boolean {
  return start['type'] === 'tool_use';
}

/** Some servers send the input as an object where a text is expected. */
function jsonIn(input: JsonValue | undefined): string {
  if (!isJsonObject(input)) return textIn(input);
  return isDeeperThan(input, limits.jsonDepth) ? unreadable : JSON.stringify(input);
}

/** Exactly as it came, or the results of the calls are refused. */
function toThinkingBlock({ start, thinking, signature }: Block): JsonObject[] {
  if (start['type'] === 'redacted_thinking') return [start];
  return start['type'] === 'thinking' ? [{ ...start, thinking, signature }] : [];
}
