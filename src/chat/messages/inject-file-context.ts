import { setImmediate as nextTick } from 'node:timers/promises';
import { textOf, type ChatMessage, type InlineFile, type MessageContent } from '../../core/chat/chat.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { hasMoreTextThan } from '../../shared/text/text-length.ts';
import { expandTemplate } from './expand-template.ts';

/**
 * The prompt that presents inline files to a model; `RAG_TEMPLATE` overrides it. The query is in the conversation already, so it is not repeated.
 */
export const defaultContextTemplate = `Answer the query with the help of the context below. Where the context does not hold the answer, say so.
Name the source of what you take from it by its id in brackets, such as [1].

<context>
{{CONTEXT}}
</context>`;

/** Characters that are escaped in one tick of the event loop. */
const charactersPerTick = 256 * 1024;

/** Formats the files for a prompt; long files take several ticks of the event loop. */
export function contextOf(files: readonly InlineFile[]): MaybePromise<string> {
  if (files.length === 0) return '';
  const isLong = hasMoreTextThan(
    files.map(({ content }) => content),
    charactersPerTick,
  );
  const pieces = piecesOf(files);
  return isLong ? joinInTicks(pieces) : [...pieces].join('');
}

function* piecesOf(files: readonly InlineFile[]): Generator<string, void> {
  for (const [index, { name, content }] of files.entries()) {
    yield `${index === 0 ? '' : '\n'}<source id="${index + 1}" name="${escape(name)}">`;
    for (let start = 0; start < content.length; start += charactersPerTick) yield escape(content.slice(start, start + charactersPerTick));
    yield '</source>';
  }
}

async function joinInTicks(pieces: Iterable<string>): Promise<string> {
  const joined: string[] = [];
  let inThisTick = 0;
  for (const piece of pieces) {
    joined.push(piece);
    inThisTick += piece.length;
    if (inThisTick < charactersPerTick) continue;
    inThisTick = 0;
    await nextTick();
  }
  return joined.join('');
}

/**
 * Adds inline files (`contextOf`) to the messages once, as Open WebUI does: for an Ollama model before the first user message, else as a system
 * message. Without a user message they are left out.
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
    return [{ ...first, content: prependTo(first.content, `${text}\n\n`) }, ...messages.slice(1)];
  return [{ role: 'system', content: text }, ...messages];
}

/** A template with two context placeholders would insert every document twice, so only the first one counts. */
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
 * Prevents a document from closing its own tag and injecting instructions. The replacement is a function: with a text, V8 only links the pieces, and
 * joining them later takes a hundred milliseconds for megabytes.
 */
function escape(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => escapes[character] ?? '');
}

function prependToFirstUser(messages: readonly ChatMessage[], text: string): ChatMessage[] {
  const index = messages.findIndex((message) => message.role === 'user');
  return messages.map((message, position) =>
    position === index && message.role === 'user' ? { ...message, content: prependTo(message.content, `${text}\n\n`) } : message,
  );
}

function prependTo(content: MessageContent, text: string): MessageContent {
  return typeof content === 'string' ? text + content : [{ type: 'text', text }, ...content];
}
