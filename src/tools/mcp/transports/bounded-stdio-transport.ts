import type { ChildProcess } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { SdkError, SdkErrorCode, serializeMessage, type JSONRPCMessage, type ReadBuffer } from '@modelcontextprotocol/client';
import { StdioClientTransport, type StdioServerParameters } from '@modelcontextprotocol/client/stdio';
import { limits } from '../../../core/limits.ts';
import { redactUrl } from '../../../shared/secrets/secret-urls.ts';
import { normaliseStream } from '../incoming/normalise-stream.ts';
import type { MarkedNumbers } from './marked-numbers.ts';

/** The end of a process's stderr that is kept, because it says why the process exited. */
export const mcpErrorOutputBytes = 8 * 1024;
export const mcpErrorOutputLines = 10;
export const mcpErrorOutputLineCharacters = 300;

const lineFeed = 0x0a;

/**
 * The SDK's stdio transport with the limits that HTTP servers have: a line with more bytes or values than a message may have ends the process before
 * the line is parsed, a burst of messages is read over several turns of the event loop, and a process that stops reading is ended.
 * Starting, environment, quoting and ending stay the SDK's. The SDK offers no hook in front of its parser, so this uses its private fields,
 * by the names in its declarations; `test/gateway/mcp/mcp-stdio-limits.slow.test.ts` fails if a new version works differently.
 */
export class BoundedStdioTransport extends StdioClientTransport {
  static {
    // The SDK probes for the 2026 protocol in a second process only for classes that define `_dispose` themselves. That matters because some servers
    // exit on the probe.
    Object.defineProperty(this.prototype, '_dispose', { value: this.prototype['_dispose'] });
  }

  readonly #numbers: MarkedNumbers;

  /** With all in one object, because the SDK makes the second process for its probe of the same parameters. */
  constructor(parameters: StdioServerParameters & { numbers: MarkedNumbers }) {
    // The buffer may hold the rest of one message and the next chunk; `boundedStream` has already checked their sizes.
    super({ ...parameters, maxBufferSize: 2 * limits.mcpMessageBytes });
    this.#numbers = parameters.numbers;
  }

  override start(): Promise<void> {
    const started = super.start();
    const child = this['_process'] as ChildProcess;
    child.stdout?.removeAllListeners('data');
    const reading = this.#read(child);
    // Reports the end of the process only after its last messages have been read.
    child.removeAllListeners('close');
    child.once('close', () => {
      void reading.then(() => {
        this['_process'] = undefined;
        this.onclose?.();
      });
    });
    return started;
  }

  /** Resolves when the process has taken the message, or has ended: then the end of the connection tells whoever waits for an answer. */
  override async send(message: JSONRPCMessage): Promise<void> {
    const stdin = (this['_process'] as ChildProcess | undefined)?.stdin;
    if (!stdin) throw new SdkError(SdkErrorCode.NotConnected, 'Its process is not running.');
    if (stdin.writableLength > 2 * limits.mcpMessageBytes) {
      void this.close().catch(() => undefined);
      throw new SdkError(SdkErrorCode.NotConnected, 'Its process does not read what it is sent, so it was ended.');
    }
    // The SDK adds a listener for each message that waits: removing thousands of them takes seconds.
    await new Promise<void>((resolve) => void stdin.write(serializeMessage(message), () => resolve()));
  }

  /** Never rejects. */
  async #read({ stdout }: ChildProcess): Promise<void> {
    if (stdout === null) return;
    const buffer = this['_readBuffer'] as ReadBuffer;
    let line: Uint8Array[] = [];
    try {
      for await (const piece of normaliseStream(this.#numbers.pass(stdout as AsyncIterable<Uint8Array>, { framing: 'lines' }), 'lines')) {
        // Output after the shutdown is drained, so that the process can exit, but ignored.
        if (this['_process'] === undefined) continue;
        // The buffer copies all that it holds with each piece, so it gets whole lines.
        line.push(piece);
        if (!piece.includes(lineFeed)) continue;
        buffer.append(Buffer.concat(line));
        line = [];
        this['processReadBuffer']();
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      // Not awaited: closing waits for the process to end, and that waits for this function.
      void this.close().catch(() => undefined);
    }
  }
}

/** Keeps the last part of what a process wrote to stderr. */
export interface ErrorOutput {
  add(chunk: Uint8Array): void;
  /** The last lines, made safe to display. `hide` removes credentials from a line before it is truncated. */
  lines(hide: (line: string) => string): string[];
}

/** Control characters, and those that change the direction of text; line feeds are excluded. */
const controlCharacters = /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

export function createErrorOutput(): ErrorOutput {
  let tail = Buffer.alloc(0);
  let isCut = false;

  return {
    add(chunk) {
      const all = Buffer.concat([tail, chunk]);
      isCut ||= all.length > mcpErrorOutputBytes;
      // A copy: a view would keep the whole chunk in memory.
      tail = Buffer.from(all.subarray(-mcpErrorOutputBytes));
    },
    lines(hide) {
      const text = tail.toString('utf8');
      // Drop the first line if it was cut: a credential without its beginning would not be recognised.
      const whole = isCut ? text.slice(text.indexOf('\n') + 1 || text.length) : text;
      return whole
        .split(/\r\n?|\n/)
        .map((line) => hide(redactUrl(stripVTControlCharacters(line).replaceAll(controlCharacters, ''))).trim())
        .filter((line) => line !== '')
        .slice(-mcpErrorOutputLines)
        .map((line) => line.slice(0, mcpErrorOutputLineCharacters).toWellFormed());
    },
  };
}
