import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../../core/callers/caller.ts';
import type { ChatEvent, ChatRequest } from '../../../core/chat/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ReadRequestHeader } from '../../../core/chat/request-headers.ts';
import type { RateLimiter, Release } from '../../../core/callers/rate-limit.ts';
import { insertInterrupted } from '../../../chat/suspend/insert-interrupted.ts';
import type { StartOrContinue } from '../../../runs/start-or-continue.ts';
import type { StartedRun } from '../../../runs/started-run.ts';
import type { FollowOptions } from '../../../runs/suspended/followed-runs.ts';
import type { InterruptChat } from '../../../runs/interrupt-chat.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { admitRequest, takeOverAdmission } from '../../auth/limit-callers.ts';
import { readRequestHeader } from '../../auth/read-request-header.ts';
import type { AnswerFormat } from '../../dialects/answers/answer-format.ts';
import type { AnswerStorage, StoredAnswer } from '../../dialects/answers/answer-storage.ts';
import { createAnswerRun, type AnswerForm, type AnswerOptions } from '../../dialects/answers/answer-run.ts';
import type { DecidedRuns } from '../../dialects/answers/decided-runs.ts';
import type { Dialect, ParsedRequest } from '../../dialects/dialect.ts';
import { dialects } from '../../dialects/dialects.ts';
import { replayEvents } from '../../dialects/answers/replay-events.ts';
import { publicAddress } from '../../public-address.ts';
import { repetitionKeyOf, saysRetry } from './repetition-headers.ts';

interface AnswerRequestOptions extends Pick<AnswerOptions, 'now'> {
  /** `PUBLIC_URL`. */
  publicUrl: string | undefined;
  /** Keeps the stream of a suspended run open for a decision that comes elsewhere. */
  follow: (started: StartedRun, options: FollowOptions) => StartedRun;
  approvalTimeoutMs: number;
  /** Starts a run for the request; aborting the controller ends it. @throws GatewayError `server_shutting_down`. */
  startRun: StartOrContinue;
  decidedRuns: DecidedRuns;
  interruptChat: InterruptChat;
  /** Streams the run to the caller's websocket session instead, calls `release` at its end, and resolves with the run's id. Undefined when there is no such session. */
  answerToSession(
    parsed: ParsedRequest,
    who: { caller: Caller; readHeader: ReadRequestHeader; address: () => string | undefined },
    release: Release,
  ): Promise<string | undefined>;
}

