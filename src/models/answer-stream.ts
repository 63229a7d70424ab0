import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ModelEvent } from '../core/chat.ts';
import { limits } from '../core/limits.ts';
import type { Emit } from '../shared/emit.ts';

/** Parses the bytes of a streamed answer to events. */
export interface AnswerStream {
  /** The answer is complete; anything that follows is ignored. */
  readonly isDone: boolean;
  /** An error that follows the events read so far. */
  readonly fault: unknown;
  read(piece: Uint8Array): ModelEvent[];
  /** Called once if the body ends or fails before the answer is complete. */
  end(failure: unknown): ModelEvent[];
}

/** How long to wait for the end of the body after the answer, so that the connection can be reused. */
const endOfBodyMs = 50;

/**
 * Emits the events of a streamed answer, one batch per chunk. Events before an error are emitted before it is thrown. Closes the connection if the
 * body does not end soon after the answer.
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
    // A large chunk is parsed in slices, so that other work can run in between.
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
    // The answer is complete by now.
  } finally {
    clearTimeout(timer);
  }
}
