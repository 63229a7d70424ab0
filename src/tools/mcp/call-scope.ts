import { AsyncLocalStorage } from 'node:async_hooks';
import type { ElicitRequestParams, ElicitResult, LoggingMessageNotification } from '@modelcontextprotocol/client';
import { limits } from '../../core/limits.ts';
import { canBeAsked, type RunContext } from '../../core/runs/run.ts';
import type { ToolContext } from '../../core/tools/tool.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { truncateText } from './convert-tools.ts';

/** A progress message. */
export const mcpStatusCharacters = 500;

/** The tool call, or other request of a caller, that the current code runs for. */
export interface CallScope {
  run: RunContext;
  /** Absent where the user cannot be asked. */
  context: ToolContext | undefined;
  /** The stream that should have carried the answer has ended. */
  onAnswerLost(): void;
  /** It causes more notifications than one call may. */
  onFlood(): void;
  /** Aborts when its answer is not read any more. */
  readonly lost: AbortSignal;
}

export interface CallScopes {
  run<Value>(scope: CallScope, work: () => Promise<Value>): Promise<Value>;
  /** The call ended without an answer; its server may still work on it, and ask. */
  abandon(scope: CallScope): void;
  /** For what is everybody's, such as the list of tools: it belongs to no call, even if a single one is running. */
  runForNobody<Value>(work: () => Promise<Value>): Promise<Value>;
  /**
   * The call that this code runs for. A request that a server sends on a call's response stream belongs to that call. Over a pipe that all calls
   * share it is attributed to a call only if all running calls are of the same caller and session, and those that were given up lately: no user may be
   * asked on behalf of another user's call.
   */
  current(): CallScope | undefined;
  /** The call whose async context this code runs in; never guessed. */
  contextual(): CallScope | undefined;
  /** The same, even if that call has ended. */
  begun(): CallScope | undefined;
  readonly size: number;
}

/** A server need not heed that a call was cancelled, but what takes longer is seldom waited for. */
const abandonedMs = 5 * 60_000;

/** `now`: milliseconds of a monotonic clock. */
export function createCallScopes(now: () => number = () => performance.now()): CallScopes {
  const storage = new AsyncLocalStorage<CallScope | 'nobody'>();
  const running = new Set<CallScope>();
  /** By caller and session, when the last one was. */
  const abandoned = new Map<string, number>();

  function begun(): CallScope | undefined {
    const scope = storage.getStore();
    return scope === 'nobody' ? undefined : scope;
  }

  function contextual(): CallScope | undefined {
    const scope = begun();
    return scope !== undefined && running.has(scope) ? scope : undefined;
  }

  function hasAbandonedOthers({ run }: CallScope): boolean {
    const own = sessionOf(run);
    return abandoned.entries().some(([session, time]) => session !== own && now() - time <= abandonedMs);
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
    contextual,
    begun,
    abandon({ run }) {
      for (const [session, time] of abandoned) if (now() - time > abandonedMs) abandoned.delete(session);
      abandoned.set(sessionOf(run), now());
    },
    runForNobody: (work) => storage.run('nobody', work),
    current() {
      const scope = contextual();
      if (scope !== undefined || storage.getStore() === 'nobody') return scope;
      const [first, ...others] = running;
      const isOnlyOne = first !== undefined && others.every((other) => isSameSession(first, other));
      return isOnlyOne && !hasAbandonedOthers(first) ? first : undefined;
    },
    get size() {
      return running.size;
    },
  };
}

function sessionOf({ caller, sessionId }: RunContext): string {
  return JSON.stringify([caller.id, sessionId]);
}

function isSameSession({ run }: CallScope, { run: other }: CallScope): boolean {
  return run.caller.id === other.caller.id && run.sessionId === other.sessionId && run.runId === other.runId;
}

/** Shows what a server logs during a call to those who follow the call. What it logs for its developers, or outside of calls, is for nobody here. */
export function reportLogMessage(
  { level, logger, data }: LoggingMessageNotification['params'],
  scope: CallScope | undefined,
  maskFor: (run: RunContext) => SecretMask,
): void {
  if (scope?.context === undefined || level === 'debug') return;
  const mask = maskFor(scope.run);
  const shown = (text: string): string => truncateText(mask.text(text), mcpStatusCharacters);
  const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
  void scope.context.status(shown(text), { level, ...(logger !== undefined && { logger: shown(logger) }) }).catch(() => undefined);
}

/**
 * Forwards an elicitation to the user of the call that it belongs to, under the server's name; the user may always decline. It is declined if
 * nobody can be asked, or if its call cannot be determined. A link may lead anywhere, so only clients that made it their own task to show links are
 * asked to open it: MCP clients.
 */
export async function answerElicitation(
  params: ElicitRequestParams,
  server: string,
  scope: Pick<CallScope, 'run' | 'context'> | undefined,
): Promise<ElicitResult> {
  const context = scope?.context;
  const hasUser = scope !== undefined && canBeAsked(scope.run);
  if (context === undefined || !hasUser) return { action: 'decline' };
  try {
    if ('url' in params) {
      const isPage = /^https?:$/.test(URL.parse(params.url)?.protocol ?? '') && params.url.length <= limits.mcpUriCharacters;
      if (!isPage || scope?.run.askClient === undefined) return { action: 'decline' };
      const message = `The tool server "${server}" asks: ${params.message}`;
      return {
        action: (await context.askToOpen(params.url, truncateText(message, limits.mcpDescriptionCharacters))) ? 'accept' : 'decline',
      };
    }
    const value = await context.ask(truncateText(`The tool server "${server}" asks`, mcpStatusCharacters), {
      message: truncateText(params.message, limits.mcpDescriptionCharacters),
      schema: params.requestedSchema as unknown as JsonObject,
    });
    return isJsonObject(value) ? { action: 'accept', content: value as NonNullable<ElicitResult['content']> } : { action: 'decline' };
  } catch {
    return { action: 'cancel' };
  }
}
