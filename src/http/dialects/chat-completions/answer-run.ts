import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { ChatEvent } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { forbidRetry, leaveToOwnLine, logOwnFault, toGatewayError } from '../../error-handler.ts';
import { collectCompletion, createChunkEncoder, errorFrame } from './openai-wire.ts';
import type { ChunkOptions } from './openai-wire.ts';
import { createPartialRunSummary } from './partial-run-summary.ts';
import type { StartedRun } from '../../../runs/active-runs.ts';
import { logChat } from '../../../runs/run-stats.ts';
import { streamReply } from './stream-reply.ts';

export interface AnswerOptions {
  stallMs: number;
  now: () => number;
}

/** How the answer of one run is to look. */
export interface AnswerForm extends ChunkOptions {
  model: string;
  stream: boolean;
}

/** Writes a run as a completion, or as a stream of chunks. The controller is aborted when the client leaves. */
export type AnswerRun = (
  { request, reply, leave }: { request: FastifyRequest; reply: FastifyReply; leave: AbortController },
  started: StartedRun,
  form: AnswerForm,
) => Promise<unknown>;

export function createAnswerRun(options: AnswerOptions): AnswerRun {
  const toldWarnings = new LRUCache<string, true>({ max: maxToldWarnings });
  return async ({ request, reply, leave }, { run, events, stats, created }, form) => {
    reply.header('x-toolwharf-run-id', run.runId);
    // Where OpenAI's SDKs look for it.
    reply.header('x-request-id', request.id);
    const { model, stream } = form;
    reply.raw.once('close', () => {
      const { statusCode: status, writableFinished: isComplete } = reply.raw;
      logChat(request.log, stats, { run_id: run.runId, model, stream, status, isCutOff: !isComplete });
    });
    const warn = createWarningLog(request, run.runId, toldWarnings);
    const soFar = createPartialRunSummary(run.runId);
    const watch = (event: ChatEvent): void => {
      if (event.type === 'source') soFar.note(event);
      if (event.type !== 'run-event') return;
      warn(event);
      soFar.note(event);
      if (event.event.type === 'tool.call' && !reply.raw.headersSent) forbidRetry(reply);
    };
    const head = { id: `chatcmpl-${run.runId}`, created: created ?? Math.floor(options.now() / 1000), model };
    // Whoever left before this has closed it already, and is not heard again.
    if (reply.raw.destroyed) leave.abort(new DOMException('The client left', 'AbortError'));
    if (stream) {
      const encoder = createChunkEncoder(head, { ...form, sourcesAreEvents: keepsEventsAlone(request) });
      return streamReply(reply, events, {
        encode: (event) => {
          watch(event);
          return encoder.encode(event);
        },
        end: encoder.end,
        failure: (error) => errorFrame(soFar.addToFrame(loggedError(error, request, leave.signal))),
        headers: {
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-cache, no-transform',
          'x-accel-buffering': 'no',
        },
        stallMs: options.stallMs,
        patience: { headersMs: limits.headersDelayMs, keepAliveMs: limits.keepAliveMs },
        leave,
      }).catch((error: unknown) => {
        leaveToOwnLine(request);
        throw reply.raw.destroyed ? error : soFar.addTo(error, request.id);
      });
    }
    reply.raw.once('close', () => {
      // An answer that went out whole has nothing left to abort.
      if (!reply.raw.writableFinished) leave.abort(new DOMException('The client left', 'AbortError'));
    });
    try {
      return await collectCompletion(head, events, watch);
    } catch (error) {
      leaveToOwnLine(request);
      // Nobody is there to read an answer; Fastify only needs to know that none is coming.
      if (leave.signal.aborted && reply.raw.destroyed) return reply.hijack();
      throw soFar.addTo(leave.signal.aborted && leave.signal.reason instanceof GatewayError ? leave.signal.reason : error, request.id);
    }
  };
}

/**
 * Open WebUI shows the `sources` of the first such chunk alone and keeps none; what comes as an event it shows and keeps. It says nothing of
 * itself but its HTTP client.
 */
function keepsEventsAlone({ headers }: FastifyRequest): boolean {
  return headers['user-agent']?.includes('aiohttp/') === true;
}

function loggedError(error: unknown, request: FastifyRequest, signal: AbortSignal): GatewayError {
  const shown = toGatewayError(signal.aborted ? signal.reason : error, request.id);
  logOwnFault(request.log, error, shown);
  return shown;
}

/** Told causes are forgotten beyond this number, and may then be told again. */
const maxToldWarnings = 1_000;

/** What a run warns of concerns the operator as well, who does not see its events: told once a cause, or a dead server would fill the log. */
function createWarningLog({ log }: FastifyRequest, runId: string, told: LRUCache<string, true>): (event: ChatEvent) => void {
  return (event) => {
    if (event.type !== 'run-event' || event.event.type !== 'warning') return;
    const { code, message } = event.event.data;
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    const cause = `${JSON.stringify(code)} ${text}`;
    if (told.has(cause)) return;
    told.set(cause, true);
    log.warn({ run_id: runId, code }, text);
  };
}
