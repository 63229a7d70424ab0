import { basePath } from './base-path.ts';
import type { ConnectionStatus } from './session-messages.ts';

/** A socket opens within this time, or chats go over HTTP. */
const openWithinMs = 5_000;
/** Refused this often, a socket is not waited for any longer. */
const maxRefusals = 2;
const answerWithinMs = 5_000;

/** Whether chats go over the socket. Proxies that pass no upgrade refuse it or never answer. The socket is tried on meanwhile, and used once it opens. */
export class Transport {
  readonly #report: (status: ConnectionStatus) => void;
  #status: ConnectionStatus = 'connecting';
  #isHttp = false;
  /** There has been a connection, or the gateway does not answer at all. */
  #isLost = false;
  #refusals = 0;
  readonly #waiting = new Set<() => void>();

  constructor(report: (status: ConnectionStatus) => void) {
    this.#report = report;
  }

  /** Takes in what the socket does. */
  note(status: 'connecting' | 'open' | 'waiting' | 'closed'): void {
    this.#status = status;
    if (status === 'open') [this.#isHttp, this.#isLost] = [false, true];
    this.#refusals = status === 'open' ? 0 : this.#refusals + (status === 'waiting' ? 1 : 0);
    this.#reportStatus();
    if (this.#isSettled()) for (const done of this.#waiting) done();
  }

  /** Resolves to true also if nothing answers, or the gateway refuses the caller: the socket then waits, or fails the chat. */
  async isSocket(): Promise<boolean> {
    if (!this.#isHttp && !this.#isSettled()) await this.#settled();
    if (this.#status === 'open' || this.#status === 'closed') return true;
    const isAnswered = await answersOverHttp();
    if (this.#socketIsOpen()) return true;
    [this.#isHttp, this.#isLost] = [isAnswered, true];
    this.#reportStatus();
    return !isAnswered;
  }

  #reportStatus(): void {
    if (this.#isHttp) this.#report('http');
    else this.#report(this.#status === 'waiting' && !this.#isLost ? 'connecting' : this.#status);
  }

  /** It may have opened while the gateway was asked. */
  #socketIsOpen(): boolean {
    return this.#status === 'open';
  }

  #isSettled(): boolean {
    return this.#status === 'open' || this.#status === 'closed' || this.#refusals >= maxRefusals;
  }

  #settled(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, openWithinMs);
      this.#waiting.add(done);
    });
  }
}

async function answersOverHttp(): Promise<boolean> {
  try {
    // Any answer of the gateway will do, also one that refuses the key.
    const response = await fetch(`${basePath}/health`, { credentials: 'omit', signal: AbortSignal.timeout(answerWithinMs) });
    return response.ok;
  } catch {
    return false;
  }
}
