import { approvalPagePath } from '../../core/approval.ts';
import { textOf } from '../../core/chat.ts';
import type { ChatMessage, ContentPart, MessageContent } from '../../core/chat.ts';

/** Before the link in an answer, where it has a line of its own. */
export const linkWords = 'Decide here: ';

/** The secret part of a link, at the end of its path. */
const secret = /[\w-]{1,64}\.[\w-]{43}(?![\w-])/y;
/** Where an address in a text begins at the latest: a person's address of the gateway is shorter. */
const longestAddress = 2_048;
const notInAddress = /[\s<>"'`()[\]]/;

interface FoundLink {
  start: number;
  end: number;
  link: string;
}

/** Takes linear time, because anybody may send the text. */
function* linksIn(text: string): Generator<FoundLink> {
  let from = 0;
  for (let at = text.indexOf(approvalPagePath); at >= 0; at = text.indexOf(approvalPagePath, at + 1)) {
    const link = secretAt(text, at);
    if (link === undefined) continue;
    let start = at;
    while (start > from && at - start < longestAddress && !notInAddress.test(text.charAt(start - 1))) start -= 1;
    from = at + approvalPagePath.length + link.length;
    yield { start, end: from, link };
  }
}

/** `at`: where the path of the page begins. */
function secretAt(text: string, at: number): string | undefined {
  secret.lastIndex = at + approvalPagePath.length;
  return secret.exec(text)?.[0];
}

/** Whether there may be one in a message. Fast, because it is asked for every message. */
export function hasLink({ content }: ChatMessage): boolean {
  if (typeof content === 'string') return content.includes(approvalPagePath);
  return content?.some((part) => typeof part['text'] === 'string' && part['text'].includes(approvalPagePath)) === true;
}

/** The secret part of the last link in a message. */
export function lastLinkIn({ content }: ChatMessage): string | undefined {
  const text = textOf(content);
  for (let at = text.lastIndexOf(approvalPagePath); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(approvalPagePath, at - 1)) {
    const link = secretAt(text, at);
    if (link !== undefined) return link;
  }
  return undefined;
}

/** The message without links to pages of approvals: a model that can send requests must not be able to decide. The same object if it has none. */
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

/** For what a model may read in another chat. */
export function textWithoutLinks(text: string): string {
  if (!text.includes(approvalPagePath)) return text;
  let kept = '';
  let from = 0;
  for (const { start, end } of linksIn(text)) {
    const before = text.slice(from, start);
    kept += before.endsWith(linkWords) ? before.slice(0, -linkWords.length).trimEnd() : `${before}[link]`;
    from = end;
  }
  return kept + text.slice(from);
}
