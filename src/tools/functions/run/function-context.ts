import type { RunContext } from '../../../core/run.ts';
import { ToolError } from '../../../core/tool.ts';
import type { ToolContext, ToolInvocation } from '../../../core/tool.ts';
import type { FunctionContext, FunctionPlace, FunctionState } from '../define/function-definition.ts';
import { toPublicMessage } from '../define/public-messages.ts';
import { toOwnSignal } from '../load/user-code.ts';

/** Who is asking, and where. Messages and files are copied only for those who look. */
export function placeOf({ runId, chatId, caller, conversation }: RunContext): FunctionPlace {
  let messages: FunctionPlace['messages'] | undefined;
  let files: FunctionPlace['files'] | undefined;
  return {
    runId,
    chatId,
    user: { id: caller.id, role: caller.role },
    model: conversation?.model,
    get messages() {
      messages ??= (conversation?.messages ?? []).map(toPublicMessage);
      return messages;
    },
    get files() {
      files ??= (conversation?.files ?? []).map((file) => ({ ...file }));
      return files;
    },
  };
}

/** Without a runtime around it (a test, a script) what is told goes nowhere. */
export function contextOf(invocation: ToolInvocation, runtime: ToolContext | undefined, state: FunctionState): FunctionContext {
  const place = placeOf(invocation.run);
  let signal: AbortSignal | undefined;
  const own: Omit<FunctionContext, keyof FunctionPlace> = {
    get signal() {
      signal ??= toOwnSignal(invocation.signal);
      return signal;
    },
    state: { get: (key) => state.get(key), set: (key, value) => state.set(key, value) },
    status: async (text) => runtime?.status(text),
    progress: async (done, total) => runtime?.progress(done, total),
    confirm: async (title, message) => requireRuntime(runtime).confirm(title, message),
    ask: async (title, question) => requireRuntime(runtime).ask(title, question),
    critical: async (work) => (runtime === undefined ? work() : runtime.critical(work)),
    stop: () => runtime?.stop(),
  };
  return Object.defineProperties(place, Object.getOwnPropertyDescriptors(own)) as FunctionContext;
}

function requireRuntime(runtime: ToolContext | undefined): ToolContext {
  if (runtime === undefined) throw new ToolError('client_unavailable: nobody can be asked, because there is no websocket session.');
  return runtime;
}
