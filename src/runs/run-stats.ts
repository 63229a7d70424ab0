import type { ChatEvent, Usage } from '../core/chat.ts';
import type { ModelRequestLog } from '../core/model-request-log.ts';
import type { RunEnding } from '../core/run-log.ts';
import { addUsage } from '../core/usage.ts';

/** What one run has taken so far, for its line in the log. Sees every event, thousands in a long answer. */
export class RunStats {
  /** Set when the run has ended. */
  ending: RunEnding | undefined;
  readonly #now: () => number;
  readonly #began: number;
  #firstTokenMs: number | undefined;
  #usage: Usage | undefined;
  #rounds = 0;
  #toolCalls = 0;

  /** `now`: milliseconds, any zero. */
  constructor(now: () => number) {
    this.#now = now;
    this.#began = now();
  }

  note(event: ChatEvent): void {
    if (this.#firstTokenMs === undefined && (event.type === 'text' || event.type === 'reasoning' || event.type === 'tool-call'))
      this.#firstTokenMs = this.#now() - this.#began;
    if (event.type === 'usage') this.#usage = addUsage(this.#usage, event.usage);
    else if (event.type === 'run-event' && event.event.type === 'tool.call') this.#toolCalls += 1;
  }

  /** The same log, which also counts the model requests. */
  counting(log: ModelRequestLog | undefined): ModelRequestLog | undefined {
    return (
      log && {
        begin: (data) => {
          this.#rounds += 1;
          return log.begin(data);
        },
      }
    );
  }

  /** `rounds`: model requests, those of selections included. `tool_calls`: executed by the gateway or the browser. */
  fields(): Record<string, number | undefined> {
    return {
      duration_ms: this.#now() - this.#began,
      first_token_ms: this.#firstTokenMs,
      prompt_tokens: this.#usage?.prompt_tokens,
      completion_tokens: this.#usage?.completion_tokens,
      rounds: this.#rounds,
      tool_calls: this.#toolCalls,
    };
  }
}

/** What identifies a chat, and how its answer went out: with an HTTP status, or not to its end. */
export interface AnsweredChat {
  run_id: string;
  model: string;
  stream: boolean;
  caller?: string;
  /** Absent: HTTP. */
  over?: 'socket';
  status?: number;
}

/** The part of a log that is needed here. */
export interface ChatLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The one line of a chat, at its end. */
export function logChat(log: ChatLog, stats: RunStats, { isCutOff = false, ...chat }: AnsweredChat & { isCutOff?: boolean }): void {
  const { ending } = stats;
  const { status } = chat;
  const fields = { ...chat, ...stats.fields() };
  const error = ending !== undefined && 'error' in ending ? { code: ending.error.code, error: ending.error.message } : {};
  if (isCutOff) log.info({ ...fields, ...error }, 'chat cut off');
  else if (ending?.status === 'cancelled') log.info({ ...fields, ...error }, 'chat cancelled');
  else if (status !== undefined && status >= 400 && status < 500) log.info({ ...fields, ...error }, 'chat refused');
  else if (ending?.status === 'failed' || (status ?? 200) >= 500) log.warn({ ...fields, ...error }, 'chat failed');
  else log.info(fields, ending?.status === 'waiting' ? 'chat waits for approval' : 'chat answered');
}
