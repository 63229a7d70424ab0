import { approvalPagePath } from '../../core/user-input/approval.ts';
import { connectPagePath } from '../../core/user-input/connect.ts';
import { textOf, type ChatMessage, type ContentPart, type MessageContent } from '../../core/chat/chat.ts';
import { decideWords } from './waiting-words.ts';

/** The path of a link to the approval page or the connect page. It ends in a secret. */
const linkPath = new RegExp(
  `${approvalPagePath}(?<approval>[\\w-]{1,64}\\.[\\w-]{43})(?![\\w-])|${connectPagePath}(?<connect>[\\w-]{43})(?![\\w-])`,
  'g',
);
const longestPath = 160;
/** The most characters before the path that belong to the link: an address of the gateway is shorter. */
const longestAddress = 2_048;
const notInAddress = /[\s<>"'`()[\]]/;
/**
 * Up to this many links of a text are removed with the address before them. No answer has more. Of other texts only the paths are removed, because
 * any client may send them, and this must not take long.
 */
const wholeLinks = 100;
/** The last link is searched for from the end, in parts of this size. */
const partCharacters = 8 * 1024;

const mentionsPage = (text: string): boolean => text.includes(approvalPagePath) || text.includes(connectPagePath);

/** Whether a message may contain such a link. Fast, because it is called for every message. */
export function hasLink({ content }: ChatMessage): boolean {
  if (typeof content === 'string') return mentionsPage(content);
  return content?.some((part) => typeof part['text'] === 'string' && mentionsPage(part['text'])) === true;
}

/** The secret part of the last link in a message. */
export function lastLinkIn({ content }: ChatMessage): string | undefined {
  const text = textOf(content);
  for (let end = text.length; end > 0; end -= partCharacters) {
    const start = Math.max(0, end - partCharacters);
    let last: string | undefined;
    // A link that begins in this part may end in the next one.
    for (const { index, groups } of text.slice(start, end + longestPath).matchAll(linkPath))
      if (start + index < end) last = groups?.['approval'] ?? groups?.['connect'];
    if (last !== undefined) return last;
  }
  return undefined;
}

/**
 * The message without links to these pages: a model that can send requests must not be able to decide, or to connect for its user. The same object if
 * it has none.
 */
export function withoutLinks<Message extends ChatMessage>(message: Message): Message {
  const { content } = message;
  if (content === null) return message;
  const stripped = contentWithoutLinks(content);
  return stripped === content ? message : { ...message, content: stripped };
}

function contentWithoutLinks(content: MessageContent): MessageContent {
  if (typeof content === 'string') return textWithoutLinks(content);
  const parts = content.map((part): ContentPart => {
    if (part.type !== 'text' || typeof part.text !== 'string') return part;
    const text = textWithoutLinks(part.text);
    return text === part.text ? part : { ...part, text };
  });
  return parts.every((part, index) => part === content[index]) ? content : parts;
}

/** For texts that a model may read in another chat. */
export function textWithoutLinks(text: string): string {
  if (!mentionsPage(text)) return text;
  let kept = '';
  let from = 0;
  let links = 0;
  for (const { index, 0: path } of text.matchAll(linkPath)) {
    if (links === wholeLinks) return kept + text.slice(from).replaceAll(linkPath, '[link]');
    links += 1;
    let start = index;
    while (start > from && index - start < longestAddress && !notInAddress.test(text.charAt(start - 1))) start -= 1;
    const before = text.slice(from, start);
    kept += before.endsWith(decideWords) ? before.slice(0, -decideWords.length).trimEnd() : `${before}[link]`;
    from = index + path.length;
  }
  return kept + text.slice(from);
}
