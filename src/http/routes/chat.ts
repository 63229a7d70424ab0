import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../core/caller.ts';
import { insertInterrupted } from '../../chat/suspend/insert-interrupted.ts';
import type { ChatRequest } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { RateLimiter, Release } from '../../core/rate-limit.ts';
import { createAnswerRun } from '../dialects/answer-run.ts';
import type { AnswerOptions } from '../dialects/answer-run.ts';
import type { StartedRun } from '../../runs/active-runs.ts';
import type { InterruptChat } from '../../runs/interrupt-chat.ts';
import type { FollowOptions } from '../../runs/followed-runs.ts';
import { isOpenWebUi } from '../dialects/chat-completions/open-webui-events.ts';
import { chatCompletionFormat } from '../dialects/chat-completions/openai-wire.ts';
import { publicAddress } from '../public-address.ts';
import { admitRequest, takeOverAdmission } from '../auth/limit-callers.ts';
import { parseChatBody } from '../dialects/chat-completions/parse-chat-body.ts';
import type { ParsedChat } from '../dialects/chat-completions/parse-chat-body.ts';

export interface ChatRouteOptions extends AnswerOptions {
  /** `PUBLIC_URL`. */
  publicUrl: string | undefined;
  /** Keeps the stream of a suspended run open for a decision that comes elsewhere. */
  follow: (started: StartedRun, options: FollowOptions) => StartedRun;
  approvalTimeoutMs: number;
  /** Starts a run for the request; aborting the controller ends it. @throws GatewayError `server_shutting_down`. */
  startRun(request: ChatRequest, caller: Caller, controller: AbortController): StartedRun;
  interruptChat: InterruptChat;
  limiter: Pick<RateLimiter, 'admit'>;
  /** Streams the run to the caller's websocket session instead, calls `release` at its end, and resolves with the run's id. Undefined when there is no such session. */
  runInBackground(parsed: ParsedChat, caller: Caller, release: Release): Promise<string | undefined>;
}

/** `POST /v1/chat/completions` and its two aliases; streaming or not, they run the same code. */
export const chatRoute: FastifyPluginAsync<ChatRouteOptions> = async (app, options) => {
  const answerRun = createAnswerRun(options);

  function answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const parsed = parseChatBody(request.body);
    if (!parsed.isInterrupt) return begin(request, reply, parsed);
    return afterInterrupt(parsed, request.caller).then((joined) => {
      admitRequest(request, reply, options.limiter);
      return begin(request, reply, joined);
    });
  }

  function begin(request: FastifyRequest, reply: FastifyReply, parsed: ParsedChat): Promise<unknown> {
    if (parsed.isBackground) return startInBackground(request, parsed);
    const { includeUsage, includeEvents, isLegacy } = parsed;
    const { model, stream } = parsed.request;
    const controller = new AbortController();
    const answerForm = {
      includeUsage,
      includeEvents,
      ...(isLegacy && { isLegacy }),
      // Found out when a run is suspended, because other chats do without.
      get address(): string | undefined {
        return publicAddress(request.headers, options.publicUrl);
      },
    };
    const chat = { ...parsed.request, reply: answerForm };
    const begun = options.startRun(chat, request.caller, controller);
    // Others wait for the end of an answer before they show it, or show what waits themselves.
    const waits = stream && isOpenWebUi(request.headers);
    const started = waits ? options.follow(begun, { signal: controller.signal, timeoutMs: options.approvalTimeoutMs }) : begun;
    const format = chatCompletionFormat({ includeUsage, includeEvents, isLegacy }, request.headers);
    return answerRun({ request, reply, controller }, started, { model, stream, format });
  }

  /** Cancels the running chat first, and tells the model what it did. */
  async function afterInterrupt(parsed: ParsedChat, caller: Caller): Promise<ParsedChat> {
    const { chatId = '', messages } = parsed.request;
    if (chatId === '') return parsed;
    const rounds = await options.interruptChat(chatId, caller);
    if (rounds.length === 0) return parsed;
    return { ...parsed, request: { ...parsed.request, messages: insertInterrupted(messages, rounds), hasKeptCalls: true } };
  }

  async function startInBackground(request: FastifyRequest, parsed: ParsedChat): Promise<unknown> {
    if (parsed.request.sessionId === undefined)
      throw sessionNeeded('background: true requires the session_id of an open websocket session, which receives the answer.');
    const runId = await options.runInBackground(parsed, request.caller, takeOverAdmission(request));
    if (runId === undefined)
      throw sessionNeeded('session_id: there is no open websocket session of yours with this id. Connect to /ws first.');
    return { status: true, task_id: runId };
  }

  for (const path of ['/v1/chat/completions', '/api/chat/completions', '/api/v1/chat/completions'])
    app.post(path, { config: { admitsInterrupts: true } }, answer);
};

function sessionNeeded(message: string): GatewayError {
  return new GatewayError('invalid_request', message, { param: 'session_id' });
}
