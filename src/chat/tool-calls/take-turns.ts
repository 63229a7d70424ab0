import { limits } from '../../core/limits.ts';
import type { Tool } from '../../core/tool.ts';

/**
 * Beside which other calls of its round a call may run. `reading`: beside others of its kind and `parallel` ones. `parallel`: the same, for a call that
 * may change something and of which somebody has said that its order does not matter. `alone`: beside none, in the order of the model.
 */
export type CallOrder = 'reading' | 'parallel' | 'alone';

export function orderOf(tool: Tool | undefined): CallOrder {
  if (tool?.isSequential === true) return 'alone';
  if (tool?.isReadOnly === true) return 'reading';
  return tool?.isParallel === true ? 'parallel' : 'alone';
}

/** `blocked`: it cannot begin, because the approval of a call before it comes in another request. */
export type TurnAnswer = 'go' | 'blocked';

/** One call's place in the order of its round. Each method is called at most once. */
export interface Turn {
  /** Resolves when it may be checked. */
  toCheck(): Promise<TurnAnswer>;
  /** Its check takes a human, for whom calls that only read do not wait. */
  waitForHuman(): void;
  /** Resolves when it may run. */
  toRun(): Promise<TurnAnswer>;
  /** It has settled. `suspended`: a decision on it or within it comes in another request. */
  end(how: 'over' | 'suspended'): void;
}

/** The turn of a call that has no others beside it. */
export const onlyTurn: Turn = {
  toCheck: async () => 'go',
  waitForHuman: () => undefined,
  toRun: async () => 'go',
  end: () => undefined,
};

export interface CallInRound {
  order: CallOrder;
  /** Its checks come when its turn comes, because they depend on the calls before it; otherwise all are checked at once. */
  isCheckedLate: boolean;
}

type State = 'unchecked' | 'checking' | 'asking' | 'ready' | 'running' | 'over' | 'suspended';

interface Entry extends CallInRound {
  state: State;
  /** While it waits for its turn. */
  answer?: (answer: TurnAnswer) => void;
}

/**
 * The turns of a round's calls, so that the end is that of one call after another: calls that only read run together, at most
 * `limits.parallelToolCalls` at once; every other call waits for all before it, and all behind it wait for it. What waits for a human's approval
 * holds up all calls after it, except those that only read. Nothing begins before `open`.
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
      // A call that was cancelled meanwhile is over.
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

/** A call that only reads waits neither for a human nor for what a human holds up. */
function beforeApprovals(entries: readonly Entry[]): readonly Entry[] {
  const first = entries.findIndex(({ state }) => state === 'asking' || state === 'suspended');
  return first < 0 ? entries : entries.slice(0, first);
}

function isUnderWay(state: State): boolean {
  return state === 'checking' || state === 'asking' || state === 'running';
}
