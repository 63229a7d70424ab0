import type { ElicitationRequest } from '../core/elicitation.ts';
import type { JsonObject } from '../shared/json.ts';
import { limits } from '../core/limits.ts';

export interface OpenElicitation {
  id: string;
  type: ElicitationRequest['type'];
  timeoutMs: number;
  /** Undefined: the browser has gone. */
  reply(answer: JsonObject | undefined): void;
  /** The limit has passed without an answer. Whoever asked knows by its own clock. */
  onExpired(): void;
}

/** What one session was asked and has not answered. Each question settles once. */
export interface OpenElicitations {
  /** False when there are too many, or the id is taken. */
  add(question: OpenElicitation): boolean;
  has(id: string): boolean;
  /** False when no question of this kind waits under the id. */
  settle(type: ElicitationRequest['type'], id: string, answer: JsonObject): boolean;
  /** Forgets a question without an answer, and gives its kind; undefined when none waits. */
  cancel(id: string): ElicitationRequest['type'] | undefined;
  /** The browser has gone. */
  settleAll(): void;
}

export function createOpenElicitations(now: () => number): OpenElicitations {
  const open = new Map<string, { question: OpenElicitation; deadline: number; timer: NodeJS.Timeout }>();

  function take(id: string): OpenElicitation | undefined {
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
