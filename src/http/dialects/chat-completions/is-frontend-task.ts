import type { ChatMessage } from '../../../core/chat.ts';

const opening = '### Task:\n';
/** How Open WebUI's templates end: those of titles, tags, follow-ups and queries with the chat, that of completions with its own heading. */
const endings = ['</chat_history>', '#### Output:'];

/**
 * Whether a request is one of the hidden tasks of Open WebUI (titles, tags, follow-up questions, queries, completions of what is being typed, the
 * choice of its own tools by a prompt), told by the form of its default templates. Open WebUI takes `metadata.task` out before it asks an
 * OpenAI-compatible server, so nothing else tells; with functions on offer each chat would be followed by three more prompts full of schemas, in
 * which a model may run a call of the quoted chat again.
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
