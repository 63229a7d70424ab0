import type { BrowserQuestion } from '../core/elicitation.ts';
import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';

export interface AskedQuestion {
  id: string;
  type: BrowserQuestion['type'];
  timeoutMs: number;
  /** Undefined: the browser has gone. */
  reply(answer: JsonObject | undefined): void;
  /** The limit has passed without an answer. Whoever asked knows by its own clock. */
  onExpired(): void;
}

/** What one session was asked and has not answered. Each question settles once. */
export interface AskedQuestions {
  /** False when there are too many, or the id is taken. */
  add(question: AskedQuestion): boolean;
  has(id: string): boolean;
  /** False when no question of this kind waits under the id. */
  settle(type: BrowserQuestion['type'], id: string, answer: JsonObject): boolean;
  /** Forgets a question without an answer, and gives its kind; undefined when none waits. */
  cancel(id: string): BrowserQuestion['type'] | undefined;
  /** The browser has gone. */
  settleAll(): void;
}

export function createAskedQuestions(now: () => number): AskedQuestions {
  const open = new Map<string, { question: AskedQuestion; deadline: number; timer: NodeJS.Timeout }>();

  function take(id: string): AskedQuestion | undefined {
    const entry = open.get(id);
    clearTimeout(entry?.timer);
    open.delete(id);
    return entry?.question;
  }

  return {
    add(question) {
      if (open.size >= limits.questionsPerSession || open.has(question.id)) return false;
      const timer = setTimeout(() => {
        open.delete(question.id);
        question.onExpired();
      }, question.timeoutMs);
      open.set(question.id, { question, deadline: now() + question.timeoutMs, timer });
      return true;
    },
    has: (id) => open.has(id),
    settle(type, id, answer) {
      const entry = open.get(id);
      // The clock decides and not the timer alone: a busy process may run its timers late.
      if (entry?.question.type !== type || now() >= entry.deadline) return false;
      take(id)?.reply(answer);
      return true;
    },
    cancel: (id) => take(id)?.type,
    settleAll() {
      for (const id of Array.from(open.keys())) take(id)?.reply(undefined);
    },
  };
}
