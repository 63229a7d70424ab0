import type { Caller } from '../core/callers/caller.ts';
import type { ChatEvent } from '../core/chat/chat.ts';
import type { Metrics } from '../core/runs/metrics.ts';
import type { ModelRequestLog } from '../core/models/model-request-log.ts';
import type { RunEvent } from '../core/chat/run-event.ts';
import type { LoggedEvent, RunEnding } from '../core/runs/run-log.ts';
import { TokenTally } from './token-tally.ts';

interface RunStatsOptions {
  /** Milliseconds of a monotonic clock. */
  now: () => number;
  caller: Caller;
  /** As the request names it. */
  model: string;
  metrics?: Pick<Metrics, 'countRun' | 'countCall'> | undefined;
  /** The earlier events of a resumed run, which include its calls that waited. */
  earlier?: readonly LoggedEvent[] | undefined;
}

/** Time, tokens and counts of one run, for its log line and the metrics. It sees every event, thousands in a long answer. */
export class RunStats {
  readonly #options: RunStatsOptions;
  /** The servers of the calls in progress, by call id. Absent until there is one. */
  #servers: Map<unknown, string> | undefined;
  /** The client disconnected before the end of the answer. */
  isCutOff = false;
  #ending: RunEnding | undefined;
  #repairedSelections = 0;
  readonly #began: number;
  #firstTokenMs: number | undefined;
  readonly #tokens = new TokenTally();
  #rounds = 0;
  #toolCalls = 0;

  constructor(options: RunStatsOptions) {
    this.#options = options;
    this.#began = options.now();
    for (const event of options.earlier ?? []) this.#noteServer(event);
  }

  note(event: ChatEvent): void {
    if (this.#firstTokenMs === undefined && (event.type === 'text' || event.type === 'reasoning' || event.type === 'tool-call'))
      this.#firstTokenMs = this.#elapsed();
    if (event.type === 'run-event') this.#noteRunEvent(event.event);
  }

  /** Undefined until the run has ended. */
  get ending(): RunEnding | undefined {
    return this.#ending;
  }

  /** To be called once. */
  end(ending: RunEnding): void {
    this.#ending = ending;
    const code = 'error' in ending ? ending.error.code : undefined;
    this.#options.metrics?.countRun({
      caller: this.#options.caller,
      isResumed: this.#options.earlier !== undefined,
      toolCalls: this.#toolCalls,
      model: this.#options.model,
      outcome: ending.status,
      code,
      durationMs: this.#elapsed(),
      firstTokenMs: this.#firstTokenMs,
      modelRequests: this.#rounds,
      repairedSelections: this.#repairedSelections,
      ...this.#tokens.spent,
    });
  }

  #elapsed(): number {
    return this.#options.now() - this.#began;
  }

  #noteServer({ type, data }: Pick<LoggedEvent, 'type' | 'data'>): void {
    if (type === 'tool.call' && typeof data['server'] === 'string') (this.#servers ??= new Map()).set(data['id'], data['server']);
    else if (type === 'tool.result') this.#servers?.delete(data['id']);
  }

  #noteRunEvent(event: RunEvent): void {
    const { type, data } = event;
    if (type === 'tool.call') {
      this.#toolCalls += 1;
      this.#noteServer(event);
    } else if (type === 'tool.result') {
      const { id, tool, error, duration_ms: durationMs } = data;
      const server = this.#servers?.get(id);
      this.#noteServer(event);
      this.#options.metrics?.countCall({
        caller: this.#options.caller,
        server,
        tool,
        code: error?.code,
        durationMs,
      });
    } else if (type === 'selection' && data.repaired.length > 0) this.#repairedSelections += 1;
  }

  /** Wraps the log of model requests, to count them. */
  counting(log: ModelRequestLog | undefined): ModelRequestLog {
    const counted = this.#tokens.counting(log);
    return {
      begin: (data, sent, provider) => {
        this.#rounds += 1;
        return counted.begin(data, sent, provider);
      },
    };
  }

  /** `rounds`: model requests, those of selections included. `tool_calls`: executed by the gateway or the browser. */
  fields(): Record<string, string | number | undefined> {
    const { reported } = this.#tokens;
    const error = this.#ending !== undefined && 'error' in this.#ending ? this.#ending.error : undefined;
    return {
      duration_ms: this.#elapsed(),
      first_token_ms: this.#firstTokenMs,
      prompt_tokens: reported?.prompt_tokens,
      completion_tokens: reported?.completion_tokens,
      rounds: this.#rounds,
      tool_calls: this.#toolCalls,
      code: error?.code,
      error: error?.message,
    };
  }
}

/** The fields that identify a chat in the log, and the HTTP status of its answer. */
interface AnsweredChat {
  run_id: string;
  model: string;
  stream: boolean;
  caller?: string;
  /** The person, where the key speaks for several. */
  user?: string;
  /** Absent: HTTP. `page`: of an approval, for the run that it resumes. `background`: without a client. */
  over?: 'socket' | 'page' | 'background';
  status?: number;
}

/** The part of a logger that is needed here. */
export interface ChatLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Logs one line for a chat at its end. */
export function logChat(log: ChatLog, stats: RunStats, chat: AnsweredChat): void {
  const { ending, isCutOff } = stats;
  const { status } = chat;
  const fields = { ...chat, ...stats.fields() };
  if (isCutOff) log.info(fields, 'chat cut off');
  else if (ending?.status === 'cancelled') log.info(fields, 'chat cancelled');
  else if (status !== undefined && status >= 400 && status < 500) log.info(fields, 'chat refused');
  else if (ending?.status === 'failed' || (status ?? 200) >= 500) log.warn(fields, 'chat failed');
  else log.info(fields, ending?.status === 'waiting' ? 'chat waits for approval' : 'chat answered');
}
