import type { LogOrigin } from '../../core/tools/tool.ts';
import type { DataOf, RunEvent } from '../../core/chat/run-event.ts';

type Progress = DataOf<'tool.progress'>;

/** The params of MCP's `notifications/progress`; `progress` must increase with every message. */
interface McpProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** How a client follows a call: by progress notifications if it wants them, and by log messages. */
export interface McpProgressChannel {
  progress?(progress: McpProgress): Promise<void>;
  /** `origin`: of a message that the function's server has logged. */
  log(text: string, origin?: LogOrigin): Promise<void>;
}

/** Forwards `tool.progress` events to the client. A disconnected client does not fail the call. */
export function createMcpProgress(channel: McpProgressChannel): (event: RunEvent) => Promise<void> {
  let last: number | undefined;
  let pending: Progress | undefined;

  function toProgress({ progress, total, status }: Progress): McpProgress {
    const isFurther = progress !== undefined && (last === undefined || progress > last);
    // MCP requires each number to be larger than the one before, so a message without one adds the smallest possible step.
    last = isFurther ? progress : last === undefined ? 0 : last + Number.EPSILON * Math.max(1, last);
    return { progress: last, ...(total !== undefined && { total }), ...(status !== undefined && { message: status }) };
  }

  /** One notification of an MCP server arrives here as two events in a row, amount and message. They are merged into one again. */
  async function merge(data: Progress): Promise<Progress | undefined> {
    if (data.progress === undefined) {
      if (pending === undefined) return data;
      Object.assign(pending, data);
      return undefined;
    }
    const report = { ...data };
    pending = report;
    await Promise.resolve();
    if (pending === report) pending = undefined;
    return report;
  }

  return async ({ type, data }) => {
    if (type !== 'tool.progress') return;
    const { level, logger, status } = data;
    if (level !== undefined) {
      await channel.log(status ?? '', { level, ...(logger !== undefined && { logger }) }).catch(() => undefined);
    } else if (channel.progress !== undefined) {
      const whole = await merge(data);
      if (whole !== undefined) await channel.progress(toProgress(whole)).catch(() => undefined);
    } else if (status !== undefined) await channel.log(status).catch(() => undefined);
  };
}
