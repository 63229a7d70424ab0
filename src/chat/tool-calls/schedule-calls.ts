import { limits } from '../../core/limits.ts';
import type { Tool } from '../../core/tools/tool.ts';

/**
 * Which other calls of its round a call may run in parallel with. `reading`: other read-only and `parallel` calls. `parallel`: the same, for a call
 * with side effects whose order is declared irrelevant. `alone`: none; such calls run in the model's order.
 */
type CallOrder = 'reading' | 'parallel' | 'alone';

export function orderOf(tool: Tool | undefined): CallOrder {
  if (tool?.isSequential === true) return 'alone';
  if (tool?.isReadOnly === true) return 'reading';
  return tool?.isParallel === true ? 'parallel' : 'alone';
}

/** `blocked`: the call cannot start, because an earlier call will be approved in another request. */
export type SlotAnswer = 'go' | 'blocked';

/** The position of one call in the schedule of its round. Each method is called at most once. */
export interface CallSlot {
  /** Resolves when the call may be checked (hooks and approval). */
  toCheck(): Promise<SlotAnswer>;
  /** Its check needs a person; read-only calls after it do not wait for that. */
  waitForPerson(): void;
  /** Resolves when the call may run. */
  toRun(): Promise<SlotAnswer>;
  /** The call has settled. `suspended`: a decision on it, or on a nested call, will come in another request. */
  end(how: 'over' | 'suspended'): void;
}

/** The slot of a call without siblings. */
export const freeSlot: CallSlot = {
  toCheck: async () => 'go',
  waitForPerson: () => undefined,
  toRun: async () => 'go',
  end: () => undefined,
};

export interface CallInRound {
  order: CallOrder;
  /** It is checked only when it may run, because the check depends on earlier calls; other calls are checked at once. */
  isCheckedLate: boolean;
}

type CallState = 'unchecked' | 'checking' | 'asking' | 'ready' | 'running' | 'over' | 'suspended';

interface ScheduledCall extends CallInRound {
  state: CallState;
  /** Set while the call waits. */
  answer?: (answer: SlotAnswer) => void;
}

/**
 * Schedules the calls of a round so that the effect is that of running them in order. Read-only calls run in parallel, at most
 * `limits.parallelToolCalls` at a time; every other call waits for all before it, and all after it wait for it. A call that waits for approval holds
 * up all later calls except read-only ones. Nothing starts before `open`.
 */
export function scheduleCalls(calls: readonly CallInRound[]): { slots: CallSlot[]; open: () => void } {
  const scheduled = calls.map((call): ScheduledCall => ({ ...call, state: 'unchecked' }));
  let isOpen = false;

  function advance(): void {
    if (!isOpen) return;
    for (const [index, call] of scheduled.entries()) {
      if (call.state === 'unchecked' && (!call.isCheckedLate || mayRun(index, scheduled))) proceed(call, 'checking');
      else if (call.state === 'ready' && mayRun(index, scheduled)) proceed(call, 'running');
    }
    if (!scheduled.some(({ state }) => isUnderWay(state))) for (const { answer } of scheduled) answer?.('blocked');
  }
  function proceed(call: ScheduledCall, state: CallState): void {
    call.state = state;
    call.answer?.('go');
    delete call.answer;
  }
  function waitIn(call: ScheduledCall, state: CallState): Promise<SlotAnswer> {
    const { promise, resolve } = Promise.withResolvers<SlotAnswer>();
    call.state = state;
    call.answer = resolve;
    advance();
    return promise;
  }

  const slots = scheduled.map((call): CallSlot => ({
    toCheck: () => waitIn(call, 'unchecked'),
    toRun: () => waitIn(call, 'ready'),
    waitForPerson() {
      // The call was cancelled in the meantime.
      if (call.state !== 'checking') return;
      call.state = 'asking';
      advance();
    },
    end(how) {
      call.state = how;
      delete call.answer;
      advance();
    },
  }));
  return {
    slots,
    open() {
      isOpen = true;
      advance();
    },
  };
}

function mayRun(index: number, calls: readonly ScheduledCall[]): boolean {
  const call = calls[index];
  if (call === undefined) return false;
  const running = calls.filter(({ state }) => state === 'running');
  const before = calls.slice(0, index);
  const isOver = ({ state }: ScheduledCall): boolean => state === 'over';
  if (call.order === 'alone') return running.length === 0 && before.every(isOver);
  if (running.length >= limits.parallelToolCalls || running.some(({ order }) => order === 'alone')) return false;
  const awaited = call.order === 'reading' ? beforeApprovals(before) : before;
  return awaited.filter(({ order }) => order === 'alone').every(isOver);
}

/** Read-only calls do not wait for a person, nor for calls that are held up by one. */
function beforeApprovals(calls: readonly ScheduledCall[]): readonly ScheduledCall[] {
  const first = calls.findIndex(({ state }) => state === 'asking' || state === 'suspended');
  return first < 0 ? calls : calls.slice(0, first);
}

function isUnderWay(state: CallState): boolean {
  return state === 'checking' || state === 'asking' || state === 'running';
}
