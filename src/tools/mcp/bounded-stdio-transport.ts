import type { ChildProcess } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import type { ReadBuffer } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { StdioServerParameters } from '@modelcontextprotocol/client/stdio';
import { limits } from '../../core/limits.ts';
import { redactUrl } from '../../shared/secrets/secret-urls.ts';
import { boundedStream } from './bounded-stream.ts';

/**
 * The SDK's transport for a process, with the limits that servers have over HTTP: a line with more bytes or values than a message may have ends the
 * process before the line is parsed, and many messages that come at once are read in several turns of the event loop.
 *
 * Starting, environment, quoting, writing and ending stay the SDK's. It has no way to put anything before its parser, so its private fields are
 * used here, by the names that its declarations give them; `test/slow/mcp-stdio-limits.test.ts` fails if a new version works in another way.
 */
export class BoundedStdioTransport extends StdioClientTransport {
  static {
    // The SDK tries the protocol of 2026 on a second process only for classes with a `_dispose` of their own: some servers end at the trial.
    Object.defineProperty(this.prototype, '_dispose', { value: this.prototype['_dispose'] });
  }

  constructor(parameters: StdioServerParameters) {
    // The buffer holds the rest of one message and the piece behind it; their size is checked before.
    super({ ...parameters, maxBufferSize: 2 * limits.mcpMessageBytes });
  }

  override start(): Promise<void> {
    const started = super.start();
    const child = this['_process'] as ChildProcess;
    child.stdout?.removeAllListeners('data');
    const isRead = this.#read(child);
    // The last messages of a process that ends are read before its end is reported.
    child.removeAllListeners('close');
    child.once('close', () => {
      void isRead.then(() => {
        this['_process'] = undefined;
        this.onclose?.();
      });
    });
    return started;
  }

  /** Never rejects. */
  async #read({ stdout }: ChildProcess): Promise<void> {
    if (stdout === null) return;
    const buffer = this['_readBuffer'] as ReadBuffer;
    try {
      for await (const piece of boundedStream(stdout as AsyncIterable<Uint8Array>, { framing: 'lines' })) {
        // What a process writes after it was asked to end is read, so that it can end, but ignored.
        if (this['_process'] === undefined) continue;
        buffer.append(Buffer.from(piece.buffer));
        this['processReadBuffer']();
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      // Not awaited: what waits for the end of the process waits for this.
      void this.close().catch(() => undefined);
    }
  }
}

/** The end of what a process has written to stderr. */
export interface ErrorOutput {
  add(chunk: Uint8Array): void;
  /** The last lines for people to read. `hide` takes credentials out of a line, before it is shortened. */
  lines(hide: (line: string) => string): string[];
}

/** What a terminal would obey, and what turns the direction of text. Line ends are not among them. */
const controlCharacters = /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

export function createErrorOutput(): ErrorOutput {
  let tail = Buffer.alloc(0);
  let isCut = false;

  return {
    add(chunk) {
      const all = Buffer.concat([tail, chunk]);
      isCut ||= all.length > limits.mcpErrorOutputBytes;
      // A copy: a part would keep the whole chunk.
      tail = Buffer.from(all.subarray(-limits.mcpErrorOutputBytes));
    },
    lines(hide) {
      const text = tail.toString('utf8');
      // The first line may have lost its beginning, and a credential that lost its own would not be recognised.
      const whole = isCut ? text.slice(text.indexOf('\n') + 1 || text.length) : text;
      return whole
        .split(/\r\n?|\n/)
        .map((line) => hide(redactUrl(stripVTControlCharacters(line).replaceAll(controlCharacters, ''))).trim())
        .filter((line) => line !== '')
        .slice(-limits.mcpErrorOutputLines)
        .map((line) => line.slice(0, limits.mcpErrorOutputLineCharacters).toWellFormed());
    },
  };
}
