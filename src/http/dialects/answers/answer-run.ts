import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CallerWarning } from '../../../core/chat/caller-warning.ts';
import type { ChatEvent } from '../../../core/chat/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import type { StartedRun } from '../../../runs/started-run.ts';
import { logChat } from '../../../runs/run-stats.ts';
import { forbidRetry, suppressErrorLine } from '../../errors/error-handler.ts';
import type { AnswerFormat, AnswerHead } from './answer-format.ts';
import { PartialRunSummary } from './partial-run-summary.ts';
import { errorOfRun } from './error-of-run.ts';
import { isBeforeModel, streamReply } from './stream-reply.ts';

/** Response headers are sent after this time at the latest, so that proxies in front do not time out. */
export const headersDelayMs = 10_000;

export interface AnswerOptions {
  stallMs: number;
  now: () => number;
}

/** About five milliseconds of serializing and writing. */
const longAnswerCharacters = 1_000_000;

/** The format of one answer. */
export interface AnswerForm {
  model: string;
  stream: boolean;
  format: AnswerFormat;
}

/** Answers a request with a run, as one body or as a stream. The controller is aborted when the client disconnects. */
export type AnswerRun = (
  client: { request: FastifyRequest; reply: FastifyReply; controller: AbortController },
  started: StartedRun,
  form: AnswerForm,
) => Promise<unknown>;

export function createAnswerRun(options: AnswerOptions): AnswerRun {
  const loggedWarnings = new Set<string>();
  return async ({ request, reply, controller }, started, { model, stream, format }) => {
    const { run, stats, created } = started;
    // Waiting runs do not count against the caller's limits, and an interrupted run frees its slot at once.
    run.whenOver?.(() => request.admission?.release());
    reply.header('x-toolwharf-run-id', run.runId);
    // OpenAI's SDKs read this one.
    reply.header('x-request-id', request.id);
    reply.raw.once('close', () => {
      const { statusCode: status, writableFinished: isComplete } = reply.raw;
      stats.isCutOff = !isComplete;
      logChat(request.log, stats, { run_id: run.runId, model, stream, status });
      // After a complete answer there is nothing to abort.
      if (!isComplete) controller.abort(new DOMException('The client disconnected', 'AbortError'));
    });
    const partial = new PartialRunSummary(run.runId);
    const watch = (event: ChatEvent): void => {
      if (event.type === 'source') partial.note(event);
      if (event.type !== 'run-event') return;
      if (event.event.type === 'warning') logWarning(request, { runId: run.runId, warning: event.event.data, logged: loggedWarnings });
      partial.note(event);
      if (event.event.type === 'tool.call' && !reply.raw.headersSent) forbidRetry(reply);
    };
    const time = created ?? Math.floor(options.now() / 1000);
    const head: AnswerHead = { runId: run.runId, requestId: request.id, created: time, now: options.now, model, thoughts: run.thoughts };
    // The client disconnected before this point, so no `close` event will follow.
    if (reply.raw.destroyed) controller.abort(new DOMException('The client disconnected', 'AbortError'));
    try {
      if (stream) {
        const encoder = format.stream(head);
        return await streamReply(reply, started.stream, {
          encoder,
          watch,
          isBeforeContent: isBeforeModel,
          failure: (error) => encoder.failure(partial.addToFrame(errorOfRun(error, controller.signal, request))),
          stallMs: options.stallMs,
          headersMs: headersDelayMs,
          keepAliveMs: limits.keepAliveMs,
          controller,
        });
      }
      const collector = format.collect(head);
      let characters = 0;
      await started.stream((events) => {
        for (const event of events) {
          watch(event);
          collector.add(event);
          if (event.type === 'text') characters += event.text.length;
        }
        return undefined;
      });
      return characters > longAnswerCharacters ? await serializeInTurns(reply, collector.body()) : collector.body();
    } catch (error) {
      suppressErrorLine(request);
      // The client is gone, so there is no answer; `hijack` tells Fastify not to wait for one.
      if (controller.signal.aborted && reply.raw.destroyed) return reply.hijack();
      throw partial.addTo(controller.signal.reason instanceof GatewayError ? controller.signal.reason : error, request.id);
    }
  };
}

/** Fastify would serialize, measure and write a long answer in one tick of the event loop, which takes tens of milliseconds for megabytes. */
async function serializeInTurns(reply: FastifyReply, body: JsonObject): Promise<Buffer> {
  await nextTurn();
  const text = JSON.stringify(body);
  await nextTurn();
  const bytes = Buffer.from(text);
  await nextTurn();
  reply.type('application/json; charset=utf-8');
  return bytes;
}

/** Beyond this number the set is cleared, and warnings may be logged again. */
const maxLoggedWarnings = 1_000;

/** Logs a run's warning for the operator, each cause only once, because an unreachable server would fill the log. */
export function logWarning(
  { log }: Pick<FastifyRequest, 'log'>,
  { runId, warning: { code, message }, logged }: { runId: string; warning: CallerWarning; logged: Set<string> },
): void {
  const cause = `${code} ${message}`;
  if (logged.has(cause)) return;
  if (logged.size >= maxLoggedWarnings) logged.clear();
  logged.add(cause);
  log.warn({ run_id: runId, code }, message);
}
