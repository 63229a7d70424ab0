import type { ChatMessage } from '../../../core/chat/chat.ts';

/** The form of a prompt: what it begins with, what follows in this order, and what it ends with. */
interface PromptForm {
  opening: string;
  marks: readonly string[];
  endings?: readonly string[];
  /** The only answers to such a prompt that its frontend shows to a person, and so streams. */
  isStreamed?: true;
}

/** Open WebUI's default prompts (0.12.4): the words around what it puts into them. */
const forms: readonly PromptForm[] = [
  // Titles, tags, follow-ups, queries and image prompts end with the quoted chat, completions with a heading.
  { opening: '### Task:\n', marks: ['<chat_history>'], endings: ['</chat_history>', '#### Output:'] },
  {
    opening: '### Task:\nSummarize the conversation history',
    marks: ['\n### Previous Summary:\n', '\n### Messages Being Compacted:\n', '\n### Recent Messages Kept In Context:\n'],
  },
  {
    opening: 'Review the completed conversation turn and decide whether long-term memory should change.',
    marks: ['\nExisting memories:\n', '\nConversation:\n'],
  },
  { opening: "Your task is to reflect the speaker's likely facial expression", marks: ['\n\nMessage: ```'], endings: ['```'] },
  {
    opening: 'You have been provided with a set of responses from various models to the latest user query: "',
    marks: ['\n\nResponses from models: """'],
    endings: ['"""'],
    isStreamed: true,
  },
];

/**
 * Whether a request is a hidden task of Open WebUI (titles, tags, follow-up questions, queries, autocompletion, emoji, compaction, a review of
 * memories, merged answers, prompt-based selection of its own tools), recognized by its default prompts. Open WebUI removes `metadata.task` before it
 * sends a request to an OpenAI-compatible server, so there is no other sign. With functions on offer, each chat would cause three more prompts full of
 * schemas, in which a model may repeat a call of the quoted chat. A person who pastes such a prompt is recognized by what stands around it, by earlier
 * messages, and by the stream in which chats are answered.
 */
export function isHiddenTask(messages: readonly ChatMessage[], isStreamed: boolean): boolean {
  const last = messages.at(-1);
  if (last?.role !== 'user' || typeof last.content !== 'string') return false;
  const before = messages.slice(0, -1);
  if (before.some(({ role }) => role !== 'system')) return false;
  const { content } = last;
  if (forms.some((form) => (!isStreamed || form.isStreamed === true) && hasForm(content, form))) return true;
  return !isStreamed && isToolTemplate(before.at(-1)?.content) && content.startsWith('Query: ');
}

function hasForm(text: string, { opening, marks, endings }: PromptForm): boolean {
  if (!text.startsWith(opening)) return false;
  let from = opening.length;
  for (const mark of marks) {
    const at = text.indexOf(mark, from);
    if (at < 0) return false;
    from = at + mark.length;
  }
  if (endings === undefined) return true;
  const end = text.slice(Math.max(from, text.length - 100)).trimEnd();
  return endings.some((ending) => end.endsWith(ending));
}

function isToolTemplate(text: unknown): boolean {
  return typeof text === 'string' && text.startsWith('Available Tools: ') && text.includes('"tool_calls"');
}
