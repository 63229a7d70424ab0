import type { ToolOutcome } from '../../core/tools/tool.ts';
import { maskFault } from './execute-tool-call.ts';
import type { ReadyCall } from './prepare-tool-call.ts';
import type { CallSlot } from './schedule-calls.ts';
import type { Supervision } from './supervise-call.ts';
import type { Suspension } from './tool-call-result.ts';
import type { ToolCallScope, ToolCallSettings } from './tool-call-scope.ts';

/** How often one call asks its caller to connect, to a server that refuses the credential each time. */
export const connectTries = 3;

/** What every step of one call needs. */
export interface CallCircumstances {
  settings: ToolCallSettings;
  scope: ToolCallScope;
  slot: CallSlot;
  supervision: Supervision;
}

export type Failure = Extract<ToolOutcome, { type: 'error' }>;

/** Why a call cannot run. `suspended`: it can run once its caller has connected. */
interface NotReady {
  outcome: Failure;
  suspended?: Suspension;
}

/** Waits for a missing credential if the caller can be asked to connect. Returns why the call still cannot run. */
export async function whyNotReady(prepared: ReadyCall, circumstances: CallCircumstances): Promise<NotReady | undefined> {
  const { settings, supervision } = circumstances;
  try {
    for (let tries = 1; ; tries += 1) {
      const outcome = await prepared.tool.whyNotReady?.(settings.run);
      if (outcome === undefined) return undefined;
      const notReady = await unlessConnected(prepared, outcome, circumstances);
      if (notReady !== undefined || tries >= connectTries) return notReady ?? { outcome };
    }
  } catch (error) {
    supervision.signal.throwIfAborted();
    return { outcome: { ...maskFault(error, prepared, settings), state: 'not_started' } };
  }
}

/** Returns undefined once the caller has connected to the server, and the call can run. */
export async function unlessConnected(
  { call, tool }: ReadyCall,
  outcome: Failure,
  { settings: { run, connecting }, scope, slot, supervision }: CallCircumstances,
): Promise<NotReady | undefined> {
  const { connect: server } = outcome;
  if (server === undefined || connecting === undefined) return { outcome };
  const answer = await connecting.connect({
    callId: call.id,
    tool: tool.spec.name,
    server,
    run,
    signal: supervision.signal,
    emit(event) {
      void scope.emit?.(event);
      if (event.type === 'connect.request') slot.waitForPerson();
    },
  });
  if (answer.type === 'connected') return undefined;
  if (answer.type === 'refused') {
    const { connect: _connect, ...refused } = outcome;
    return { outcome: answer.message === undefined ? outcome : { ...refused, message: answer.message } };
  }
  return { outcome, suspended: { type: 'connect', connecting: { ...server, callId: call.id, tool: tool.spec.name } } };
}
