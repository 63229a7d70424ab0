import { setImmediate as nextTick } from 'node:timers/promises';
import type { ModelEvent } from '../../core/chat/chat.ts';
import type { OutboundBody } from '../../core/outbound.ts';
import { runSteps, type Emit } from '../../shared/async/emit.ts';

/** Bytes of a stream that are read in one tick of the event loop: a hundred chunks. */
export const upstreamSliceBytes = 16 * 1024;

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
export async function emitAnswer(stream: AnswerStream, { body, emit }: { body: OutboundBody; emit: Emit<ModelEvent> }): Promise<void> {
  let lateEnd: NodeJS.Timeout | undefined;
  const check = (): void => {
    if (stream.fault !== undefined) throw stream.fault;
    if (stream.isDone) lateEnd ??= setTimeout(() => body.close(), endOfBodyMs);
  };
  const read = (slice: Uint8Array): Promise<void> | undefined => {
    if (stream.isDone) return undefined;
    const slow = emit(stream.read(slice));
    if (slow !== undefined) return slow.then(check);
    check();
    return undefined;
  };
  try {
    const { failure } = await body.readEach((piece) =>
      piece.byteLength <= upstreamSliceBytes ? read(piece) : runSteps(readSlices(piece, read)),
    );
    if (stream.isDone) return;
    const slow = emit(stream.end(failure));
    if (slow !== undefined) await slow;
    if (stream.fault !== undefined) throw stream.fault;
  } finally {
    clearTimeout(lateEnd);
  }
}

/** A large chunk is parsed in slices, so that other work can run in between. */
function* readSlices(
  piece: Uint8Array,
  read: (slice: Uint8Array) => Promise<void> | undefined,
): Generator<Promise<void> | undefined, void> {
  for (let start = 0; start < piece.byteLength; start += upstreamSliceBytes) {
    if (start > 0) yield nextTick();
    yield read(piece.subarray(start, start + upstreamSliceBytes));
  }
}