/** Answers requests of every dialect, over HTTP or a websocket; streaming or not, they run the same code. */
export function createAnswerRequest(options: AnswerRequestOptions): AnswerRequest {
  function handle(exchange: Exchange): Promise<unknown> {
    const { asked, dialect, storage } = exchange;
    return storage === undefined ? answer(exchange, dialect.parse(asked.body, asked.headers)) : answerAndStore(exchange, storage);
  }

  async function answerAndStore(exchange: Exchange, storage: AnswerStorage): Promise<unknown> {
    const { asked, dialect } = exchange;
    const { body, explain, store } = await storage.prepare(asked.body, asked.caller);
    try {
      const parsed = dialect.parse(body, asked.headers);
      const stored = store?.(parsed);
      return await answer({ ...exchange, ...(stored && { stored }) }, explainWarnings(parsed, explain));
    } catch (error) {
      throw explainError(error, explain);
    }
  }

  function answer(exchange: Exchange, parsed: ParsedRequest): Promise<unknown> {
    const { asked, client, dialect } = exchange;
    if (parsed.isInterrupt === true)
      return afterInterrupt(parsed, asked.caller).then((joined) => {
        client.admit();
        return answer(exchange, { ...joined, isInterrupt: false });
      });
    if (parsed.answersToSession === true) return startForSession(exchange, parsed);
    if (parsed.decisions !== undefined) return answerDecided(exchange, { ...parsed, decisions: parsed.decisions });
    const address = (): string | undefined => publicAddress(asked.headers, options.publicUrl);
    const request = { ...parsed.request, reply: new LazyReply(dialect.name, parsed.options, address), ...repetitionKeyOf(asked) };
    const controller = new AbortController();
    const who = { caller: asked.caller, controller, readHeader: readRequestHeader(asked) };
    const starting = options.startRun(request, who, saysRetry(asked));
    return starting instanceof Promise
      ? starting.then((started) => answerStarted(exchange, parsed, { started, controller }))
      : answerStarted(exchange, parsed, { started: starting, controller });
  }

  function answerStarted(
    exchange: Exchange,
    parsed: ParsedRequest,
    { started: begun, controller }: { started: StartedRun; controller: AbortController },
  ): Promise<unknown> {
    const { asked, dialect } = exchange;
    const { model, stream } = parsed.request;
    const waits = stream && dialect.waitsForDecision?.(asked.headers) === true;
    const started = waits ? options.follow(begun, { signal: controller.signal, timeoutMs: options.approvalTimeoutMs }) : begun;
    return answerWithRun(exchange, started, { model, stream, controller, format: formatOf(exchange, parsed) });
  }

  function formatOf({ asked, dialect, stored }: Exchange, { options: ofDialect }: ParsedRequest): AnswerFormat {
    return stored?.format ?? dialect.format(ofDialect, asked.headers);
  }

  function answerWithRun(
    { client, stored }: Exchange,
    started: StartedRun,
    form: AnswerForm & { controller: AbortController },
  ): Promise<unknown> {
    if (stored?.runInBackground === undefined) return client.answerRun(stored?.storing(started) ?? started, form);
    const background = stored.runInBackground(started, { controller: form.controller, release: client.takeOverAdmission() });
    return background.then(({ begun, follow }): unknown => {
      client.announce(started.run.runId);
      return follow === undefined ? begun : client.replay(follow);
    });
  }

  /** Answers with the suspended run that the request decides on. */
  async function answerDecided(exchange: Exchange, parsed: ParsedRequest & Required<Pick<ParsedRequest, 'decisions'>>): Promise<unknown> {
    const {
      decisions,
      request: { model, stream, warnings = [] },
    } = parsed;
    const { asked, client, stored } = exchange;
    const { caller } = asked;
    const controller = new AbortController();
    const readHeader = readRequestHeader(asked);
    const decided = await options.decidedRuns.answer(decisions, { caller, controller, readHeader, stream, warnings });
    asked.log.info({ decisions: decisions.map(({ answer: { decision } }) => decision), by: caller.id }, 'calls decided');
    const format = formatOf(exchange, parsed);
    if (decided.type === 'resumed') return answerWithRun(exchange, decided.started, { model, stream, controller, format });
    const { runId } = decided;
    client.announce(runId);
    const head = { runId, requestId: asked.id, created: Math.floor(options.now() / 1000), now: options.now, model };
    const bodyOf = (events: readonly ChatEvent[]): JsonObject => {
      const collector = format.collect(head);
      for (const event of events) collector.add(event);
      return collector.body();
    };
    const problem = await stored?.save(bodyOf(decided.events));
    const events = [...decided.events, ...(problem === undefined ? [] : [problem])];
    if (!stream) return bodyOf(events);
    const encoder = format.stream(head);
    return client.send(encoder.contentType, `${events.map((event) => encoder.encode(event)).join('')}${encoder.end()}`);
  }

  /** Cancels the running chat first, and tells the model what it did. */
  async function afterInterrupt(parsed: ParsedRequest, caller: Caller): Promise<ParsedRequest> {
    const { chatId = '', messages } = parsed.request;
    if (chatId === '') return parsed;
    const rounds = await options.interruptChat(chatId, caller);
    if (rounds.length === 0) return parsed;
    return { ...parsed, request: { ...parsed.request, messages: insertInterrupted(messages, rounds), hasExecutedCalls: true } };
  }

  async function startForSession({ asked, client }: Exchange, parsed: ParsedRequest): Promise<unknown> {
    if (parsed.request.sessionId === undefined)
      throw sessionNeeded('background: true requires the session_id of an open websocket session, which receives the answer.');
    const runId = await options.answerToSession(
      parsed,
      {
        caller: asked.caller,
        readHeader: readRequestHeader(asked),
        address: () => publicAddress(asked.headers, options.publicUrl),
      },
      client.takeOverAdmission(),
    );
    if (runId === undefined)
      throw sessionNeeded('session_id: there is no open websocket session of yours with this id. Connect to /ws first.');
    return { status: true, task_id: runId };
  }

  return handle;
}

