import type { ChatEvent } from '../../../core/chat/chat.ts';
import type { RunEvent } from '../../../core/chat/run-event.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { StatusLine, type Status } from './status-line.ts';

/** A part of a chunk for Open WebUI: an event of its own, which it shows and stores with the message, or images of the answer itself. */
export type OpenWebUiPart = { event: JsonObject } | { images: JsonObject[] };

/** What Open WebUI shows of a run besides its text: a line that says what is being done, and the images that tools returned. */
export interface OpenWebUiEvents {
  note(event: ChatEvent): void;
  /** The parts to show since the last call. */
  pending(): OpenWebUiPart[];
  /** The same at the end of the answer. A line that nothing ends shimmers for ever. */
  end(): OpenWebUiPart[];
}

export function createOpenWebUiEvents(): OpenWebUiEvents {
  const line = new StatusLine();
  let images: string[] = [];
  let hasFiles = false;

  function imageParts(): OpenWebUiPart[] {
    const urls = images;
    if (urls.length === 0) return [];
    images = [];
    // Its page replaces the files of a message by those of the next event; to images of the answer, which it knows since 0.6.37, it adds the next ones.
    if (hasFiles) return [{ images: urls.map((url) => ({ type: 'image_url', image_url: { url } })) }];
    hasFiles = true;
    return [{ event: { type: 'files', data: { files: urls.map((url) => ({ type: 'image', url })) } } }];
  }

  return {
    note(event) {
      if (event.type === 'run-event') images.push(...imagesIn(event.event));
      line.note(event);
    },
    pending: () => [...imageParts(), ...statusParts(line.change())],
    end: () => [...imageParts(), ...statusParts(line.change()), ...statusParts(line.end())],
  };
}

function statusParts(status: Status | undefined): OpenWebUiPart[] {
  if (status === undefined) return [];
  const { text, isDone, isHidden } = status;
  return [{ event: { type: 'status', data: { description: text, done: isDone, ...(isHidden && { hidden: true }) } } }];
}

/** URLs of the images in a result; those that are too large for an event have none. */
function imagesIn({ type, data }: RunEvent): string[] {
  if (type !== 'tool.result') return [];
  return (data.files ?? []).flatMap(({ type: mediaType, url }) => {
    return typeof mediaType === 'string' && mediaType.startsWith('image/') && typeof url === 'string' ? [url] : [];
  });
}
