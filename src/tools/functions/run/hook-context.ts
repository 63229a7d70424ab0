import type { HookInvocation } from '../../../core/tools/hooks.ts';
import type { FunctionPlace } from '../define/function-definition.ts';
import type { HookContext } from '../define/hook-answers.ts';
import { toUserSignal } from '../load/user-code.ts';
import { placeOf } from './function-tool.ts';

/** What a hook learns of its call. */
export function toHookContext({ run, signal, purpose }: HookInvocation, state: HookContext['state']): HookContext {
  let userSignal: AbortSignal | undefined;
  const context: Omit<HookContext, keyof FunctionPlace> = {
    get signal() {
      userSignal ??= toUserSignal(signal);
      return userSignal;
    },
    get tools() {
      return run.conversation?.offeredToolIds?.() ?? [];
    },
    purpose,
  };
  return Object.defineProperties(placeOf(run, state), Object.getOwnPropertyDescriptors(context)) as HookContext;
}
