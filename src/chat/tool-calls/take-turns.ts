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

/** `blocked`: it cannot start, because an earlier call will be approved in another request. */
export type TurnAnswer = 'go' | 'blocked';

/** One call's turn in its round. Each method is called at most once. */
export interface Turn {
  /** Resolves when the call may be checked (hooks and approval). */
  toCheck(): Promise<TurnAnswer>;
  /** Its check needs a human; read-only calls after it do not wait for that. */
  waitForHuman(): void;
  /** Resolves when the call may run. */
  toRun(): Promise<TurnAnswer>;
  /** The call has settled. `suspended`: a decision on it, or on a nested call, will come in another request. */
  end(how: 'over' | 'suspended'): void;
}

/** The turn of a call without siblings. */
export const onlyTurn: Turn = {
  toCheck: async () => 'go',
  waitForHuman: () => undefined,
  toRun: async () => 'go',
  end: () => undefined,
};

export interface CallInRound {
  order: CallOrder;
  /** It is checked only when its turn comes, because the check depends on earlier calls; other calls are checked at once. */
  isCheckedLate: boolean;
}

type State = 'unchecked' | 'checking' | 'asking' | 'ready' | 'running' | 'over' | 'suspended';

interface Entry extends CallInRound {
  state: State;
  /** Set while it waits for its turn. */
  answer?: (answer: TurnAnswer) => void;
}

/**
 * Schedules the calls of a round so that the effect is that of running them in order. Read-only calls run in parallel, at most
 * `limits.parallelToolCalls` at a time; every other call waits for all before it, and all after it wait for it. A call that waits for approval holds
 * up all later calls except read-only ones. Nothing starts before `open`.
 */
export function takeTurns(calls: readonly CallInRound[]): { turns: Turn[]; open: () => void } {
  const entries = calls.map((call): Entry => ({ ...call, state: 'unchecked' }));
  let isOpen = false;

  function advance(): void {
    if (!isOpen) return;
    for (const [index, entry] of entries.entries()) {
      if (entry.state === 'unchecked' && (!entry.isCheckedLate || isTurnOf(index, entries))) goOn(entry, 'checking');
      else if (entry.state === 'ready' && isTurnOf(index, entries)) goOn(entry, 'running');
    }
    if (!entries.some(({ state }) => isUnderWay(state))) for (const { answer } of entries) answer?.('blocked');
  }
  function goOn(entry: Entry, state: State): void {
    entry.state = state;
    entry.answer?.('go');
    delete entry.answer;
  }
  function waitIn(entry: Entry, state: State): Promise<TurnAnswer> {
    const { promise, resolve } = Promise.withResolvers<TurnAnswer>();
    entry.state = state;
    entry.answer = resolve;
    advance();
    return promise;
  }

  const turns = entries.map((entry): Turn => ({
    toCheck: () => waitIn(entry, 'unchecked'),
    toRun: () => waitIn(entry, 'ready'),
    waitForHuman() {
      // The call was cancelled meanwhile.
      if (entry.state !== 'checking') return;
      entry.state = 'asking';
      advance();
    },
    end(how) {
      entry.state = how;
      delete entry.answer;
      advance();
    },
  }));
  return {
    turns,
    open() {
      isOpen = true;
      advance();
    },
  };
}

function isTurnOf(index: number, entries: readonly Entry[]): boolean {
  const entry = entries[index];
  if (entry === undefined) return false;
  const running = entries.filter(({ state }) => state === 'running');
  const before = entries.slice(0, index);
  const isOver = ({ state }: Entry): boolean => state === 'over';
  if (entry.order === 'alone') return running.length === 0 && before.every(isOver);
  if (running.length >= limits.parallelToolCalls || running.some(({ order }) => order === 'alone')) return false;
  const awaited = entry.order === 'reading' ? beforeApprovals(before) : before;
  return awaited.filter(({ order }) => order === 'alone').every(isOver);
}

/** Read-only calls do not wait for a human, nor for calls that are held up by one. */
function beforeApprovals(entries: readonly Entry[]): readonly Entry[] {
  const first = entries.findIndex(({ state }) => state === 'asking' || state === 'suspended');
  return first < 0 ? entries : entries.slice(0, first);
}

function isUnderWay(state: State): boolean {
  return state === 'checking' || state === 'asking' || state === 'running';
}
