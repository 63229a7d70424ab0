import { textOf, type ChatMessage, type ContentPart } from '../../core/chat/chat.ts';
import { textOfFile } from '../../shared/text/file-text.ts';

/** Parts that have no text for any backend. */
const withoutText: ReadonlySet<string> = new Set(['text', 'image_url', 'image', 'input_audio']);
/** Keyed by the part, because each round of a run asks for the texts of the same files. */
const known = new WeakMap<ContentPart, string>();

/** The texts that the model reads in messages: also those in files and other parts, and in the arguments of earlier calls. */
export function shownTexts(messages: readonly ChatMessage[]): string[] {
  return messages.flatMap((message) => {
    const { content } = message;
    const written = message.role === 'assistant' ? message.toolCalls.map((call) => call.arguments) : [];
    const others = Array.isArray(content) ? content.filter(({ type }) => !withoutText.has(type)) : [];
    return [textOf(content), ...written, ...others.map(textsIn)];
  });
}

function textsIn(part: ContentPart): string {
  const before = known.get(part);
  if (before !== undefined) return before;
  const texts: string[] = [];
  const waiting: unknown[] = [part];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === 'string') texts.push(value, textOfFile(value) ?? '');
    else if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) waiting.push(child);
  }
  const text = texts.join('\n');
  known.set(part, text);
  return text;
}
