import type { ApprovalAnswer, WaitingRun, WaitingRunStore } from '../core/approval.ts';
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

  return {
    async keep(run, { maxOfCaller, maxCharacters }) {
      const others = [...entries].filter(([id, { isOpen }]) => isOpen && id !== run.id).map(([, entry]) => entry);
      const text = JSON.stringify(run);
      const characters = others.reduce((sum, other) => sum + other.text.length, text.length);
      const isTooMany = others.filter(({ callerId }) => callerId === run.callerId).length >= maxOfCaller;
      if (isTooMany || characters > maxCharacters) return false;
      const { callerId, waitId, expires } = run;
      entries.set(run.id, { callerId, waitId, expires, isOpen: true, text, answers: new Map() });
      return true;
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
    async close(id) {
      const entry = entries.get(id);
      if (entry?.isOpen !== true) return false;
      shut(entry);
      return true;
    },
    async openIds(time) {
      return [...entries].flatMap(([id, { isOpen, expires }]) => (isOpen && expires >= time ? [id] : []));
    },
    async prune(time) {
      for (const [id, { expires }] of entries) if (expires < time) entries.delete(id);
    },
  };
}
