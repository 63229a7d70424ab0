import { createParser, type EventSourceParser } from 'eventsource-parser';

/** One event of a stream: its `event:` name, and its `data:` lines joined by line breaks. */
export interface ServerSentEvent {
  name: string | undefined;
  data: string;
  /** True if the stream ended before the blank line that closes an event; the data may be incomplete. */
  isUnfinished: boolean;
}

/**
 * Parses an event stream chunk by chunk (WHATWG HTML, section 9.2): BOM, CRLF, CR and LF, comments, characters split between chunks. Not a generator,
 * because that would cost time for each chunk of each answer.
 */
export class ServerSentEventReader {
  /** A line has exceeded the limit. */
  isTooLong = false;
  readonly #decoder = new TextDecoder();
  readonly #meter: LineMeter;
  readonly #parser: EventSourceParser;
  #batch: ServerSentEvent[] = [];
  #isAtEnd = false;

  constructor(maxLineBytes: number) {
    this.#meter = new LineMeter(maxLineBytes);
    this.#parser = createParser({
      // Limits events of many short lines; `LineMeter` measures single lines, including those within one chunk.
      maxBufferSize: maxLineBytes,
      onEvent: (event) => this.#batch.push({ name: event.event, data: event.data, isUnfinished: this.#isAtEnd }),
      onError: (error) => {
        this.isTooLong ||= error.type === 'max-buffer-size-exceeded';
        // Older servers of llama.cpp write errors so.
        if (error.field === 'error' && error.value !== undefined)
          this.#batch.push({ name: 'error', data: error.value, isUnfinished: false });
      },
    });
  }

  /** The events that end in this chunk. If a line is too long, only events before it are returned, and nothing after it can be parsed. */
  read(piece: Uint8Array): ServerSentEvent[] {
    const fitting = this.#meter.measure(piece);
    this.isTooLong ||= fitting < piece.byteLength;
    return this.#feed(this.#decoder.decode(fitting === piece.byteLength ? piece : piece.subarray(0, fitting), { stream: true }));
  }

  /** A last event without its blank line is returned as `isUnfinished`, because some servers end with a bare `data: [DONE]`. */
  end(): ServerSentEvent[] {
    this.#isAtEnd = true;
    return this.#feed(`${this.#decoder.decode()}\n\n`);
  }

  #feed(text: string): ServerSentEvent[] {
    this.#batch = [];
    this.#parser.feed(text);
    return this.#batch;
  }
}

/** Measures lines in bytes across chunks, so that the limit does not depend on how the stream was split. */
class LineMeter {
  readonly #max: number;
  #open = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** The number of bytes of the chunk before the point where a line exceeds the limit. */
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
