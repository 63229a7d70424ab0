import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../core/caller.ts';
import type { ChatEvent, ChatRequest } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { RunContext } from '../../core/run.ts';
import { toGatewayError } from '../error-handler.ts';
import { collectCompletion, createChunkEncoder, errorFrame } from '../openai-wire.ts';
import { parseChatBody } from '../parse-chat-body.ts';
import type { ParsedChat } from '../parse-chat-body.ts';
import { streamReply } from '../stream-reply.ts';

/** A run on its way: its events, and what aborts it. */
export interface StartedRun {
  run: RunContext;
  events: AsyncGenerator<ChatEvent>;
}

export interface ChatRouteOptions {
  callerOf(request: FastifyRequest): Caller;
  /** Starts a run for the request; the controller aborts it. @throws GatewayError `server_shutting_down`. */
  startRun(request: ChatRequest, caller: Caller, leave: AbortController): StartedRun;
  /** Streams the run to the caller's websocket session instead; false when the session is not there. */
  runInBackground(parsed: ParsedChat, caller: Caller): Promise<string | undefined>;
  stallMs: number;
  now: () => number;
}

/** `POST /v1/chat/completions` and its two aliases: one handler, the same run streaming and not. */
export const chatRoute: FastifyPluginCallback<ChatRouteOptions> = (app, options, done) => {
  const toldWarnings = new Set<string>();
  for (const path of ['/v1/chat/completions', '/api/chat/completions', '/api/v1/chat/completions']) {
    app.post(path, (request, reply) => answer(request, reply, { ...options, toldWarnings }));
  }
  done();
};

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ChatRouteOptions & { toldWarnings: Set<string> },
): Promise<unknown> {
  const caller = options.callerOf(request);
  const parsed = parseChatBody(request.body);
  if (parsed.isBackground) return background(parsed, caller, options);

  const leave = new AbortController();
  const { run, events } = options.startRun(parsed.request, caller, leave);
  reply.header('x-toolwharf-run-id', run.runId);
  const started = options.now();
  reply.raw.once('close', () => {
    const { statusCode: status, writableFinished: isComplete } = reply.raw;
    const outcome = !isComplete ? 'chat cut off' : status >= 400 ? 'chat refused' : 'chat answered';
    request.log.info(
      { run_id: run.runId, model: parsed.request.model, stream: parsed.request.stream, status, duration_ms: options.now() - started },
      outcome,
    );
  });
  const warn = createWarningLog(request, run.runId, options.toldWarnings);
  const head = { id: `chatcmpl-${run.runId}`, created: Math.floor(options.now() / 1000), model: parsed.request.model };
  if (parsed.request.stream) {
    const encoder = createChunkEncoder(head, parsed);
    return streamReply(reply, events, {
      encode: (event) => {
        warn(event);
        return encoder.encode(event);
      },
      end: encoder.end,
      failure: (error) => errorFrame(loggedError(error, request, leave.signal)),
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' },
      stallMs: options.stallMs,
      patience: { headersMs: limits.headersDelayMs, keepAliveMs: limits.keepAliveMs },
      leave,
    });
  }
  reply.raw.once('close', () => {
    // An answer that went out whole has nothing left to abort.
    if (!reply.raw.writableFinished) leave.abort(new DOMException('The client left', 'AbortError'));
  });
  try {
    return await collectCompletion(head, events, warn);
  } catch (error) {
    // Nobody is there to read an answer; Fastify only needs to know that none is coming.
    if (leave.signal.aborted && reply.raw.destroyed) return reply.hijack();
    throw leave.signal.aborted && leave.signal.reason instanceof GatewayError ? leave.signal.reason : error;
  }
}

function loggedError(error: unknown, request: FastifyRequest, signal: AbortSignal): GatewayError {
  const shown = toGatewayError(signal.aborted ? signal.reason : error, request.id);
  request.log.warn({ err: error, code: shown.code }, 'stream failed');
  return shown;
}

async function background(parsed: ParsedChat, caller: Caller, options: ChatRouteOptions): Promise<unknown> {
  if (parsed.request.sessionId === undefined) {
    throw new GatewayError(
      'invalid_request',
      'background: true needs the session_id of an open websocket session, which receives the answer.',
      { param: 'session_id' },
    );
  }
  const runId = await options.runInBackground(parsed, caller);
  if (runId === undefined) {
    throw new GatewayError(
      'invalid_request',
      'session_id: there is no open websocket session of yours with this id. Connect to /ws first.',
      { param: 'session_id' },
    );
  }
  return { status: true, task_id: runId };
}

/** Told causes are forgotten beyond this number, and may then be told again. */
const maxToldWarnings = 1_000;

/** What a run warns of concerns the operator as well, who does not see its events: told once a cause, or a dead server would fill the log. */
function createWarningLog({ log }: FastifyRequest, runId: string, told: Set<string>): (event: ChatEvent) => void {
  return (event) => {
    if (event.type !== 'run-event' || event.event.type !== 'warning') return;
    const { code, message } = event.event.data;
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    const cause = `${JSON.stringify(code)} ${text}`;
    if (told.has(cause)) return;
    if (told.size >= maxToldWarnings) told.clear();
    told.add(cause);
    log.warn({ run_id: runId, code }, text);
  };
}
