import type { ConfigChange } from '../../../core/chat/chat-config.ts';
import type { InnerSuspension } from '../../../core/runs/suspended-run.ts';
import type { ToolContext } from '../../../core/tools/tool.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { createConfigChanges } from './change-config.ts';
import { createElicitation } from './elicit-input.ts';
import type { ReadyCall } from '../prepare-tool-call.ts';
import type { Supervision } from '../supervise-call.ts';
import type { ToolCallScope, ToolCallSettings } from '../tool-call-scope.ts';

/** Progress events of one call; a tool that reports more is in a loop. */
export const progressEventsPerCall = 1_000;
/** The most text for the user in one call: many pages. The model reads it, too. */
const saidCharacters = 64 * 1024;

/** What a function has done through its context, besides returning a result. */
interface SaidByCall {
  isStopped: boolean;
  inner?: InnerSuspension;
  /** To the user, in the answer. */
  texts: string[];
  changes?: ConfigChange;
}

/** The `ToolContext` of a running call. It has no effect once the call has settled. */
export function createContext(
  { call, tool, args }: ReadyCall,
  { settings, scope, supervision }: { settings: ToolCallSettings; scope: ToolCallScope; supervision: Supervision },
): { context: ToolContext; said: SaidByCall } {
  const said: SaidByCall = { isStopped: false, texts: [] };
  let shown = 0;
  let charactersLeft: number = saidCharacters;
  async function showProgress(data: JsonObject): Promise<void> {
    if (supervision.isOver()) return;
    supervision.touch();
    shown += 1;
    if (shown > progressEventsPerCall) return;
    await scope.emit?.({ type: 'tool.progress', data: { id: call.id, tool: tool.spec.name, ...data } });
  }
  const { run, elicitations } = settings;
  const sayInAnswer = run.nested?.say ?? scope.say;
  async function say(text: string): Promise<void> {
    if (text === '' || supervision.isOver()) return;
    if (sayInAnswer === undefined) return showProgress({ status: text });
    supervision.touch();
    const hadRoom = charactersLeft > 0;
    charactersLeft -= text.length;
    if (charactersLeft >= 0) {
      said.texts.push(text);
      await sayInAnswer(text);
    } else if (hadRoom) {
      const data = { limit: 'said_characters', value: saidCharacters, id: call.id };
      charactersLeft = 0;
      await scope.emit?.({ type: 'limit.reached', data });
    }
  }
  const context: ToolContext = {
    status: (text, log) => showProgress({ status: text, ...log }),
    progress: (done, total) => showProgress({ progress: done, ...(total !== undefined && { total }) }),
    keepAlive: () => supervision.touch(),
    say,
    ...createConfigChanges(scope.selection, tool.spec.name, (change) => {
      if (!supervision.isOver()) said.changes = { ...said.changes, ...change };
    }),
    emit: async (event) => scope.emit?.(event),
    critical: (work) => supervision.critical(work),
    ...createElicitation({ run, elicitations, supervision, tool: tool.spec.name, args }),
    stop: () => void (said.isStopped = true),
    waitFor: (inner) => void (said.inner = inner),
  };
  return { context, said };
}
