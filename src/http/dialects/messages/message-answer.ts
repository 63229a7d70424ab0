import { modelThatAnswers } from '../../../core/chat/caller-warning.ts';
import type { ChatEvent } from '../../../core/chat/chat.ts';
import { refusalIn } from '../../../core/chat/refusal.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import type { AnswerCollector, AnswerFormat, AnswerHead, StreamEncoder } from '../answers/answer-format.ts';
import { isOfFurtherChoice } from '../answers/first-choice.ts';
import { serverSentEvents } from '../answers/server-sent-events.ts';
import { blockOf, inputTextOf, openingOf, type ShownBlocks } from './answer-blocks.ts';
import { createAnswerEnding, toUsage } from './answer-ending.ts';
import { messagesErrorBody } from './messages-errors.ts';
import { AnswerThoughts } from './answer-thoughts.ts';

/** How an answer is written. Stored with suspended runs. */
export interface MessageOptions extends ShownBlocks {
  stopSequences: string[];
}

/** Anthropic's message and the events of its stream, with the gateway's `sources`, `warnings` and `approval`. */
export function messageFormat(stored: JsonObject): AnswerFormat {
  const options = readOptions(stored);
  return { stream: (head) => createEventEncoder(head, options), collect: (head) => createMessageCollector(head, options) };
}

function readOptions({ showsThinking, showsCalls, stopSequences }: JsonObject): MessageOptions {
  const sequences = Array.isArray(stopSequences) ? stopSequences.filter((sequence) => typeof sequence === 'string') : [];
  return { showsThinking: showsThinking === true, showsCalls: showsCalls === true, stopSequences: sequences };
}

/** Fields that are null unless Anthropic's own servers or models are at work. */
const emptyFields = { container: null, context_management: null, diagnostics: null };
const emptyUsage = { cache_creation: null, inference_geo: null, service_tier: null, speed: null };

function messageHead({ runId, model }: AnswerHead): JsonObject {
  return { id: `msg_${runId}`, type: 'message', role: 'assistant', model };
}

