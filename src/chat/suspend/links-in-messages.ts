import { approvalPagePath } from '../../core/approval.ts';
import { connectPagePath } from '../../core/connect.ts';
import { textOf } from '../../core/chat.ts';
import type { ChatMessage, ContentPart, MessageContent } from '../../core/chat.ts';

/** Before the link in an answer, where it has a line of its own. */
export const linkWords = 'Decide here: ';

/** The secret part of a link to each page, at the end of its path. */
const secrets = [
  { path: approvalPagePath, secret: /[\w-]{1,64}\.[\w-]{43}(?![\w-])/y },
  { path: connectPagePath, secret: /[\w-]{43}(?![\w-])/y },
];
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
  const places = secrets.map(({ path }) => text.indexOf(path));
  for (;;) {
    const at = Math.min(...places.filter((place) => place >= 0));
    if (at === Number.POSITIVE_INFINITY) return;
    const which = places.indexOf(at);
    places[which] = text.indexOf(secrets[which]?.path ?? '', at + 1);
    const found = secretAt(text, at);
    if (found === undefined || at < from) continue;
    let start = at;
    while (start > from && at - start < longestAddress && !notInAddress.test(text.charAt(start - 1))) start -= 1;
    from = at + found.path.length + found.link.length;
    yield { start, end: from, link: found.link };
  }
}

/** `at`: where the path of a page begins. */
function secretAt(text: string, at: number): { path: string; link: string } | undefined {
  for (const { path, secret } of secrets) {
    if (!text.startsWith(path, at)) continue;
    secret.lastIndex = at + path.length;
    const link = secret.exec(text)?.[0];
    if (link !== undefined) return { path, link };
  }
  return undefined;
}

const mentionsPage = (text: string): boolean => text.includes(approvalPagePath) || text.includes(connectPagePath);

/** Whether there may be one in a message. Fast, because it is asked for every message. */
export function hasLink({ content }: ChatMessage): boolean {
  if (typeof content === 'string') return mentionsPage(content);
  return content?.some((part) => typeof part['text'] === 'string' && mentionsPage(part['text'])) === true;
}

/** The secret part of the last link in a message. */
export function lastLinkIn({ content }: ChatMessage): string | undefined {
  let text = textOf(content);
  let link: string | undefined;
  for (const { path } of secrets) {
    for (let at = text.lastIndexOf(path); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(path, at - 1)) {
      const found = secretAt(text, at);
      if (found === undefined) continue;
      link = found.link;
      // What ends later is behind it.
      text = text.slice(at);
      break;
    }
  }
  return link;
}

/** The message without links to these pages: a model that can send requests must not be able to decide, or to connect for its user. The same object if it has none. */
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
  if (!mentionsPage(text)) return text;
  let kept = '';
  let from = 0;
  for (const { start, end } of linksIn(text)) {
    const before = text.slice(from, start);
    kept += before.endsWith(linkWords) ? before.slice(0, -linkWords.length).trimEnd() : `${before}[link]`;
    from = end;
  }
  return kept + text.slice(from);
}
