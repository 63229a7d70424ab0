import { limits } from '../../core/limits.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** `id:` at the beginning of a line. */
const eventId = [0x69, 0x64, 0x3a];

/** What a stream of events was like, once it has ended. */
export interface StreamEnd {
  /** The server gave its events ids, so that what was cut off can be asked for again. */
  isResumable: boolean;
}

export interface BoundedStreamOptions {
  /** Of one event, or of a whole body that is no stream of events. */
  maxBytes?: number;
  isEventStream: boolean;
  onEnd?: (end: StreamEnd) => void;
}

/**
 * Passes a body on and throws where one message of it grows beyond the limit: whoever reads it would keep all of it in memory until the end
 * that never comes.
 */
export async function* boundedStream(
  body: AsyncIterable<Uint8Array>,
  { maxBytes = limits.mcpMessageBytes, isEventStream, onEnd }: BoundedStreamOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let sinceEvent = 0;
  let inLine = 0;
  let matchesId = true;
  let isResumable = false;

  function take(byte: number): void {
    sinceEvent += 1;
    if (byte === lineFeed) {
      if (inLine === 0 && isEventStream) sinceEvent = 0;
      inLine = 0;
      matchesId = true;
      return;
    }
    if (byte === carriageReturn) return;
    matchesId &&= inLine >= eventId.length || byte === eventId[inLine];
    inLine += 1;
    if (matchesId && inLine === eventId.length) isResumable = true;
  }

  try {
    for await (const piece of body) {
      for (const byte of piece) take(byte);
      if (sinceEvent > maxBytes) throw new Error(`The server sent a message of more than ${maxBytes} bytes.`);
      yield new Uint8Array(piece);
    }
  } finally {
    onEnd?.({ isResumable });
  }
}
