import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { messageSchema } from './ollama-body-schema.ts';

/** Characters at both ends of a text that count, besides its length. */
const endCharacters = 500;

/**
 * What identifies a conversation up to a message, for `derivedCallId`. System prompts do not count, because clients put the time into them. Two conversations
 * of one caller that are the same up to a call may get each other's results of the gateway's calls of the same round.
 */
export class ConversationSeed {
  readonly #hash = createHash('sha256');

  add({ role, content, tool_calls: calls }: z.infer<typeof messageSchema>): void {
    if (role === 'system' || role === 'developer') return;
    this.#addText(role, content ?? '');
    for (const { function: called } of calls ?? []) this.#addText(called.name, JSON.stringify(called.arguments ?? {}));
  }

  /** The seed of the messages so far. */
  get value(): string {
    return this.#hash.copy().digest('base64url');
  }

  #addText(label: string, text: string): void {
    this.#hash.update(JSON.stringify([label, text.length, text.slice(0, endCharacters), text.slice(-endCharacters)]));
  }
}
