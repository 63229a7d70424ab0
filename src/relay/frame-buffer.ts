import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';

/** Frames for a browser that is disconnected for a moment, in order. */
export interface FrameBuffer {
  /** False when the buffer is full. Then the session has to end, because a gap would corrupt the answer. */
  add(frame: JsonObject): boolean;
  readonly frames: JsonObject[];
}

/** Holds as much as may be buffered for a connected socket that is not read. */
export function createFrameBuffer(): FrameBuffer {
  const frames: JsonObject[] = [];
  let size = 0;

  return {
    frames,
    add(frame) {
      size += JSON.stringify(frame).length;
      if (size > limits.socketBufferBytes) return false;
      frames.push(frame);
      return true;
    },
  };
}
