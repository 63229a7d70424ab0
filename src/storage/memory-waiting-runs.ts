import type { ApprovalAnswer } from '../core/approval.ts';
import type { WaitingRun, WaitingRunStore } from '../core/suspended-run.ts';
import { chooseLossesOfOthers, sharesOf } from '../shared/fair-shares.ts';
import { effectOf } from './decision-effect.ts';

interface Entry {
  callerId: string;
  waitId: string;
  expires: number;
  isOpen: boolean;
  /** JSON, so that nothing is shared with what was kept; empty once nobody can go on with it. */
  text: string;
  answers: Map<string, ApprovalAnswer>;
}

/** Runs that wait as long as the process lives: the twin of those in SQLite. */
export function createMemoryWaitingRuns(): WaitingRunStore {
  const entries = new Map<string, Entry>();

  function shut(entry: Entry): void {
    entry.isOpen = false;
    entry.text = '';
    entry.answers.clear();
  }

  function close(id: string): boolean {
    const entry = entries.get(id);
    if (entry?.isOpen !== true) return false;
    shut(entry);
    return true;
  }

  return {
    async keep(run, { maxRunCharacters, maxOfCaller, maxCharacters }) {
      const { callerId, waitId, expires } = run;
      const text = JSON.stringify(run);
      if (text.length > maxRunCharacters) return { type: 'too_large' };
      const others = [...entries].filter(([id, { isOpen }]) => isOpen && id !== run.id).map(([id, entry]) => ({ id, ...entry }));
      if (others.filter((other) => other.callerId === callerId).length >= maxOfCaller) return { type: 'refused' };
      const shares = sharesOf(others.toSorted(soonestFirst), (other) => other.text.length);
      const bounds = { entries: Infinity, characters: maxCharacters };
      const losses = chooseLossesOfOthers({ owner: callerId, characters: text.length }, shares, bounds);
      if (losses === undefined) return { type: 'refused' };
      const givenUp = losses.map(({ id }) => id);
      for (const id of givenUp) close(id);
      entries.set(run.id, { callerId, waitId, expires, isOpen: true, text, answers: new Map() });
      return { type: 'kept', givenUp };
    },
    async find(id) {
      const entry = entries.get(id);
      if (entry === undefined) return undefined;
      const { callerId, isOpen, text } = entry;
      return isOpen ? { callerId, type: 'open', run: JSON.parse(text) as WaitingRun } : { callerId, type: 'closed' };
    },
    async decide({ id, waitId, callId }, answer) {
      const entry = entries.get(id);
      if (entry === undefined || !entry.isOpen || entry.waitId !== waitId) return { type: 'closed' };
      const effect = effectOf(JSON.parse(entry.text) as WaitingRun, entry.answers, { callId, answer });
      if (effect.type === 'complete') shut(entry);
      if (effect.type === 'noted') entry.answers.set(callId, structuredClone(answer));
      return effect;
    },
    close: async (id) => close(id),
    async openIds(time) {
      return [...entries].flatMap(([id, { isOpen, expires }]) => (isOpen && expires >= time ? [id] : []));
    },
    async prune(time) {
      for (const [id, { expires }] of entries) if (expires < time) entries.delete(id);
    },
  };
}

/** All wait equally long, so the one that expires first is the oldest. */
function soonestFirst(left: { id: string; expires: number }, right: { id: string; expires: number }): number {
  if (left.expires !== right.expires) return left.expires - right.expires;
  return left.id < right.id ? -1 : 1;
}
