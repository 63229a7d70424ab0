import type { RanCall } from '../../core/runs/run-repeat.ts';
import type { Tool } from '../../core/tools/tool.ts';
import type { ToolCallResult } from './tool-call-result.ts';

/** The calls of a round that have reached their tool, and would do so again if the request were repeated. Helpers have no effect outside their run. */
export function ranIn(results: readonly ToolCallResult[], tools: ReadonlyMap<string, Tool>): RanCall[] {
  return results.flatMap(({ call, tool, attempts, outcome, followUp }): RanCall[] => {
    const called = tools.get(tool?.name ?? '');
    const isUnrun = outcome.type === 'error' && (outcome.state === 'not_started' || outcome.state === 'cancelled');
    const isMereHandoff = followUp?.type === 'handoff' && called?.kind !== 'function';
    if (attempts === 0 || isUnrun || called?.isHelper === true || isMereHandoff) return [];
    return [{ label: tool?.label ?? call.name, writes: called?.isReadOnly !== true }];
  });
}
