import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { GatewayError } from '../../core/errors.ts';
import { keyIdOf } from '../../core/callers/people.ts';

/**
 * Pieces of one body that may be of any size. Beyond them all pieces together have to hold `bodyPieceBytes` on average: each piece costs the
 * same, and 64 kB can come as tens of thousands.
 */
const smallBodyPieces = 500;
const bodyPieceBytes = 64;

interface ArrivingBody {
  owner: string;
  bytes: number;
  counted: Transform;
  controller: AbortController;
}

/**
 * Limits the bytes of all bodies that are being received or wait to be parsed. Above the limit, the newest body of the caller with the most bytes in the
 * key with the most is rejected. So a caller with many half-sent bodies harms no others, and neither do many people of one key.
 */
export class InflightBodyLimit {
  readonly #maxBytes: number;
  readonly #bodies = new Map<IncomingMessage, ArrivingBody>();
  readonly #sums = new Map<string, number>();
  #sum = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  #add(body: ArrivingBody, bytes: number): void {
    const ofOwner = (this.#sums.get(body.owner) ?? 0) + bytes;
    if (ofOwner === 0) this.#sums.delete(body.owner);
    else this.#sums.set(body.owner, ofOwner);
    body.bytes += bytes;
    this.#sum += bytes;
  }

  /** Stops counting a body that is parsed, or no longer needed. */
  release(incoming: IncomingMessage): void {
    const body = this.#bodies.get(incoming);
    if (body === undefined) return;
    this.#bodies.delete(incoming);
    this.#add(body, -body.bytes);
  }

  /** Prefers incomplete bodies: a complete one will be parsed and released in a moment. */
  #findVictim(): [IncomingMessage, ArrivingBody] | undefined {
    const ofKeys = new Map<string, number>();
    for (const [owner, bytes] of this.#sums) ofKeys.set(keyIdOf(owner), (ofKeys.get(keyIdOf(owner)) ?? 0) + bytes);
    const key = heaviestOf(ofKeys);
    const heaviest = heaviestOf([...this.#sums].filter(([owner]) => keyIdOf(owner) === key));
    const ofOwner = [...this.#bodies].filter(([, { owner, bytes }]) => owner === heaviest && bytes > 0);
    return ofOwner.findLast(([incoming]) => !incoming.complete) ?? ofOwner.at(-1);
  }

  #isTooMuch(): boolean {
    return this.#sum > this.#maxBytes;
  }

  #makeRoom(): void {
    while (this.#isTooMuch()) {
      const victim = this.#findVictim();
      if (victim === undefined) return;
      this.release(victim[0]);
      victim[1].controller.abort(overloaded());
      victim[1].counted.destroy(overloaded());
    }
  }

  /** Starts counting a body of this caller. Returns the stream to read instead of the request. */
  count(incoming: IncomingMessage, owner: string): Transform {
    let pieces = 0;
    const counted = new Transform({
      transform: (piece: Buffer, _encoding, pass) => {
        // The request was rejected or answered: discard the rest of its body.
        if (!this.#bodies.has(incoming)) return pass();
        this.#add(body, piece.length);
        pieces += 1;
        if (pieces > smallBodyPieces + body.bytes / bodyPieceBytes) {
          // Otherwise each chunk that has arrived with this one would be written to a destroyed stream, which is an error.
          incoming.unpipe(counted);
          return pass(tooManyPieces());
        }
        this.#makeRoom();
        if (!this.#bodies.has(incoming)) return pass();
        if (this.#isTooMuch()) return pass(overloaded());
        return pass(null, piece);
      },
    });
    const controller = new AbortController();
    const body: ArrivingBody = { owner, bytes: 0, counted, controller };
    this.#bodies.set(incoming, body);
    counted.once('error', () => this.release(incoming));
    // `close` also follows the end of a complete body, when its last chunks may not have passed through yet.
    incoming.once('close', () => {
      if (!incoming.complete) counted.destroy(new Error('The client disconnected before its body was complete'));
    });
    return counted;
  }

  /** Releases the body of a client that disconnected, and aborts its signal. */
  abort(incoming: IncomingMessage): void {
    const body = this.#bodies.get(incoming);
    this.release(incoming);
    body?.controller.abort(new DOMException('The client disconnected', 'AbortError'));
  }

  /** Aborted when the body is rejected, or its client disconnects, while it waits to be parsed. */
  signalOf(incoming: IncomingMessage): AbortSignal {
    return this.#bodies.get(incoming)?.controller.signal ?? new AbortController().signal;
  }
}

function heaviestOf(sums: Iterable<[owner: string, bytes: number]>): string {
  return [...sums].reduce((most, next) => (next[1] > most[1] ? next : most), ['', 0])[0];
}

function tooManyPieces(): GatewayError {
  const message = `The body arrives in chunks that are too small. Send chunks of at least ${bodyPieceBytes} bytes, or the whole body at once.`;
  return new GatewayError('invalid_request', message);
}

function overloaded(): GatewayError {
  const message = 'The gateway is receiving too many large requests. Try again in a moment.';
  return new GatewayError('overloaded', message, { retryAfter: '1' });
}
