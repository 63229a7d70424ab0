import { setImmediate as nextTick } from 'node:timers/promises';
import { GatewayError, OutboundError, UnreadableCallError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import {
  readBytes,
  type EndOfBody,
  type OutboundBody,
  type OutboundRequest,
  type OutboundResponse,
  type SendOutbound,
  type TraceHeaders,
  type Trust,
} from '../../core/outbound.ts';
import { deepFreeze } from '../../shared/json/deep-freeze.ts';
import type { JsonObject, JsonValue } from '../../shared/json/json.ts';
import { whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';
import { createSecretMask, type SecretMask } from '../../shared/secrets/secret-mask.ts';
import { isSecretHeader } from '../../shared/secrets/secret-names.ts';
import { decompressAnswer } from './decompress-answer.ts';
import { readJsonAnswer } from './read-json-answer.ts';
import { readErrorResponse, toReportedError, toUpstreamError } from './upstream-errors.ts';
import { writeBody } from './write-body.ts';

export interface BackendConnection {
  /** Absolute; a path and a query string are kept. A user and password in it become Basic authorization. */
  baseUrl: string;
  /** Sent as a bearer token, or as it is in `keyHeader`. */
  key?: string | undefined;
  keyHeader?: 'x-api-key';
  /** Replace the gateway's own headers of the same name. */
  headers?: Record<string, string>;
  /** From the request to the response headers; for Ollama that includes loading the model. */
  firstByteTimeoutMs: number;
  idleTimeoutMs: number;
}

/** Dummy keys that people enter where a program insists on one. They are not redacted, because they are words that occur in model names. */
const dummyKeys = new Set(['ollama', 'lm-studio', 'not-needed', 'placeholder', 'sk-no-key-required']);
/** Bytes of a passed-through answer that are searched for secrets in one tick of the event loop. */
const maskWindowBytes = 1024 * 1024;
const longestSecretBytes = 16 * 1024;

/** `caller`: the id of the one for whom a request is sent; absent: it is the gateway's own. */
export interface SentFor {
  signal: AbortSignal;
  caller?: string | undefined;
  trace?: TraceHeaders | undefined;
}

/** The body of a request: JSON, or bytes of another type. */
type SentBody = { body?: JsonObject } | SentBytes;
export interface SentBytes {
  contentType: string;
  bytes: string | Uint8Array | AsyncIterable<Uint8Array>;
}

/** Sends requests to one backend, and converts its failures to errors for clients. Secrets are sent in headers only. */
export class BackendClient {
  /** The name of the backend in error messages, which never contain its address. */
  readonly name: string;
  readonly #connection: BackendConnection;
  readonly #send: SendOutbound;
  readonly #base: URL;
  readonly #trust: Trust;
  /** Frozen, because they are the same for every request. */
  readonly #headers: Readonly<Record<'get' | 'json' | 'stream', Readonly<Record<string, string>>>>;
  readonly #mask: SecretMask;
  /** Cached by path; there are few. */
  readonly #urls = new Map<string, string>();

  constructor(name: string, connection: BackendConnection, send: SendOutbound) {
    this.name = name;
    this.#connection = connection;
    this.#send = send;
    this.#base = new URL(connection.baseUrl);
    const { username, password } = this.#base;
    this.#base.username = '';
    this.#base.password = '';
    const { key = '', keyHeader, headers = {} } = connection;
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const basic = username === '' ? '' : `Basic ${Buffer.from(credentials).toString('base64')}`;
    const authorization = key === '' || keyHeader !== undefined ? basic : `Bearer ${key}`;
    const own = {
      ...(authorization !== '' && { authorization }),
      ...(key !== '' && keyHeader !== undefined && { [keyHeader]: key }),
      ...Object.fromEntries(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value])),
    };
    const get = { accept: 'application/json', 'accept-encoding': 'identity' };
    const json = { ...get, 'content-type': 'application/json' };
    const stream = { ...json, accept: 'text/event-stream, application/json' };
    this.#headers = deepFreeze({ get: { ...get, ...own }, json: { ...json, ...own }, stream: { ...stream, ...own } });
    this.#trust = { kind: 'configured', origin: this.#base.origin };
    const secrets = Object.entries(headers).flatMap(([header, value]) => (isSecretHeader(header) ? [value] : []));
    this.#mask = createSecretMask([dummyKeys.has(key.toLowerCase()) ? '' : key, basic, ...secrets]);
  }

  /**
   * Sends a request (a GET if it has no body) and reads the response with `read`. Closes the connection if that fails or the signal aborts.
   * @throws GatewayError for a status of 400 or above and for transport errors; whatever `read` and the `bytes` of a body throw
   */
  async exchange<Result>(
    path: string,
    { signal, caller, trace, ...sent }: SentFor & SentBody,
    read: (response: OutboundResponse) => Promise<Result>,
  ): Promise<Result> {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#connection;
    let response: OutboundResponse | undefined;
    try {
      signal.throwIfAborted();
      const made = this.#toSent(sent);
      response = await this.#send({
        url: this.#urlOf(path),
        trust: this.#trust,
        caller,
        trace,
        signal,
        firstByteTimeoutMs,
        idleTimeoutMs,
        takesCompressed: true,
        ...(made instanceof Promise ? await made : made),
      });
      response = decompressAnswer(response, this.name);
      if (response.status >= 400) throw await readErrorResponse(response, this.name, this.#mask);
      return await read(response);
    } catch (error) {
      response?.body.close();
      signal.throwIfAborted();
      // A body that cannot be read to its end is not the backend's fault.
      if (error instanceof OutboundError && error.cause instanceof GatewayError) throw error.cause;
      if (response === undefined) throw toUpstreamError(error, this.name, 'request');
      throw error instanceof OutboundError ? toUpstreamError(error, this.name) : error;
    }
  }

  #toSent(sent: SentBody): MaybePromise<Pick<OutboundRequest, 'method' | 'headers' | 'body'>> {
    if ('bytes' in sent) {
      const headers = { ...this.#headers.json, accept: '*/*', 'content-type': sent.contentType };
      return { method: 'POST', headers, body: sent.bytes };
    }
    const { body } = sent;
    if (body === undefined) return { method: 'GET', headers: this.#headers.get };
    const headers = this.#headers[body['stream'] === true ? 'stream' : 'json'];
    return whenThere(writeBody(body), (written) => ({ method: 'POST', headers, body: written }));
  }

  #urlOf(path: string): string {
    const known = this.#urls.get(path);
    if (known !== undefined) return known;
    const url = new URL(this.#base);
    url.pathname = url.pathname.replace(/\/*$/, path);
    this.#urls.set(path, url.href);
    return url.href;
  }

  readJson(response: OutboundResponse): Promise<JsonValue> {
    return readJsonAnswer(response, this.name, this.#mask);
  }

  /** Reads a response that is passed through unparsed, since it may hold millions of numbers. */
  async readBytes(response: OutboundResponse, maxBytes: number): Promise<Uint8Array> {
    const { bytes, isTruncated } = await readBytes(response.body, maxBytes);
    if (isTruncated) throw this.invalid(`sends more than ${maxBytes} bytes`);
    // Searched in windows, because searching all at once takes long. They overlap, so that a secret across a boundary is found.
    for (let start = 0; !this.#mask.isEmpty && start < bytes.byteLength; start += maskWindowBytes) {
      if (start > 0) await nextTick();
      const window = bytes.subarray(start, start + maskWindowBytes + longestSecretBytes);
      const masked = this.#mask.bytes(window);
      if (masked !== window) bytes.set(masked, start);
    }
    return bytes;
  }

  /** The body of a textual response that is passed through as it comes. A secret is redacted where one piece holds the whole of it. */
  maskedBody({ body }: OutboundResponse): OutboundBody {
    return this.#mask.isEmpty ? body : new MaskedBody(body, this.#mask);
  }

  /** The error for one that is reported in a response with status 200. */
  reported(payload: JsonValue): GatewayError {
    return toReportedError(payload, this.name, this.#mask);
  }

  invalid(what: string): GatewayError {
    return new GatewayError('upstream_invalid_response', `The model backend "${this.name}" ${what}. Check its base URL.`);
  }

  incomplete(): GatewayError {
    return new GatewayError('upstream_incomplete', `The model backend "${this.name}" ended its stream before its answer was complete.`);
  }

  /** `reason`: the backend's word for how its answer ended. */
  brokenOff(reason: string): GatewayError {
    const message = `The model backend "${this.name}" broke off its answer (finish reason "${reason}"). Try again.`;
    return new GatewayError('upstream_incomplete', message);
  }

  /** `reason`: likewise. What the model wrote is not known. */
  unreadableCall(reason: string): GatewayError {
    return new UnreadableCallError(this.name, { said: `finish reason "${reason}"` });
  }

  lineTooLong(maxBytes: number = limits.upstreamLineBytes): GatewayError {
    const message = `The model backend "${this.name}" sent a line of more than ${maxBytes} bytes.`;
    return new GatewayError('upstream_line_too_long', message);
  }
}

class MaskedBody implements OutboundBody {
  readonly #body: OutboundBody;
  readonly #mask: SecretMask;

  constructor(body: OutboundBody, mask: SecretMask) {
    this.#body = body;
    this.#mask = mask;
  }

  readEach(take: (piece: Uint8Array) => Promise<void> | undefined): Promise<EndOfBody> {
    return this.#body.readEach((piece) => take(this.#mask.bytes(piece)));
  }

  close(): void {
    this.#body.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const piece of this.#body) yield this.#mask.bytes(piece);
  }
}
