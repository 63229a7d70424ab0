import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ChatEvent } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { StartedRun } from '../../runs/active-runs.ts';
import { logChat } from '../../runs/run-stats.ts';
import { forbidRetry, suppressErrorLine, logInternalError, toGatewayError } from '../error-handler.ts';
import type { AnswerFormat, AnswerHead } from './answer-format.ts';
import { createPartialRunSummary } from './partial-run-summary.ts';
import { streamReply } from './stream-reply.ts';

export interface AnswerOptions {
  stallMs: number;
  now: () => number;
}

/** How the answer of one run is to look. */
export interface AnswerForm {
  model: string;
  stream: boolean;
  format: AnswerFormat;
}

/** Writes a run as one body, or as a stream. The controller is aborted when the client leaves. */
export type AnswerRun = (
  client: { request: FastifyRequest; reply: FastifyReply; leave: AbortController },
  started: StartedRun,
  form: AnswerForm,
) => Promise<unknown>;

export function createAnswerRun(options: AnswerOptions): AnswerRun {
  const loggedWarnings = new Set<string>();
  return async ({ request, reply, leave }, started, { model, stream, format }) => {
    const { run, stats, created } = started;
    reply.header('x-toolwharf-run-id', run.runId);
    // Where OpenAI's SDKs look for it.
    reply.header('x-request-id', request.id);
    reply.raw.once('close', () => {
      const { statusCode: status, writableFinished: isComplete } = reply.raw;
      logChat(request.log, stats, { run_id: run.runId, model, stream, status, isCutOff: !isComplete });
      // An answer that went out whole has nothing left to abort.
      if (!isComplete) leave.abort(new DOMException('The client disconnected', 'AbortError'));
    });
    const warn = createWarningLog(request, run.runId, loggedWarnings);
    const partial = createPartialRunSummary(run.runId);
    const watch = (event: ChatEvent): void => {
      if (event.type === 'source') partial.note(event);
      if (event.type !== 'run-event') return;
      warn(event);
      partial.note(event);
      if (event.event.type === 'tool.call' && !reply.raw.headersSent) forbidRetry(reply);
    };
    const head: AnswerHead = { runId: run.runId, created: created ?? Math.floor(options.now() / 1000), model };
    // A client that left before this is not heard again.
    if (reply.raw.destroyed) leave.abort(new DOMException('The client disconnected', 'AbortError'));
    try {
      if (stream) {
        const encoder = format.stream(head);
        return await streamReply(reply, started.stream, {
          encoder,
          watch,
          failure: (error) => encoder.failure(partial.addToFrame(loggedError(error, request, leave.signal))),
          stallMs: options.stallMs,
          headersMs: limits.headersDelayMs,
          keepAliveMs: limits.keepAliveMs,
          leave,
        });
      }
      const collector = format.collect(head);
      await started.stream((events) => {
        for (const event of events) {
          watch(event);
          collector.add(event);
        }
        return undefined;
      });
      return collector.body();
    } catch (error) {
      suppressErrorLine(request);
      // Nobody is there to read an answer; Fastify only needs to know that none is coming.
      if (leave.signal.aborted && reply.raw.destroyed) return reply.hijack();
      throw partial.addTo(leave.signal.reason instanceof GatewayError ? leave.signal.reason : error, request.id);
    }
  };
}

function loggedError(error: unknown, request: FastifyRequest, signal: AbortSignal): GatewayError {
  const shown = toGatewayError(signal.aborted ? signal.reason : error, request.id);
  logInternalError(request.log, error, shown);
  return shown;
}

/** Beyond this number, causes are forgotten, and may be logged again. */
const maxLoggedWarnings = 1_000;

/** A run's warnings concern the operator too, who does not see its events: logged once a cause, or a dead server would fill the log. */
function createWarningLog({ log }: FastifyRequest, runId: string, logged: Set<string>): (event: ChatEvent) => void {
  return (event) => {
    if (event.type !== 'run-event' || event.event.type !== 'warning') return;
    const { code, message } = event.event.data;
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    const cause = `${JSON.stringify(code)} ${text}`;
    if (logged.has(cause)) return;
    if (logged.size >= maxLoggedWarnings) logged.clear();
    logged.add(cause);
    log.warn({ run_id: runId, code }, text);
  };
}