function frame(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/**
 * Server-sent events as Anthropic sends them. The tokens of the request are known at its end only, so the first event says 0, and `message_delta` has
 * them: clients take the later number.
 */
function createEventEncoder(head: AnswerHead, options: MessageOptions): StreamEncoder {
  const ending = createAnswerEnding(options.stopSequences);
  const thoughts = new AnswerThoughts(head.thoughts);
  let { model } = head;
  let isBegun = false;
  let index = -1;
  /** The block that is growing, with its delta up to the text. */
  let open: { type: 'text' | 'thinking'; prefix: string; characters: number; field?: string | undefined } | undefined;

  const begin = (): string => {
    if (isBegun) return '';
    isBegun = true;
    const unknown = { stop_reason: null, stop_sequence: null, stop_details: null, usage: { ...toUsage(undefined), ...emptyUsage } };
    return frame('message_start', { message: { ...messageHead({ ...head, model }), content: [], ...unknown, ...emptyFields } });
  };
  const close = (call?: JsonObject): string => {
    if (open === undefined) return '';
    const ended = open;
    open = undefined;
    if (ended.type === 'text') return frame('content_block_stop', { index });
    const { signature, blocks } = thoughts.end(ended, call);
    const delta = { type: 'signature_delta', signature };
    const stopped = `${frame('content_block_delta', { index, delta })}${frame('content_block_stop', { index })}`;
    return `${stopped}${blocks.map(whole).join('')}`;
  };
  const start = (block: JsonObject): string => {
    const before = begin() + close();
    index += 1;
    return before + frame('content_block_start', { index, content_block: block });
  };
  /** Serialized once per block, not for each piece of it. */
  const prefixOf = (type: 'text' | 'thinking'): string =>
    `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${type}_delta","${type}":`;
  const grow = (type: 'text' | 'thinking', text: string, field?: string): string => {
    if (text === '') return '';
    if (open?.type === type && open.field === field) {
      open.characters += text.length;
      return `${open.prefix}${JSON.stringify(text)}}}\n\n`;
    }
    const started = start(type === 'text' ? { type, text: '', citations: null } : { type, thinking: '', signature: '' });
    open = { type, prefix: prefixOf(type), characters: text.length, field };
    return `${started}${open.prefix}${JSON.stringify(text)}}}\n\n`;
  };
  const whole = (block: JsonObject): string => {
    const input = inputTextOf(block);
    const delta = input === undefined ? '' : { type: 'input_json_delta', partial_json: input };
    const started = start(openingOf(block));
    return `${started}${delta === '' ? '' : frame('content_block_delta', { index, delta })}${frame('content_block_stop', { index })}`;
  };

  /** What the model wants back with a call of the caller. */
  const beforeCall = (event: ChatEvent): string => {
    if (event.type !== 'tool-call' || !options.showsThinking) return '';
    const { extra } = event.call;
    if (open?.type === 'thinking') return close(extra);
    return thoughts.end(undefined, extra).blocks.map(whole).join('');
  };

  return {
    ...serverSentEvents,
    // Some clients wait for events of the protocol and do not count comments.
    keepAlive: () => ': keep-alive\nevent: ping\ndata: {"type":"ping"}\n\n',
    encode(event) {
      if (isOfFurtherChoice(event)) return '';
      if (event.type === 'text') return grow('text', event.text);
      if (event.type === 'reasoning') return options.showsThinking ? grow('thinking', event.text, event.field) : '';
      if (event.type === 'thought') thoughts.note(event.fields);
      ending.note(event);
      if (event.type === 'run-event') model = modelThatAnswers(event.event) ?? model;
      if (event.type === 'extra') return grow('text', refusalIn(event));
      const block = blockOf(event, options);
      return block === undefined ? '' : beforeCall(event) + whole(block);
    },
    end() {
      const last = frame('message_delta', { delta: { ...ending.stop(), container: null }, usage: ending.usage(), ...ending.ownFields() });
      return `${begin()}${close()}${last}${frame('message_stop', {})}`;
    },
    failure: (error) => frame('error', messagesErrorBody(error, head.requestId)),
  };
}

/** Collects events into one message. */
function createMessageCollector(head: AnswerHead, options: MessageOptions): AnswerCollector {
  const ending = createAnswerEnding(options.stopSequences);
  const thoughts = new AnswerThoughts(head.thoughts);
  const content: JsonObject[] = [];
  let { model } = head;
  let open: { type: 'text' | 'thinking'; pieces: string[]; field?: string | undefined } | undefined;

  function close(call?: JsonObject): void {
    if (open === undefined) return;
    const text = open.pieces.join('');
    if (open.type === 'text') content.push({ type: 'text', text, citations: null });
    else {
      const { signature, blocks } = thoughts.end({ field: open.field, characters: text.length }, call);
      content.push({ type: 'thinking', thinking: text, signature }, ...blocks);
    }
    open = undefined;
  }
  function closeBeforeCall(event: ChatEvent): void {
    if (event.type !== 'tool-call' || !options.showsThinking) return close();
    const { extra } = event.call;
    if (open?.type === 'thinking') return close(extra);
    close();
    content.push(...thoughts.end(undefined, extra).blocks);
  }
  function grow(type: 'text' | 'thinking', text: string, field?: string): void {
    if (text === '') return;
    if (open?.type !== type || open.field !== field) {
      close();
      open = { type, pieces: [], field };
    }
    open.pieces.push(text);
  }

  return {
    add(event) {
      if (isOfFurtherChoice(event)) return;
      if (event.type === 'text') return grow('text', event.text);
      if (event.type === 'reasoning') return options.showsThinking ? grow('thinking', event.text, event.field) : undefined;
      if (event.type === 'thought') thoughts.note(event.fields);
      ending.note(event);
      if (event.type === 'run-event') model = modelThatAnswers(event.event) ?? model;
      if (event.type === 'extra') return grow('text', refusalIn(event));
      const block = blockOf(event, options);
      if (block === undefined) return;
      closeBeforeCall(event);
      content.push(block);
    },
    body() {
      close();
      const usage = { ...ending.usage(), ...emptyUsage };
      return { ...messageHead({ ...head, model }), content, ...ending.stop(), usage, ...emptyFields, ...ending.ownFields() };
    },
  };
}
