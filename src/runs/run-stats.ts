import type { ChatEvent, Usage } from '../core/chat.ts';
import type { ModelRequestLog } from '../core/model-request-log.ts';
import type { RunEnding } from '../core/run-log.ts';
import { addUsage } from '../core/usage.ts';

/** Time, tokens and counts of one run, for its log line. It sees every event, thousands in a long answer. */
export class RunStats {
  /** Set when the run has ended. */
  ending: RunEnding | undefined;
  readonly #now: () => number;
  readonly #began: number;
  #firstTokenMs: number | undefined;
  #usage: Usage | undefined;
  #rounds = 0;
  #toolCalls = 0;

  /** `now` returns milliseconds of a monotonic clock. */
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

  /** Wraps the log of model requests, to count them. */
  counting(log: ModelRequestLog | undefined): ModelRequestLog | undefined {
    return (
      log && {
        begin: (data, sent) => {
          this.#rounds += 1;
          return log.begin(data, sent);
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

/** The fields that identify a chat in the log, and the HTTP status of its answer. */
export interface AnsweredChat {
  run_id: string;
  model: string;
  stream: boolean;
  caller?: string;
  /** Absent: HTTP. `page`: of an approval, for the run that it resumes. */
  over?: 'socket' | 'page';
  status?: number;
}

/** The part of a logger that is needed here. */
export interface ChatLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Logs one line for a chat at its end. `isCutOff`: the client disconnected before the end of the answer. */
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
