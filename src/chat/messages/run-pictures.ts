import type { ChatMessage, ContentPart, ToolMessage } from '../../core/chat/chat.ts';
import { textOf } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import type { ToolPictures } from '../../core/models/model.ts';
import type { ToolFile } from '../../core/tools/tool.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';

/** Of one picture in base64: Anthropic's API refuses larger ones. */
export const pictureCharacters = 5_000_000;
/** Of all pictures of a request: half of what Anthropic's API takes. */
export const allPicturesCharacters = 16_000_000;

/** What every API that takes pictures can read. */
const pictureAddress = /^data:image\/(?:png|jpe?g|gif|webp);base64,/i;

interface Picture {
  callId: string;
  /** The function that returned it. */
  label: string;
  /** The text in its place in the result. */
  mention: string | undefined;
  /** Undefined: it is left out for `reason`. */
  url: string | undefined;
  reason: string;
}

/** The pictures that the functions of one run have returned, of which a request has the newest. They are in memory only: a run that waits goes on without. */
export class RunPictures {
  #pictures: Picture[] = [];

  get isEmpty(): boolean {
    return this.#pictures.length === 0;
  }

  get characters(): number {
    return this.#pictures.reduce((sum, { url = '' }) => sum + url.length, 0);
  }

  add(results: readonly ToolCallResult[]): void {
    for (const { call, tool, outcome } of results) {
      const files = outcome.type === 'result' ? (outcome.files ?? []) : [];
      const label = tool?.label ?? call.name;
      // A result may have a thousand; the others keep the text in their place.
      const pictures = files.filter(({ url }) => pictureAddress.test(url)).slice(-limits.toolPictures);
      for (const file of pictures) this.#pictures.push(toPicture(file, { callId: call.id, label }));
    }
    this.#leaveOutOldest();
  }

  /** The messages with the pictures of their results. */
  showIn(messages: readonly ChatMessage[], place: ToolPictures['place']): ChatMessage[] {
    const shown: ChatMessage[] = [];
    let waiting: Numbered[] = [];
    let number = 0;
    for (const message of messages) {
      if (message.role !== 'tool') shown.push(...messageWith(waiting.splice(0)), message);
      else {
        const own = this.#pictures
          .filter(({ callId }) => callId === message.toolCallId)
          .map((picture) => ({ picture, number: (number += 1) }));
        const parts = place === 'in_result' ? own.flatMap(partOf) : [];
        shown.push(own.length === 0 ? message : withNotes(message, own, parts));
        if (place === 'after_results') waiting = [...waiting, ...own.filter(({ picture }) => picture.url !== undefined)];
      }
    }
    return [...shown, ...messageWith(waiting)];
  }

  /** The messages with all pictures in the last one of the user, where results are in its text. */
  appendTo(messages: readonly ChatMessage[]): ChatMessage[] {
    const [added] = messageWith(
      this.#pictures.filter(({ url }) => url !== undefined).map((picture, index) => ({ picture, number: index + 1 })),
    );
    const index = messages.findLastIndex(({ role }) => role === 'user');
    const user = messages[index];
    if (added === undefined || user?.role !== 'user') return [...messages];
    return messages.with(index, { ...user, content: [...toParts(user.content), ...toParts(added.content)] });
  }

  #leaveOutOldest(): void {
    let [count, characters] = [0, 0];
    for (const picture of this.#pictures.toReversed()) {
      if (picture.url === undefined) continue;
      count += 1;
      characters += picture.url.length;
      if (count <= limits.toolPictures && characters <= allPicturesCharacters) continue;
      picture.url = undefined;
      picture.reason = 'newer ones take its place';
    }
  }
}

interface Numbered {
  picture: Picture;
  /** Counts the pictures of the request. */
  number: number;
}

function toPicture({ url, mention }: ToolFile, { callId, label }: Pick<Picture, 'callId' | 'label'>): Picture {
  const isTooLarge = url.length > pictureCharacters;
  return { callId, label, mention, url: isTooLarge ? undefined : url, reason: isTooLarge ? 'it is too large for a model' : '' };
}

/** A result whose notes on files say which picture is shown, and which is not and why. */
function withNotes(message: ToolMessage, own: readonly Numbered[], parts: ContentPart[]): ToolMessage {
  let text = textOf(message.content);
  const behind: string[] = [];
  // From the last one on: earlier pictures of the same size may have the same mention, and no number.
  for (const { picture, number } of own.toReversed()) {
    const note = picture.url === undefined ? `[picture left out: ${picture.reason}]` : `[picture ${number}, shown below]`;
    const at = picture.mention === undefined ? -1 : text.lastIndexOf(picture.mention);
    if (at === -1) behind.unshift(`\n${note}`);
    else text = text.slice(0, at) + note + text.slice(at + (picture.mention?.length ?? 0));
  }
  text += behind.join('');
  return { ...message, content: parts.length === 0 ? text : [{ type: 'text', text }, ...parts] };
}

/** Models take it for the user's, so it says that it is not. */
function messageWith(pictures: readonly Numbered[]): ChatMessage[] {
  if (pictures.length === 0) return [];
  const names = pictures.map(({ picture, number }) => `picture ${number} from ${picture.label}`).join(', ');
  const text = `[These pictures are from the results of functions, not from the user: ${names}.]`;
  return [{ role: 'user', content: [{ type: 'text', text }, ...pictures.flatMap(partOf)] }];
}

function toParts(content: ChatMessage['content']): ContentPart[] {
  if (content === null) return [];
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function partOf({ picture: { url } }: Numbered): ContentPart[] {
  return url === undefined ? [] : [{ type: 'image_url', image_url: { url: url.replace(/^data:image\/jpg;/i, 'data:image/jpeg;') } }];
}
