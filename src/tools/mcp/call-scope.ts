import { AsyncLocalStorage } from 'node:async_hooks';
import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client';
import { limits } from '../../core/limits.ts';
import type { ToolContext, ToolInvocation } from '../../core/tool.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { shortened } from './convert-tools.ts';

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
   * share belongs to one only where calls of a single caller and session are under way: no user may be asked on behalf of another user's call.
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

/**
 * An elicitation goes to the session behind the call that it belongs to, under the server's name; the user may always decline. Without a session, or
 * where it is not known whose call it is, it is declined.
 */
export async function answerElicitation(params: ElicitRequestParams, server: string, scope: CallScope | undefined): Promise<ElicitResult> {
  const context = scope?.context;
  const hasSession = scope?.invocation.run.sessionId !== undefined;
  // An address to open could be anybody's page; only forms were offered to the server.
  if (context === undefined || !hasSession || 'url' in params) return { action: 'decline' };
  try {
    const value = await context.ask(shortened(`The tool server "${server}" asks`, limits.mcpStatusCharacters), {
      message: shortened(params.message, limits.mcpDescriptionCharacters),
      schema: params.requestedSchema as unknown as JsonObject,
    });
    return isJsonObject(value) ? { action: 'accept', content: value as NonNullable<ElicitResult['content']> } : { action: 'decline' };
  } catch {
    return { action: 'cancel' };
  }
}
