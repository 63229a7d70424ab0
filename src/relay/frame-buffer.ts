import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';

/** Frames for a browser that is away for a moment, in order. */
export interface FrameBuffer {
  /** False when there is no room: a gap would falsify the answer, so the session has to end. */
  add(frame: JsonObject): boolean;
  readonly frames: JsonObject[];
}

/** Holds as many bytes as may wait in a socket that is not read. */
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
