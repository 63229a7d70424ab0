import type { ChatMessage, ToolCall } from '../../core/chat/chat.ts';
import { withCalls } from '../suspend/continuations.ts';

interface TranscriptOptions {
  /** The messages before this run; in a resumed run also those that it had added. */
  messages: ChatMessage[];
  /** How many of them are from before the run. */
  historyLength: number;
  /** Receives what the run adds, for the one who continues the chat (`RunContext.transcript`). */
  record: ChatMessage[] | undefined;
}

/** The messages that the model reads, and which of them this run has added. */
export class Transcript {
  readonly messages: ChatMessage[];
  #historyLength: number;
  readonly #record: ChatMessage[] | undefined;

  constructor({ messages, historyLength, record }: TranscriptOptions) {
    this.messages = messages;
    this.#historyLength = historyLength;
    this.#record = record;
  }

  get historyLength(): number {
    return this.#historyLength;
  }

  /** The messages that this run has added. */
  get added(): ChatMessage[] {
    return this.messages.slice(this.#historyLength);
  }

  addRound(messages: readonly ChatMessage[]): void {
    this.messages.push(...messages);
    this.#record?.push(...messages);
  }

  /** Records the calls of an interrupted round that have results; an interrupted chat is continued from these. Other calls were never returned to the client. */
  recordInterrupted([assistant, ...results]: readonly ChatMessage[]): void {
    if (assistant?.role !== 'assistant' || results.length === 0) return;
    const hasResult = new Set(results.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
    const toolCalls = assistant.toolCalls.filter(({ id }) => hasResult.has(id));
    this.#record?.push({ ...assistant, toolCalls }, ...results);
  }

  recordAnswer(text: string): void {
    if (text !== '') this.#record?.push({ role: 'assistant', content: text, toolCalls: [] });
  }

  /** Records the ids under which calls are returned to the client; these may be new. */
  recordReturned(old: readonly ToolCall[], calls: readonly ToolCall[]): void {
    this.#record?.splice(0, this.#record.length, ...withCalls(this.#record, old, calls));
  }

  /** Replaces or adds the system message; null removes it. */
  replaceSystem(system: ChatMessage | null): void {
    const role = this.messages[0]?.role;
    const replaced = role === 'system' || role === 'developer' ? 1 : 0;
    const added = system === null ? [] : [system];
    this.messages.splice(0, replaced, ...added);
    this.#historyLength += added.length - replaced;
  }
}
