import type { LiveEvents } from '../chat/live-events.ts';
import type { JsonObject } from '../core/json.ts';

/** `progress` of the protocol: a number that grows with every message. */
export interface McpProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** What a call tells while it runs, for a client that asked to be told. */
export function createMcpProgress(notify: (progress: McpProgress) => Promise<void>): LiveEvents {
  let last = 0;
  return {
    async progress(_call, data: JsonObject) {
      const { progress, total, status } = data;
      const isFurther = typeof progress === 'number' && progress > last;
      // A message without an amount moves on by the smallest step there is.
      last = isFurther ? progress : last + Number.EPSILON * Math.max(1, last);
      // Whoever does not listen any more must not fail the call.
      await notify({
        progress: last,
        ...(typeof total === 'number' && { total }),
        ...(typeof status === 'string' && { message: status }),
      }).catch(() => undefined);
    },
    tell: () => undefined,
    async *until(pending) {
      yield* [];
      return await pending;
    },
    close: () => undefined,
  };
}
