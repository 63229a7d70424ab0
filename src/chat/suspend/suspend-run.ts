import type { ChatEvent, ToolCall } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { eventIdOf, withinOf } from './nested-call-ids.ts';
import type { PendingApproval } from '../../core/user-input/approval.ts';
import { serversOf, type ConnectingCall, type PendingConnect } from '../../core/user-input/connect.ts';
import type { DataOf, RunEvent } from '../../core/chat/run-event.ts';
import type { RunSuspension, SuspendedRound } from '../../core/runs/suspended-run.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { Turn } from '../turns/request-turn.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';
import { messagesOfRound } from '../messages/round-messages.ts';
import { resultEvents, usageEvents } from '../tool-calls/run-round.ts';
import type { TurnSeparator } from '../turns/separate-turns.ts';
import { amidRound, toConnectingCalls, toWaitingCalls, type LoopState } from './loop-checkpoint.ts';
import { approvalLink, approvalWords, connectLinks, connectWords } from './waiting-words.ts';

interface RoundToSuspend {
  suspension: RunSuspension | undefined;
  turn: Turn;
  /** The calls of the turn that may run, including those of the caller's functions. */
  calls: ToolCall[];
  results: readonly ToolCallResult[];
  loop: LoopState;
  separator: TurnSeparator;
}

/**
 * Suspends a run whose round has waiting calls, and emits that. If some need their caller to connect, that comes first: approvals are requested when
 * the run is resumed. Returns false if it cannot be stored: then those calls are reported as not run, and the run continues.
 */
export async function suspendRun(round: RoundToSuspend, emit: Emit<ChatEvent>): Promise<boolean> {
  const connecting = toConnectingCalls(round.results);
  if (connecting.length > 0) return suspendToConnect(connecting, round, emit);
  await emit(
    round.results.flatMap(({ suspended }): ChatEvent[] =>
      suspended?.type === 'approval' && suspended.request !== undefined ? [{ type: 'run-event', event: suspended.request }] : [],
    ),
  );
  return suspendForApproval(round, emit);
}

async function suspendForApproval({ suspension, loop, separator, ...round }: RoundToSuspend, emit: Emit<ChatEvent>): Promise<boolean> {
  const calls = toWaitingCalls(round.results);
  let approval: PendingApproval;
  try {
    if (suspension === undefined) throw new GatewayError('conflict', 'This run cannot wait.');
    approval = await suspension.suspend(calls, amidRound(loop, round), { ...roundSoFar(round), said: approvalWords(calls) });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const responses = calls.map((call): RunEvent => {
      const data = { id: eventIdOf(call), tool: call.tool, decision: 'unavailable' as const, ...withinOf(call) };
      return { type: 'approval.response', data };
    });
    await emit(refusalEvents(error, responses, round.results));
    return false;
  }
  await emit(usageEvents(round.results));
  await separator.separate(emit)([{ type: 'text', text: `${approvalWords(calls)}\n\n${approvalLink(approval)}`, isNotice: true }]);
  await emit([
    { type: 'approval', approval },
    { type: 'finish', reason: 'stop' },
  ]);
  return true;
}

async function suspendToConnect(
  calls: readonly ConnectingCall[],
  { suspension, loop, separator, ...round }: RoundToSuspend,
  emit: Emit<ChatEvent>,
): Promise<boolean> {
  const said = connectWords(serversOf(calls));
  let connect: PendingConnect;
  try {
    if (suspension === undefined) throw new GatewayError('conflict', 'This run cannot wait.');
    connect = await suspension.suspendToConnect(calls, amidRound(loop, round), { ...roundSoFar(round), said });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const responses = calls.map((call): RunEvent => ({ type: 'connect.response', data: connectResponse(call, 'unavailable') }));
    await emit(refusalEvents(error, responses, round.results));
    return false;
  }
  await emit(usageEvents(round.results));
  await separator.separate(emit)([{ type: 'text', text: `${said}\n\n${connectLinks(connect)}` }]);
  await emit([
    { type: 'connect', connect },
    { type: 'finish', reason: 'stop' },
  ]);
  return true;
}

function refusalEvents({ code, message }: GatewayError, responses: readonly RunEvent[], results: readonly ToolCallResult[]): ChatEvent[] {
  const first: RunEvent[] = [{ type: 'warning', data: { code, message } }, ...responses];
  const unrun = results.filter(({ suspended }) => suspended !== undefined);
  return [...first.map((event): ChatEvent => ({ type: 'run-event', event })), ...unrun.flatMap(resultEvents)];
}

/** The data of `connect.response`. */
export function connectResponse(call: ConnectingCall, outcome: 'connected' | 'unavailable'): DataOf<'connect.response'> {
  return { id: eventIdOf(call), tool: call.tool, server: call.server, outcome, ...withinOf(call) };
}

/** Blocked calls wait like those that need an approval. */
function roundSoFar({ turn, calls, results }: Omit<RoundToSuspend, 'suspension' | 'loop' | 'separator'>): Omit<SuspendedRound, 'said'> {
  const messages = messagesOfRound(turn, calls, results);
  return { messages, open: results.flatMap(({ suspended }, index) => (suspended === undefined ? [] : [index + 1])) };
}
