import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../core/caller.ts';
import type { ChatRequest } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Release } from '../../core/rate-limit.ts';
import { createAnswerRun } from '../dialects/chat-completions/answer-run.ts';
import type { AnswerOptions, AnswerRun } from '../dialects/chat-completions/answer-run.ts';
import type { StartedRun } from '../../runs/active-runs.ts';
import { takeOverAdmission } from '../auth/limit-callers.ts';
import { parseChatBody } from '../dialects/chat-completions/parse-chat-body.ts';
import type { ParsedChat } from '../dialects/chat-completions/parse-chat-body.ts';

export interface ChatRouteOptions extends AnswerOptions {
  callerOf(request: FastifyRequest): Caller;
  /** Starts a run for the request; the controller aborts it. @throws GatewayError `server_shutting_down`. */
  startRun(request: ChatRequest, caller: Caller, leave: AbortController): StartedRun;
  /** Streams the run to the caller's websocket session instead, and releases it at its end; nothing when the session is not there. */
  runInBackground(parsed: ParsedChat, caller: Caller, release: Release): Promise<string | undefined>;
}

/** `POST /v1/chat/completions` and its two aliases: one handler, the same run streaming and not. */
export const chatRoute: FastifyPluginCallback<ChatRouteOptions> = (app, options, done) => {
  const answerRun = createAnswerRun(options);
  for (const path of ['/v1/chat/completions', '/api/chat/completions', '/api/v1/chat/completions']) {
    app.post(path, (request, reply) => answer(request, reply, { ...options, answerRun }));
  }
  done();
};

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ChatRouteOptions & { answerRun: AnswerRun },
): Promise<unknown> {
  const caller = options.callerOf(request);
  const parsed = parseChatBody(request.body);
  if (parsed.isBackground) return background(request, parsed, options);

  const { includeUsage, includeEvents, isLegacy } = parsed;
  const { model, stream } = parsed.request;
  const leave = new AbortController();
  const started = options.startRun(
    { ...parsed.request, reply: { includeUsage, includeEvents, ...(isLegacy && { isLegacy }) } },
    caller,
    leave,
  );
  return options.answerRun({ request, reply, leave }, started, { model, stream, includeUsage, includeEvents });
}

async function background(request: FastifyRequest, parsed: ParsedChat, options: ChatRouteOptions): Promise<unknown> {
  if (parsed.request.sessionId === undefined) {
    throw new GatewayError(
      'invalid_request',
      'background: true needs the session_id of an open websocket session, which receives the answer.',
      { param: 'session_id' },
    );
  }
  const runId = await options.runInBackground(parsed, options.callerOf(request), takeOverAdmission(request));
  if (runId === undefined) {
    throw new GatewayError(
      'invalid_request',
      'session_id: there is no open websocket session of yours with this id. Connect to /ws first.',
      { param: 'session_id' },
    );
  }
  return { status: true, task_id: runId };
}