/** Who waits for the answer to a request over HTTP. */
export function createClientOf({ limiter, ...options }: AnswerOptions & { limiter: Pick<RateLimiter, 'admit'> }) {
  const answerRun = createAnswerRun(options);
  return (request: FastifyRequest, reply: FastifyReply): AnswerClient => ({
    admit: () => admitRequest(request, reply, limiter),
    takeOverAdmission: () => takeOverAdmission(request),
    announce: (runId) => void reply.header('x-toolwharf-run-id', runId).header('x-request-id', request.id),
    answerRun: (started, { controller, ...form }) => answerRun({ request, reply, controller }, started, form),
    replay: (follow) => replayEvents(reply, follow, options.stallMs),
    send: (contentType, text) => reply.type(contentType).send(text),
  });
}

interface ChatRouteOptions {
  answerRequest: AnswerRequest;
  /** By the name of their dialects. */
  storages: Readonly<Record<string, AnswerStorage>>;
  clientOf: ReturnType<typeof createClientOf>;
}

/** The routes of every dialect. */
export const chatRoutes: FastifyPluginAsync<ChatRouteOptions> = async (app, { answerRequest, storages, clientOf }) => {
  for (const dialect of dialects) {
    const { errors, takesAnyType } = dialect;
    const storage = storages[dialect.name];
    const config = { admitsInterrupts: true, ...(errors && { errors }), ...(takesAnyType && { takesAnyType }) } as const;
    for (const path of dialect.paths) {
      app.post(path, { config }, (request, reply) => {
        const headers = dialect.errors?.headers?.(request);
        if (headers !== undefined) reply.headers(headers);
        return answerRequest({ asked: request, client: clientOf(request, reply), dialect, ...(storage && { storage }) });
      });
    }
  }
};

/** How a run is answered, as it is kept when it is suspended. The address is found out only then, because other chats do without. */
class LazyReply implements NonNullable<ChatRequest['reply']> {
  readonly dialect: string;
  readonly options: JsonObject;
  readonly #findAddress: () => string | undefined;

  constructor(dialect: string, options: JsonObject, findAddress: () => string | undefined) {
    this.dialect = dialect;
    this.options = options;
    this.#findAddress = findAddress;
  }

  get address(): string | undefined {
    return this.#findAddress();
  }

  toJSON(): NonNullable<ChatRequest['reply']> {
    const { dialect, options, address } = this;
    return { dialect, options, address };
  }
}

/** A request for a chat, however it came. */
export type AskedRequest = Pick<FastifyRequest, 'body' | 'caller' | 'headers' | 'id' | 'log'>;

/** Who gets the answer to one request. */
export interface AnswerClient {
  /** Counts the request until its run has ended. @throws GatewayError `rate_limit_exceeded` */
  admit(): void;
  /** For work that continues after the answer: the request counts until the returned function is called. */
  takeOverAdmission(): Release;
  /** Tells the id of the run, before an answer that is not `answerRun`. */
  announce(runId: string): void;
  answerRun(started: StartedRun, form: AnswerForm & { controller: AbortController }): Promise<unknown>;
  /** Sends the events of a run in the background. */
  replay(follow: Parameters<typeof replayEvents>[1]): unknown;
  /** Sends a whole stream at once. */
  send(contentType: string, text: string): unknown;
}

interface Exchange {
  asked: AskedRequest;
  client: AnswerClient;
  dialect: Dialect;
  storage?: AnswerStorage;
  stored?: StoredAnswer;
}

/** Rejects with the error before the first part of an answer. */
export type AnswerRequest = (exchange: Omit<Exchange, 'stored'>) => Promise<unknown>;

function explainWarnings(parsed: ParsedRequest, explain: (text: string) => string): ParsedRequest {
  const { request } = parsed;
  if (request.warnings === undefined) return parsed;
  const warnings = request.warnings.map((warning) => ({ ...warning, message: explain(warning.message) }));
  return { ...parsed, request: { ...request, warnings } };
}

function explainError(error: unknown, explain: (text: string) => string): unknown {
  if (!(error instanceof GatewayError) || error.param === null || explain(error.param) === error.param) return error;
  const { code, message, param, status } = error;
  return new GatewayError(code, explain(message), { param: explain(param), status, cause: error });
}

function sessionNeeded(message: string): GatewayError {
  return new GatewayError('invalid_request', message, { param: 'session_id' });
}
