import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { answerText } from './answer-text.ts';
import type { AnswerPlan } from './answer-text.ts';
import { chatCompletionsWire } from './chat-wires.ts';
import type { ChatWire } from './chat-wires.ts';

/** One chat answered. Times in milliseconds from the call on. */
export interface Answer {
  firstByteMs: number;
  totalMs: number;
  /** The body in the pieces in which it came. */
  pieces: Buffer[];
  bytes: number;
}

export interface Target {
  name: string;
  url: string;
  /** Of the process under test; undefined for the backend itself, which is no gateway. */
  pid: number | undefined;
  headers: Record<string, string>;
}

export interface Client {
  /** `body`: further fields of the request. Default: without tools. */
  ask(plan: AnswerPlan, stream: boolean, body?: object): Promise<Answer>;
  close(): Promise<void>;
}

/** Connections to one target that are kept alive; at most `connections` questions at the same time. */
export function createClient(target: Target, connections: number, wire: ChatWire = chatCompletionsWire): Client {
  const pool = new Pool(target.url, { connections, pipelining: 1, headersTimeout: 30_000, bodyTimeout: 30_000 });
  const headers = { 'content-type': 'application/json', ...target.headers };
  return {
    ask: (plan, stream, body = { tool_ids: [] }) =>
      dispatch(pool, { method: 'POST', path: wire.path, headers, body: JSON.stringify(wire.body(JSON.stringify(plan), stream, body)) }),
    close: () => pool.destroy(),
  };
}

/** Below `request`, because a load generator must cost less than what it loads. */
function dispatch(pool: Pool, options: Dispatcher.DispatchOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const pieces: Buffer[] = [];
    let bytes = 0;
    let status = 0;
    let firstByteMs = 0;
    pool.dispatch(options, {
      onRequestStart() {
        // undici insists on it.
      },
      onResponseStart(_controller, statusCode) {
        status = statusCode;
      },
      onResponseData(_controller, piece) {
        if (bytes === 0) firstByteMs = performance.now() - started;
        bytes += piece.byteLength;
        pieces.push(piece);
      },
      onResponseEnd() {
        if (status === 200) resolve({ firstByteMs, totalMs: performance.now() - started, pieces, bytes });
        else reject(new Error(`status ${status}: ${Buffer.concat(pieces).toString().slice(0, 500)}`));
      },
      onResponseError(_controller, error) {
        reject(error);
      },
    });
  });
}

/** @throws Error unless the answer is complete and its text is the plan's, to the last byte. */
export function checkAnswer(answer: Answer, plan: AnswerPlan, stream: boolean, wire: ChatWire = chatCompletionsWire): void {
  const body = Buffer.concat(answer.pieces).toString();
  if (wire.text(body, stream) !== answerText(plan)) throw new Error(`a wrong answer for ${plan.name}: ${body.slice(0, 500)}`);
}
