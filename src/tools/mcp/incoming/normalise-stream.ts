import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { normaliseMessage } from './normalise-message.ts';

/** What delimits messages in a body: a line (stdio), an event (`text/event-stream`), or the end of the body. */
export type Framing = 'lines' | 'events' | 'body';

/**
 * Passes a body on with each of its messages in the form that the SDK accepts (`normaliseMessage`). What is no JSON, such as the address in an event of the
 * first protocol version, is passed on as it is. `body`: already bounded.
 */
export async function* normaliseStream(body: AsyncIterable<Uint8Array>, framing: Framing): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = readers[framing]();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  for await (const piece of body) {
    const text = reader.read(decoder.decode(piece, { stream: true }));
    if (text !== '') yield encoder.encode(text);
  }
  const rest = reader.read(decoder.decode()) + reader.end();
  if (rest !== '') yield encoder.encode(rest);
}

interface FramedReader {
  /** What can be passed on after this text. */
  read(text: string): string;
  /** What is left at the end of the body. */
  end(): string;
}

const readers: Record<Framing, () => FramedReader> = { body: wholeBody, lines: separateLines, events: serverSentEvents };

function wholeBody(): FramedReader {
  const pieces: string[] = [];
  return {
    read(text) {
      pieces.push(text);
      return '';
    },
    end: () => normaliseText(pieces.join('')),
  };
}

function separateLines(): FramedReader {
  let open: string[] = [];
  return {
    read(text) {
      const end = text.lastIndexOf('\n');
      if (end < 0) {
        open.push(text);
        return '';
      }
      const lines = [...open, text.slice(0, end)].join('').split('\n');
      open = [text.slice(end + 1)];
      return lines.map((line) => `${normaliseText(line)}\n`).join('');
    },
    end: () => open.join(''),
  };
}

/** Ids and the time to wait before a reconnection stay, because the SDK resumes a stream by them. An event that is cut off is not one. */
function serverSentEvents(): FramedReader {
  let passed: string[] = [];
  const parser = createParser({
    onEvent: (event) => passed.push(textOfEvent(event)),
    onRetry: (ms) => passed.push(`retry: ${ms}\n\n`),
    // Otherwise nothing tells a reader that the server is still there.
    onComment: () => passed.push(':\n\n'),
  });
  return {
    read(text) {
      passed = [];
      parser.feed(text);
      return passed.join('');
    },
    end: () => '',
  };
}

function textOfEvent({ id, event, data }: EventSourceMessage): string {
  const isMessage = event === undefined || event === 'message';
  const lines = (isMessage ? normaliseText(data) : data).split('\n').map((line) => `data: ${line}\n`);
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}${lines.join('')}\n`;
}

/** Numbers that would lose digits are marked texts here. */
function normaliseText(text: string): string {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return text;
  }
  return JSON.stringify(normaliseMessage(message));
}
