import type { MessageContent } from '../../../core/chat/chat.ts';

const paragraph = '\n\n';

/** Contents one after the other: as text where all are texts, otherwise as parts. Empty ones are left out. */
export function joinContents(contents: readonly MessageContent[]): MessageContent {
  const said = contents.filter((content) => content.length > 0);
  if (said.every((content) => typeof content === 'string')) return said.join(paragraph);
  return said.flatMap((content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content));
}
