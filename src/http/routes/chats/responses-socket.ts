import type { WebSocket } from '@fastify/websocket';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../../../core/callers/caller.ts';
import { loggedCaller } from '../../../core/callers/caller.ts';
import type { ChatEvent } from '../../../core/chat/chat.ts';
import { GatewayError, invalidField } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { RateLimiter, Release } from '../../../core/callers/rate-limit.ts';
import { logChat } from '../../../runs/run-stats.ts';
import type { StartedRun } from '../../../runs/started-run.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { MaybePromise } from '../../../shared/async/maybe-promise.ts';
import { parseJsonBody } from '../../body/parse-json-body.ts';
import type { AnswerHead } from '../../dialects/answers/answer-format.ts';
import { logWarning, type AnswerForm } from '../../dialects/answers/answer-run.ts';
import type { AnswerStorage } from '../../dialects/answers/answer-storage.ts';
import { errorOfRun } from '../../dialects/answers/error-of-run.ts';
import { PartialRunSummary } from '../../dialects/answers/partial-run-summary.ts';
import { responses } from '../../dialects/responses/responses.ts';
import { responseFormat } from '../../dialects/responses/response-wire.ts';
import { createLastResponse, type LastResponse } from '../../dialects/responses/stored/last-response.ts';
import type { ByteBudget } from '../../dialects/socket/byte-budget.ts';
import { paceSocket } from '../../dialects/socket/socket-pace.ts';
import { errorBody, logInternalError, toGatewayError } from '../../errors/error-handler.ts';
import type { AnswerClient, AnswerRequest } from './chat.ts';
import { FrameSender } from './frame-sender.ts';

export const responsesPath = '/v1/responses';

export interface ResponsesSocketOptions {
  answerRequest: AnswerRequest;
  /** Of responses that are stored for all connections of a caller. */
  storage: AnswerStorage;
  /** The caller of the request that opened the socket, who may have lost the key since. @throws GatewayError */
  requireCaller: (request: FastifyRequest) => MaybePromise<Caller>;
  limiter?: Pick<RateLimiter, 'admit'>;
  newId: () => string;
  /** Milliseconds since 1970. */
  now: () => number;
  pingIntervalMs: number;
  /** A client that reads nothing for this long is disconnected. */
  stallMs: number;
}

/**
 * The largest `response.create`: all sockets of one caller hold as much as all bodies that arrive over HTTP. A conversation with larger pictures goes
 * over HTTP.
 */
export const responseFrameBytes = 4 * limits.socketFrameBytes;
/** Requests that wait for the response before them; a client that sends more does not read the answers. */
const waitingFrames = 16;

/**
 * OpenAI's WebSocket mode: each frame `response.create` is a request to `POST /v1/responses`, and each event of its stream is a frame. One response at a
 * time; `previous_response_id` continues the last one of the connection without a store.
 * https://developers.openai.com/api/docs/guides/websocket-mode
 */
export function serveResponsesSocket(
  socket: WebSocket,
  request: FastifyRequest,
  { budget, ...options }: ResponsesSocketOptions & { budget: ByteBudget },
): void {
  const connection = new ResponsesConnection(socket, request, options);
  socket.on('message', (data, isBinary) => connection.receive(data as Buffer, { isBinary, budget }));
}

class ResponsesConnection {
  readonly #socket: WebSocket;
  readonly #upgrade: FastifyRequest;
  readonly #options: ResponsesSocketOptions;
  readonly #pace: ReturnType<typeof paceSocket>;
  readonly #last: LastResponse;
  readonly #sender: FrameSender;
  readonly #closed = new AbortController();
  readonly #waiting: Buffer[] = [];
  readonly #loggedWarnings = new Set<string>();
  #waitingBytes = 0;
  #isBusy = false;

