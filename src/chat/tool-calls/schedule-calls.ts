import { limits } from '../../core/limits.ts';
import type { Tool } from '../../core/tool.ts';

/**
 * How a call stands to the others of its round. `reading`: beside others of its kind and `parallel` ones. `parallel`: the same, for a call that
 * may change something and of which somebody has said that its order does not matter. `alone`: beside none, in the order of the model.
 */
export type CallOrder = 'reading' | 'parallel' | 'alone';

/** A call of a round, as far as its place in the order is concerned. Nothing of it may reject. */
export interface ScheduledCall {
  order: CallOrder;
  /** Its checks come when its turn comes, because they depend on what stands before it; otherwise all are checked at once. */
  isCheckedLate: boolean;
  /** Asks whether it may run; `onAsked` is told when that takes a human. */
  check(onAsked: () => void): Promise<CheckedCall>;
  run(): Promise<EndedCall>;
  /** It cannot begin, because it stands behind a call whose approval comes in another request. */
  hold(): void;
}

/** `over`: it has settled without running. `suspended`: the decision comes in another request. */
export type CheckedCall = 'ready' | 'over' | 'suspended';
/** `suspended`: calls within it wait for decisions that come in another request. */
export type EndedCall = 'over' | 'suspended';

type State = 'unchecked' | 'checking' | 'asking' | 'ready' | 'running' | 'over' | 'suspended';

interface Entry {
  call: ScheduledCall;
  state: State;
}

export function orderOf(tool: Tool | undefined): CallOrder {
  if (tool?.isSequential === true) return 'alone';
  if (tool?.isReadOnly === true) return 'reading';
  return tool?.isParallel === true ? 'parallel' : 'alone';
}

/**
 * Runs the calls of a round so that the end is that of one call after another: calls that only read run together, at most
 * `limits.parallelToolCalls` at once; every other call waits for all before it, and all behind it wait for it. What waits for a human's approval
 * holds up whatever stands behind it, except calls that only read. Resolves when each call is over, suspended or held.
 */
export async function scheduleCalls(calls: readonly ScheduledCall[]): Promise<void> {
  const entries = calls.map((call): Entry => ({ call, state: 'unchecked' }));
  const { promise: finished, resolve } = Promise.withResolvers<undefined>();

  function check(entry: Entry): void {
    entry.state = 'checking';
    const onAsked = (): void => {
      if (entry.state !== 'checking') return;
      entry.state = 'asking';
      advance();
    };
    void entry.call.check(onAsked).then((checked) => {
      entry.state = checked;
      advance();
    });
  }
  function run(entry: Entry): void {
    entry.state = 'running';
    void entry.call.run().then((ended) => {
      entry.state = ended;
      advance();
    });
  }
  function advance(): void {
    for (const [index, entry] of entries.entries()) {
      if (!isTurnOf(index, entries)) continue;
      if (entry.state === 'unchecked') check(entry);
      else if (entry.state === 'ready') run(entry);
    }
    if (entries.some(({ state }) => isUnderWay(state))) return;
    for (const { call, state } of entries) if (state === 'ready' || state === 'unchecked') call.hold();
    resolve(undefined);
  }

  for (const entry of entries) if (entry.state === 'unchecked' && !entry.call.isCheckedLate) check(entry);
  advance();
  await finished;
}

function isTurnOf(index: number, entries: readonly Entry[]): boolean {
  const entry = entries[index];
  if (entry === undefined || (entry.state !== 'ready' && entry.state !== 'unchecked')) return false;
  const running = entries.filter(({ state }) => state === 'running');
  const before = entries.slice(0, index);
  const isOver = ({ state }: Entry): boolean => state === 'over';
  if (entry.call.order === 'alone') return running.length === 0 && before.every(isOver);
  if (running.length >= limits.parallelToolCalls || running.some(({ call }) => call.order === 'alone')) return false;
  const awaited = entry.call.order === 'reading' ? beforeApprovals(before) : before;
  return awaited.filter(({ call }) => call.order === 'alone').every(isOver);
}

/** Whoever only reads waits neither for a human nor for what a human holds up. */
function beforeApprovals(entries: readonly Entry[]): readonly Entry[] {
  const first = entries.findIndex(({ state }) => state === 'asking' || state === 'suspended');
  return first < 0 ? entries : entries.slice(0, first);
}

function isUnderWay(state: State): boolean {
  return state === 'checking' || state === 'asking' || state === 'running';
}
