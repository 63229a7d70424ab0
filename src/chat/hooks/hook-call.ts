import type { ToolOutcome } from '../../core/tool.ts';
import type { ToolCallSettings } from '../tool-calls/tool-call-result.ts';
import { prepareEditedCall } from '../tool-calls/prepare-tool-call.ts';
import type { PreparedCall, ReadyCall } from '../tool-calls/prepare-tool-call.ts';

/**
 * The call as hooks leave it, perhaps with other arguments, or the outcome that replaces its run. Before an approval is requested, so that a human
 * sees the arguments that run, and is not bothered with what is refused anyway.
 * @throws GatewayError as `RunHooks`; the run signal's reason
 */
export async function judgeCall(prepared: ReadyCall, { hooks, run }: ToolCallSettings): Promise<PreparedCall | ToolOutcome> {
  const { tool, args } = prepared;
  const decision = await hooks?.beforeTool({ name: tool.spec.name, args }, run);
  switch (decision?.type) {
    case undefined:
      return prepared;
    case 'result':
      return { type: 'result', value: decision.value };
    case 'reject':
      return { type: 'error', code: 'tool_error', message: decision.message, state: 'not_started' };
    case 'arguments':
      return prepareEditedCall(prepared, decision.args, run);
  }
}

/** What hooks have made of a result. A failed call has none, and stays as it is. @throws as `judgeCall` */
export async function judgeResult({ tool, args }: ReadyCall, outcome: ToolOutcome, { hooks, run }: ToolCallSettings): Promise<ToolOutcome> {
  if (outcome.type !== 'result' || hooks === undefined) return outcome;
  const decision = await hooks.afterTool({ name: tool.spec.name, args, result: outcome.value }, run).catch((error: unknown) => {
    // Nobody reads on; what the function did is written down as it was.
    if (run.signal.aborted) return undefined;
    throw error;
  });
  if (decision === undefined) return outcome;
  if (decision.type === 'reject') return { type: 'error', code: 'tool_error', message: decision.message };
  // What else the function has said of its value is about the value that it gave.
  const { followUp } = outcome;
  return { type: 'result', value: decision.value, ...(followUp !== undefined && { followUp }) };
}
