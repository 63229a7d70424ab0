import type { ToolCallResult, ToolCallScope, ToolCallSettings } from './tool-call-result.ts';
import { createPendingCall } from './pending-call.ts';
import type { PreparedCall } from './prepare-tool-call.ts';

/**
 * Runs a prepared call by itself, as in a chat. A failure of any kind is a value; thrown are only the caller's leave (the signal's reason)
 * and GatewayError `tool_failed`.
 */
export async function runToolCall(prepared: PreparedCall, settings: ToolCallSettings, around: ToolCallScope = {}): Promise<ToolCallResult> {
  const { signal } = settings.run;
  signal.throwIfAborted();
  const pending = createPendingCall(prepared, settings, around);
  const leave = (): void => pending.end({ type: 'left' });
  signal.addEventListener('abort', leave, { once: true });
  try {
    await pending.approve();
    await pending.start();
    const report = await pending.report;
    signal.throwIfAborted();
    return report;
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