  constructor(socket: WebSocket, upgrade: FastifyRequest, options: ResponsesSocketOptions) {
    this.#socket = socket;
    this.#upgrade = upgrade;
    this.#options = options;
    this.#pace = paceSocket(socket, { pingIntervalMs: options.pingIntervalMs, onFailure: (code, reason) => this.#end(code, reason) });
    this.#last = createLastResponse(options);
    this.#sender = new FrameSender(socket, {
      signal: this.#closed.signal,
      stallMs: options.stallMs,
      onStall: () => {
        this.#end(1013, 'The client does not read.');
        socket.terminate();
      },
    });
    socket.on('close', () => this.#cleanUp());
  }

  receive(frame: Buffer, { isBinary, budget }: { isBinary: boolean; budget: ByteBudget }): void {
    this.#pace.countFrame(frame.byteLength, budget);
    if (isBinary) return this.#end(1003, 'Frames are text, not binary.');
    this.#waiting.push(frame);
    this.#waitingBytes += frame.byteLength;
    if (this.#waiting.length > waitingFrames || this.#waitingBytes > responseFrameBytes)
      return this.#end(1008, 'Too many requests wait for the response before them.');
    if (!this.#isBusy) void this.#answerWaiting();
  }

  #end(code: number, reason: string): void {
    this.#cleanUp();
    this.#socket.close(code, reason);
  }

  #cleanUp(): void {
    this.#closed.abort(new DOMException('The client disconnected', 'AbortError'));
    this.#pace.stop();
    this.#waiting.length = 0;
  }

  async #answerWaiting(): Promise<void> {
    this.#isBusy = true;
    for (let frame = this.#waiting.shift(); frame !== undefined; frame = this.#waiting.shift()) {
      this.#waitingBytes -= frame.byteLength;
      await this.#answer(frame);
    }
    this.#isBusy = false;
  }

  /** Never rejects: what goes wrong is a frame `error`. */
  async #answer(frame: Buffer): Promise<void> {
    const id = this.#options.newId();
    let previous: JsonValue | undefined;
    let release: Release = () => undefined;
    try {
      const caller = await this.#options.requireCaller(this.#upgrade);
      const body = await this.#readBody(frame, caller);
      previous = body['previous_response_id'];
      const admit = (): void => {
        release = this.#options.limiter?.admit(caller) ?? release;
      };
      if (body['interrupt'] !== true) admit();
      if (body['generate'] === false) return await this.#prepareOnly(body, { caller, id });
      const { log, headers } = this.#upgrade;
      const asked = { body, caller, headers: withoutRepetition(headers), id, log };
      const client = this.#clientOf(id, { caller, admit, release: () => release() });
      await this.#options.answerRequest({ asked, client, dialect: responses, storage: this.#last });
    } catch (error) {
      if (typeof previous === 'string') this.#last.forget(previous);
      await this.#sendError(error, id);
    } finally {
      release();
    }
  }

  /** @throws GatewayError */
  async #readBody(frame: Buffer, caller: Caller): Promise<JsonObject> {
    const reading = { maxDepth: limits.bodyDepth, prototypes: 'refuse', documents: ['tool_servers.*.openapi'] } as const;
    // Copied, because the frame shares its buffer with others of its socket.
    const sent = await parseJsonBody(Buffer.from(frame), { ...reading, caller: caller.id, signal: this.#closed.signal });
    if (!isJsonObject(sent) || sent['type'] !== 'response.create')
      throw invalidField(
        'type',
        'every frame is an object with "type": "response.create" and the fields of a request to POST /v1/responses',
      );
    const { type: _type, stream_options: _options, ...body } = sent;
    if (body['background'] === true)
      throw invalidField('background', 'a response in the background cannot be created over a websocket. Send it to POST /v1/responses.');
    return { ...body, stream: true };
  }

  /** `generate: false`: the next request continues what this one says, without an answer of the model in between. */
  async #prepareOnly({ generate: _generate, ...sent }: JsonObject, { caller, id }: { caller: Caller; id: string }): Promise<void> {
    const { body } = await this.#last.prepare({ ...sent, store: false }, caller);
    const { options, request } = responses.parse(body, this.#upgrade.headers);
    const { now } = this.#options;
    const head = { runId: id, requestId: id, created: Math.floor(now() / 1_000), now, model: request.model };
    const format = responseFormat(options);
    this.#last.keep(body as JsonObject, format.collect(head).body());
    await this.#sender.send(format.stream(head).end());
  }

  #clientOf(id: string, { caller, admit, release }: { caller: Caller; admit: () => void; release: Release }): AnswerClient {
    return {
      admit,
      takeOverAdmission: () => release,
      announce: () => undefined,
      answerRun: (started, form) => this.#answerRun(started, { ...form, id, caller, release }),
      // Responses in the background are refused before.
      replay: () => undefined,
      send: (_contentType, text) => this.#sender.send(text),
    };
  }

  async #answerRun(started: StartedRun, form: RunForm): Promise<void> {
    const { controller, model, format, id, caller, release } = form;
    const { run, stats } = started;
    const { log } = this.#upgrade;
    const { signal } = this.#closed;
    const leave = (): void => controller.abort(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    // Waiting runs do not count against the caller's limits.
    run.whenOver?.(release);
    const created = started.created ?? Math.floor(this.#options.now() / 1_000);
    const head: AnswerHead = { runId: run.runId, requestId: id, created, now: this.#options.now, model, thoughts: run.thoughts };
    const encoder = format.stream(head);
    const partial = new PartialRunSummary(run.runId);
    let hasBegun = false;
    try {
      await started.stream((events: readonly ChatEvent[]) => {
        let text = '';
        for (const event of events) {
          if (event.type === 'run-event' && event.event.type === 'warning')
            logWarning({ log }, { runId: run.runId, warning: event.event.data, logged: this.#loggedWarnings });
          partial.note(event);
          text += encoder.encode(event);
        }
        hasBegun ||= text !== '';
        return this.#sender.send(text);
      });
      await this.#sender.send(encoder.end());
    } catch (error) {
      if (!hasBegun) throw partial.addTo(controller.signal.reason instanceof GatewayError ? controller.signal.reason : error, id);
      await this.#sender.send(encoder.failure(partial.addToFrame(errorOfRun(error, controller.signal, { id, log }))));
    } finally {
      signal.removeEventListener('abort', leave);
      stats.isCutOff = signal.aborted;
      logChat(log, stats, { ...loggedCaller(caller), run_id: run.runId, model, stream: true, over: 'socket' });
    }
  }

  async #sendError(error: unknown, id: string): Promise<void> {
    if (this.#closed.signal.aborted) return;
    const { log } = this.#upgrade;
    const shown = toGatewayError(error, id);
    if (!logInternalError(log, error, shown)) log.info({ code: shown.code, status: shown.status, error: shown.message }, 'request refused');
    await this.#sender.sendFrames([JSON.stringify({ type: 'error', status: shown.status, ...errorBody(shown) })]);
    // The key is gone, and every further frame would be refused.
    if (shown.status === 401) this.#end(4401, 'The key is no longer valid.');
  }
}

interface RunForm extends AnswerForm {
  controller: AbortController;
  id: string;
  caller: Caller;
  release: Release;
}

/** Those headers speak of one request, and a socket brings many. */
function withoutRepetition(headers: FastifyRequest['headers']): FastifyRequest['headers'] {
  const { 'idempotency-key': _key, 'x-stainless-retry-count': _count, ...others } = headers;
  return others;
}

/** `GET /v1/responses`; the guard authenticates it like every route. */
export function addResponsesSocket(
  app: FastifyInstance,
  options: ResponsesSocketOptions & {
    refuseForeignOrigin: (request: FastifyRequest) => void;
    slots: { take(callerId: string): ByteBudget | undefined; release(callerId: string): void };
  },
): void {
  app.route({
    method: 'GET',
    url: responsesPath,
    onRequest: async (request) => options.refuseForeignOrigin(request),
    handler: (_request, reply) => {
      reply.header('allow', 'POST');
      throw new GatewayError('method_not_allowed', 'GET is not allowed here. Use POST, or open a websocket (ws:// or wss://).');
    },
    wsHandler: (socket, request) => {
      const budget = options.slots.take(request.caller.id);
      if (budget === undefined)
        return socket.close(1013, `More than ${limits.socketsPerCaller} sockets of one caller, or ${limits.socketsPerKey} of one key.`);
      socket.on('close', () => options.slots.release(request.caller.id));
      return serveResponsesSocket(socket, request, { ...options, budget });
    },
  });
}
