import type { ChatMessage, InlineFile, MessageContent } from '../../core/chat.ts';
import { textOf } from '../../core/chat.ts';
import { expandTemplate } from '../loop/expand-template.ts';

/**
 * The prompt with which inline files are given to a model; `RAG_TEMPLATE` overrides it. The query is in the conversation already, so it is not
 * repeated.
 */
export const defaultContextTemplate = `Answer the query with the help of the context below. Where the context does not hold the answer, say so.
Name the source of what you take from it by its id in brackets, such as [1].

<context>
{{CONTEXT}}
</context>`;

/**
 * Adds inline files to the messages once: for an Ollama model before the first user message, else as a system message, as Open WebUI does. Without a
 * user message they are left out.
 */
export function injectFileContext(
  messages: readonly ChatMessage[],
  files: readonly InlineFile[],
  options: { template: string; isOllama: boolean; variables: ReadonlyMap<string, string> },
): ChatMessage[] {
  const query = messages.findLast((message) => message.role === 'user');
  if (files.length === 0 || query === undefined) return [...messages];
  const context = files
    .map((file, index) => `<source id="${index + 1}" name="${escaped(file.name)}">${escaped(file.content)}</source>`)
    .join('\n');
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

/** Escaped so that a document cannot close its own tag and inject instructions. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
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
