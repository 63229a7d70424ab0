import type { ChildProcess } from 'node:child_process';
import type { ReadBuffer } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { StdioServerParameters } from '@modelcontextprotocol/client/stdio';
import { limits } from '../../core/limits.ts';
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
    // The last messages of a process that ends are read before its end is told.
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
        // What a process says after it was told to end is read, so that it can end, but not listened to.
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
