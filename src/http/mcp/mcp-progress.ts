import type { LiveEvents } from '../../chat/loop/live-events.ts';
import type { JsonObject } from '../../shared/json.ts';

/** `progress` of the protocol: a number that grows with every message. */
export interface McpProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** How a client hears of a call that runs: it asked for `progress`, or what is being done goes into its log. */
export type McpEar = { progress(progress: McpProgress): Promise<void> } | { log(text: string): Promise<void> };

/** What a call tells while it runs. Whoever does not listen any more does not fail the call. */
export function createMcpProgress(ear: McpEar): LiveEvents {
  let last: number | undefined;
  let held: JsonObject | undefined;

  function toProgress({ progress, total, status }: JsonObject): McpProgress {
    const isFurther = typeof progress === 'number' && (last === undefined || progress > last);
    // A message without an amount moves on by the smallest step there is.
    last = isFurther ? progress : last === undefined ? 0 : last + Number.EPSILON * Math.max(1, last);
    return { progress: last, ...(typeof total === 'number' && { total }), ...(typeof status === 'string' && { message: status }) };
  }

  /** An MCP server's amount and its message are one notification; they come here one right after the other, and go on as one. */
  async function joined(data: JsonObject): Promise<JsonObject | undefined> {
    if (typeof data['progress'] !== 'number') {
      if (held === undefined) return data;
      Object.assign(held, data);
      return undefined;
    }
    const mine = { ...data };
    held = mine;
    await Promise.resolve();
    if (held === mine) held = undefined;
    return mine;
  }

  return {
    async progress(_call, data: JsonObject) {
      if ('progress' in ear) {
        const whole = await joined(data);
        return whole === undefined ? undefined : ear.progress(toProgress(whole)).catch(() => undefined);
      }
      if (typeof data['status'] === 'string') await ear.log(data['status']).catch(() => undefined);
    },
    tell: () => undefined,
    deliver: () => Promise.resolve(),
    async *until(pending) {
      yield* [];
      return await pending;
    },
    close: () => undefined,
  };
}
