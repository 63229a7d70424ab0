import { createParser } from 'eventsource-parser';
import { GatewayError } from '../core/errors.ts';

/** One event of a stream: its `event:` name, and its `data:` lines joined by line breaks. */
export interface ServerSentEvent {
  name: string | undefined;
  data: string;
  /** True when the stream ended before the blank line that closes an event: the data may be a part only. */
  isUnfinished: boolean;
}

/**
 * Reads an event stream (WHATWG HTML, section 9.2): BOM, CRLF, CR and LF, comments, characters split between pieces.
 * Yields together what arrived together, never an empty batch. A last event without its blank line is given as `isUnfinished`,
 * because some servers end with a bare `data: [DONE]`.
 * @throws GatewayError `upstream_line_too_long` after the events before that line; whatever the body throws.
 */
export async function* readServerSentEvents(
  body: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
): AsyncGenerator<ServerSentEvent[], void, undefined> {
  let batch: ServerSentEvent[] = [];
  let isAtEnd = false;
  let isTooLong = false;
  const parser = createParser({
    // Bounds an event of many short lines; single lines are measured below, where a line within one piece counts as well.
    maxBufferSize: maxLineBytes,
    onEvent: (event) => batch.push({ name: event.event, data: event.data, isUnfinished: isAtEnd }),
    onError: (error) => {
      isTooLong ||= error.type === 'max-buffer-size-exceeded';
    },
  });
  const decoder = new TextDecoder();
  const meter = new LineMeter(maxLineBytes);

  for await (const piece of body) {
    const fitting = meter.measure(piece);
    isTooLong ||= fitting < piece.byteLength;
    parser.feed(decoder.decode(fitting === piece.byteLength ? piece : piece.subarray(0, fitting), { stream: true }));
    if (batch.length > 0) {
      yield batch;
      batch = [];
    }
    if (isTooLong) {
      throw new GatewayError('upstream_line_too_long', `The model backend sent a line of more than ${maxLineBytes} bytes.`);
    }
  }
  isAtEnd = true;
  parser.feed(`${decoder.decode()}\n\n`);
  if (batch.length > 0) yield batch;
}

/** Measures lines in bytes over all pieces, so that the limit does not depend on how the stream was cut. */
class LineMeter {
  readonly #max: number;
  #open = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many bytes of the piece lie before the point at which a line exceeds the limit. */
  measure(piece: Uint8Array): number {
    let start = 0;
    let carriageReturn = piece.indexOf(0x0d);
    for (;;) {
      if (carriageReturn !== -1 && carriageReturn < start) carriageReturn = piece.indexOf(0x0d, start);
      const lineFeed = piece.indexOf(0x0a, start);
      const end = earlier(lineFeed, carriageReturn);
      const length = (end === -1 ? piece.byteLength : end) - start;
      if (this.#open + length > this.#max) return start + this.#max - this.#open;
      if (end === -1) {
        this.#open += length;
        return piece.byteLength;
      }
      this.#open = 0;
      start = end + 1;
    }
  }
}

function earlier(first: number, second: number): number {
  if (first === -1 || second === -1) return Math.max(first, second);
  return Math.min(first, second);
}
