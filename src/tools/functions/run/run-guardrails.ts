import { GatewayError } from '../../../core/errors.ts';
import { isJsonObject } from '../../../shared/json.ts';
import type { ToolOutcome } from '../../../core/tool.ts';
import type { FunctionContext, Verdict } from '../define/function-definition.ts';

type Guardrail = (value: never, context: FunctionContext) => Verdict | Promise<Verdict>;

/**
 * Asks one after the other; the first that objects decides. One that throws lets nothing through: its exception counts as the function's own.
 * @throws GatewayError `tool_failed` for `abort`
 */
export async function objectionOf(
  guardrails: readonly Guardrail[] | undefined,
  value: unknown,
  { name, context }: { name: string; context: FunctionContext },
): Promise<Extract<ToolOutcome, { type: 'error' }> | undefined> {
  for (const guardrail of guardrails ?? []) {
    const verdict: unknown = await guardrail(value as never, context);
    if (verdict === undefined) continue;
    const { reject, abort } = isJsonObject(verdict) ? verdict : {};
    if (typeof abort === 'string') throw new GatewayError('tool_failed', `A guardrail of '${name}' ended the run: ${abort}`);
    if (typeof reject === 'string') return { type: 'error', code: 'tool_error', message: reject };
    throw new TypeError(`a guardrail of ${name} returned neither nothing nor { reject } nor { abort }`);
  }
  return undefined;
}
