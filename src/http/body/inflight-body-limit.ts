import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';

export interface InflightBodyLimit {
  /** Counts a body of this caller; to be read instead of the request. */
  count: (incoming: IncomingMessage, owner: string) => Transform;
  /** It is parsed, or no longer needed. */
  release: (incoming: IncomingMessage) => void;
  /** Its client has left. */
  leave: (incoming: IncomingMessage) => void;
  /** Fires when it is cut off, or its client leaves, while it waits to be parsed. */
  signalOf: (incoming: IncomingMessage) => AbortSignal;
}

interface ArrivingBody {
  owner: string;
  bytes: number;
  counted: Transform;
  leave: AbortController;
}

/**
 * Counts what is being received and waits to be parsed, over all requests. What is too much is cut off, and it costs the caller who holds the most
 * of it the body that came last: a caller with many half-sent bodies harms no other.
 */
export function createInflightBodyLimit(maxBytes: number): InflightBodyLimit {
  const bodies = new Map<IncomingMessage, ArrivingBody>();
  const sums = new Map<string, number>();
  let sum = 0;

  function add(body: ArrivingBody, bytes: number): void {
    const ofOwner = (sums.get(body.owner) ?? 0) + bytes;
    if (ofOwner === 0) sums.delete(body.owner);
    else sums.set(body.owner, ofOwner);
    body.bytes += bytes;
    sum += bytes;
  }

  function release(incoming: IncomingMessage): void {
    const body = bodies.get(incoming);
    if (body === undefined) return;
    bodies.delete(incoming);
    add(body, -body.bytes);
  }

  /** One that is whole already only waits to be parsed, and makes room in a moment; it is cut off where there is no other. */
  function findVictim(): [IncomingMessage, ArrivingBody] | undefined {
    const [heaviest] = [...sums].reduce((most, next) => (next[1] > most[1] ? next : most), ['', 0]);
    const ofOwner = [...bodies].filter(([, { owner, bytes }]) => owner === heaviest && bytes > 0);
    return ofOwner.findLast(([incoming]) => !incoming.complete) ?? ofOwner.at(-1);
  }

  const isTooMuch = (): boolean => sum > maxBytes;

  function makeRoom(): void {
    while (isTooMuch()) {
      const victim = findVictim();
      if (victim === undefined) return;
      release(victim[0]);
      victim[1].leave.abort(overloaded());
      victim[1].counted.destroy(overloaded());
    }
  }

  function count(incoming: IncomingMessage, owner: string): Transform {
    let pieces = 0;
    const counted = new Transform({
      transform(piece: Buffer, _encoding, pass) {
        // Refused, answered or cut off: what is still on its way counts no more, and nobody reads it.
        if (!bodies.has(incoming)) return pass();
        add(body, piece.length);
        pieces += 1;
        if (pieces > limits.smallBodyPieces + body.bytes / limits.bodyPieceBytes) {
          // Those that have arrived with it would each be an error of a destroyed stream.
          incoming.unpipe(counted);
          return pass(tooManyPieces());
        }
        makeRoom();
        if (!bodies.has(incoming)) return pass();
        if (isTooMuch()) return pass(overloaded());
        return pass(null, piece);
      },
    });
    const leave = new AbortController();
    const body: ArrivingBody = { owner, bytes: 0, counted, leave };
    bodies.set(incoming, body);
    counted.once('error', () => release(incoming));
    // It also closes after its end, when the last pieces may still be on their way.
    incoming.once('close', () => {
      if (!incoming.complete) counted.destroy(new Error('The client left amid its body'));
    });
    return counted;
  }

  function leave(incoming: IncomingMessage): void {
    const body = bodies.get(incoming);
    release(incoming);
    body?.leave.abort(new DOMException('The client left', 'AbortError'));
  }

  return { count, release, leave, signalOf: (incoming) => bodies.get(incoming)?.leave.signal ?? new AbortController().signal };
}

function tooManyPieces(): GatewayError {
  const message = `The body comes in chunks that are too small. Send chunks of at least ${limits.bodyPieceBytes} bytes, or the body whole.`;
  return new GatewayError('invalid_request', message);
}

function overloaded(): GatewayError {
  const message = 'Too many large requests arrive at the same time. Try again in a moment.';
  return new GatewayError('overloaded', message, { retryAfter: '1' });
}
