import { AsyncLocalStorage } from 'node:async_hooks';
import type { ToolContext, ToolInvocation } from '../../core/tool.ts';

/** The call on whose behalf something is sent or asked. */
export interface CallScope {
  invocation: ToolInvocation;
  context: ToolContext | undefined;
  /** The stream that should have held the answer is over. */
  onAnswerLost(): void;
}

export interface CallScopes {
  run<Value>(scope: CallScope, work: () => Promise<Value>): Promise<Value>;
  /**
   * The call that this code runs for. What a server sends on the answer of a call belongs to that call; what comes over a pipe that all calls
   * share belongs to one only where calls of a single caller and session are under way: nobody may be asked what another one's call wants to know.
   */
  current(): CallScope | undefined;
  /** The call of which this code is a part, and no other. */
  own(): CallScope | undefined;
  readonly size: number;
}

export function createCallScopes(): CallScopes {
  const storage = new AsyncLocalStorage<CallScope>();
  const running = new Set<CallScope>();

  function own(): CallScope | undefined {
    const scope = storage.getStore();
    return scope !== undefined && running.has(scope) ? scope : undefined;
  }

  return {
    async run(scope, work) {
      running.add(scope);
      try {
        return await storage.run(scope, work);
      } finally {
        running.delete(scope);
      }
    },
    own,
    current() {
      const mine = own();
      if (mine !== undefined) return mine;
      const [first, ...others] = running;
      return first !== undefined && others.every((other) => isSameSession(first, other)) ? first : undefined;
    },
    get size() {
      return running.size;
    },
  };
}

function isSameSession({ invocation: { run } }: CallScope, { invocation: { run: other } }: CallScope): boolean {
  return run.caller.id === other.caller.id && run.sessionId === other.sessionId && run.runId === other.runId;
}
