import type { ChatMessage } from '../../../core/chat.ts';

const opening = '### Task:\n';
/** The ends of Open WebUI's templates: those for titles, tags, follow-ups and queries end with the chat, that for completions with a heading. */
const endings = ['</chat_history>', '#### Output:'];

/**
 * Whether a request is a frontend task of Open WebUI (titles, tags, follow-up questions, queries, autocompletion, prompt-based selection of its own
 * tools), recognized by its default templates. Open WebUI removes `metadata.task` before it sends a request to an OpenAI-compatible server, so there
 * is no other sign. With functions on offer, each chat would cause three more prompts full of schemas, in which a model may repeat a call of the
 * quoted chat.
 */
export function isFrontendTask(messages: readonly ChatMessage[]): boolean {
  const last = messages.at(-1);
  if (last?.role !== 'user' || typeof last.content !== 'string') return false;
  const before = messages.slice(0, -1);
  if (before.some(({ role }) => role !== 'system')) return false;
  return isQuotedChat(last.content) || (isToolTemplate(before.at(-1)?.content) && last.content.startsWith('Query: '));
}

function isQuotedChat(text: string): boolean {
  if (!text.startsWith(opening) || !text.includes('<chat_history>')) return false;
  const end = text.slice(-100).trimEnd();
  return endings.some((ending) => end.endsWith(ending));
}

function isToolTemplate(text: unknown): boolean {
  return typeof text === 'string' && text.startsWith('Available Tools: ') && text.includes('"tool_calls"');
}
