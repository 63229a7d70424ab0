import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChatMessage, InlineFile, MessageContent } from '../../core/chat/chat.ts';
import { textOf } from '../../core/chat/chat.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { hasMoreTextThan } from '../../shared/text-length.ts';
import { expandTemplate } from './expand-template.ts';

/**
 * The prompt with which inline files are given to a model; `RAG_TEMPLATE` overrides it. The query is in the conversation already, so it is not
 * repeated.
 */
export const defaultContextTemplate = `Answer the query with the help of the context below. Where the context does not hold the answer, say so.
Name the source of what you take from it by its id in brackets, such as [1].

<context>
{{CONTEXT}}
</context>`;

/** What is escaped in one turn of the event loop. */
const charactersPerTurn = 256 * 1024;

/** The files as a prompt has them; over several turns of the event loop where they are long. */
export function contextOf(files: readonly InlineFile[]): MaybePromise<string> {
  if (files.length === 0) return '';
  const isLong = hasMoreTextThan(
    files.map(({ content }) => content),
    charactersPerTurn,
  );
  const pieces = piecesOf(files);
  return isLong ? joinInTurns(pieces) : [...pieces].join('');
}

function* piecesOf(files: readonly InlineFile[]): Generator<string, void> {
  for (const [index, { name, content }] of files.entries()) {
    yield `${index === 0 ? '' : '\n'}<source id="${index + 1}" name="${escaped(name)}">`;
    for (let start = 0; start < content.length; start += charactersPerTurn) yield escaped(content.slice(start, start + charactersPerTurn));
    yield '</source>';
  }
}

async function joinInTurns(pieces: Iterable<string>): Promise<string> {
  const joined: string[] = [];
  let inThisTurn = 0;
  for (const piece of pieces) {
    joined.push(piece);
    inThisTurn += piece.length;
    if (inThisTurn < charactersPerTurn) continue;
    inThisTurn = 0;
    await nextTurn();
  }
  return joined.join('');
}

/**
 * Adds inline files (`contextOf`) to the messages once: for an Ollama model before the first user message, else as a system message, as Open WebUI does. Without a
 * user message they are left out.
 */
export function injectFileContext(
  messages: readonly ChatMessage[],
  context: string,
  options: { template: string; isOllama: boolean; variables: ReadonlyMap<string, string> },
): ChatMessage[] {
  const query = messages.findLast((message) => message.role === 'user');
  if (context === '' || query === undefined) return [...messages];
  const text = expandTemplate(
    withContextOnce(options.template),
    new Map([...options.variables, ['CONTEXT', context], ['QUERY', textOf(query.content)]]),
  );
  if (options.isOllama) return prependToFirstUser(messages, text);
  const first = messages[0];
  if (first?.role === 'system' || first?.role === 'developer')
    return [{ ...first, content: prepended(first.content, `${text}\n\n`) }, ...messages.slice(1)];
  return [{ role: 'system', content: text }, ...messages];
}

/** A template with two context placeholders would double every document, so only the first one counts. */
function withContextOnce(template: string): string {
  let isFirst = true;
  return template.replaceAll(/\{\{\s*CONTEXT\s*\}\}/g, (written) => {
    const text = isFirst ? written : '';
    isFirst = false;
    return text;
  });
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/**
 * Escaped so that a document cannot close its own tag and inject instructions. By a function: with a text as the replacement, V8 only links the pieces,
 * and joining them later takes a hundred milliseconds for megabytes.
 */
function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => escapes[character] ?? '');
}

function prependToFirstUser(messages: readonly ChatMessage[], text: string): ChatMessage[] {
  const index = messages.findIndex((message) => message.role === 'user');
  return messages.map((message, position) =>
    position === index && message.role === 'user' ? { ...message, content: prepended(message.content, `${text}\n\n`) } : message,
  );
}

function prepended(content: MessageContent, text: string): MessageContent {
  return typeof content === 'string' ? text + content : [{ type: 'text', text }, ...content];
}
