import type { ToolOutcome } from '../../core/tools/tool.ts';
import type { JsonValue } from '../../shared/json/json.ts';
import type { ToolCallSettings } from './tool-call-scope.ts';
import { prepareEditedCall, type PreparedCall, type ReadyCall } from './prepare-tool-call.ts';

/**
 * Runs the `beforeTool` hooks. Returns the call, possibly with changed arguments, or the outcome that replaces it. Called before approval, so that the
 * approver sees the arguments that will run, and is not asked about a call that will be refused.
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

/** Runs the `afterTool` hooks on a result. A failed call has no result and is returned unchanged. @throws as `judgeCall` */
export async function judgeResult({ tool, args }: ReadyCall, outcome: ToolOutcome, { hooks, run }: ToolCallSettings): Promise<ToolOutcome> {
  if (outcome.type !== 'result' || hooks === undefined) return outcome;
  const decision = await hooks.afterTool({ name: tool.spec.name, args, result: outcome.value }, run).catch((error: unknown) => {
    // The run was cancelled or the client disconnected: record the function's result unchanged.
    if (run.signal.aborted) return undefined;
    throw error;
  });
  if (decision === undefined) return outcome;
  if (decision.type === 'reject') return { type: 'error', code: 'tool_error', message: decision.message };
  return withValue(outcome, decision.value);
}

/**
 * Replaces only the value: files, notes and the follow-up belong to the call. `meta` may repeat the value, and is left out. A file that the function's text mentions is removed together with its
 * mention, so that a hook which removes the mention also withholds the file.
 */
function withValue(outcome: Extract<ToolOutcome, { type: 'result' }>, value: JsonValue): ToolOutcome {
  const { files, meta: _meta, ...others } = outcome;
  if (files === undefined) return { ...others, value };
  const [before, after] = [outcome.value, value].map((each) => JSON.stringify(each));
  const remaining = files.filter(({ mention }) => {
    if (mention === undefined) return true;
    const written = JSON.stringify(mention).slice(1, -1);
    return after?.includes(written) === true || before?.includes(written) === false;
  });
  return { ...others, value, ...(remaining.length > 0 && { files: remaining }) };
}
