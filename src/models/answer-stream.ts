import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ModelEvent } from '../core/chat.ts';
import { limits } from '../core/limits.ts';
import type { Emit } from '../shared/emit.ts';

/** The bytes of a streamed answer, on their way to events. */
export interface AnswerStream {
  /** The answer is over, whatever follows. */
  readonly isDone: boolean;
  /** Why the answer fails, behind what has been read of it. */
  readonly fault: unknown;
  read(piece: Uint8Array): ModelEvent[];
  /** Called once, where the body ends, or fails, before the answer is over. */
  end(failure: unknown): ModelEvent[];
}

/** Time for a backend to end the body after the answer: then the connection can be used again. */
const endOfBodyMs = 50;

/**
 * Emits a streamed answer, one batch for each piece of its bytes; what came before a fault is emitted before that is thrown. Closes the connection
 * where the body does not end soon after the answer.
 */
export async function emitAnswer(
  stream: AnswerStream,
  { body, emit, close }: { body: AsyncIterable<Uint8Array>; emit: Emit<ModelEvent>; close: () => void },
): Promise<void> {
  const pieces = body[Symbol.asyncIterator]();
  while (!stream.isDone) {
    let piece: Uint8Array | undefined;
    let failure: unknown;
    try {
      piece = (await pieces.next()).value;
    } catch (error) {
      failure = error;
    }
    if (piece === undefined) {
      await emit(stream.end(failure));
      if (stream.fault !== undefined) throw stream.fault;
      return;
    }
    // A large piece is read in slices, with other work between two of them.
    for (let start = 0; start < piece.byteLength && !stream.isDone; start += limits.upstreamSliceBytes) {
      if (start > 0) await nextTurn();
      const slow = emit(stream.read(piece.subarray(start, start + limits.upstreamSliceBytes)));
      if (slow !== undefined) await slow;
      if (stream.fault !== undefined) throw stream.fault;
    }
  }
  await reachEnd(pieces, close);
}

async function reachEnd(pieces: AsyncIterator<Uint8Array>, close: () => void): Promise<void> {
  const timer = setTimeout(close, endOfBodyMs);
  try {
    while ((await pieces.next()).done !== true);
  } catch {
    // The answer is whole.
  } finally {
    clearTimeout(timer);
  }
}
