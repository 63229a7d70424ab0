import { setImmediate as nextTurn } from 'node:timers/promises';
import { GatewayError, OutboundError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { readBytes } from '../core/outbound.ts';
import type { OutboundResponse, SendOutbound } from '../core/outbound.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';
import { createSecretMask } from '../shared/secrets/secret-mask.ts';
import { isSecretHeader } from '../shared/secrets/secret-names.ts';
import type { SecretMask } from '../shared/secrets/secret-mask.ts';
import { readJsonAnswer } from './read-json-answer.ts';
import { answerFault, reportedFault, toUpstreamError } from './upstream-errors.ts';

export interface BackendConnection {
  /** Absolute; a path and a query string are kept. A user and password in it become Basic authorization. */
  baseUrl: string;
  /** Sent as a bearer token. */
  key?: string | undefined;
  /** Replace the gateway's own of the same name. */
  headers?: Record<string, string>;
  /** From the request to the response's headers: for Ollama, loading the model is part of it. */
  firstByteTimeoutMs: number;
  idleTimeoutMs: number;
}

/** What people write where a program wants some key; in the names of models these are words. */
const placeholders = new Set(['ollama', 'lm-studio', 'not-needed', 'placeholder', 'sk-no-key-required']);
/** Of an answer that is passed on as it came, what is searched for secrets in one turn of the event loop. */
const maskedBytes = 1024 * 1024;
const longestSecretBytes = 16 * 1024;

/** Requests to one backend, and the faults of its answers in a client's words. Secrets leave it in headers only. */
export class BackendClient {
  /** How errors name the backend; never its address. */
  readonly name: string;
  readonly #connection: BackendConnection;
  readonly #send: SendOutbound;
  readonly #base: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #mask: SecretMask;
  /** By path: there are few. */
  readonly #urls = new Map<string, string>();

  constructor(name: string, connection: BackendConnection, send: SendOutbound) {
    this.name = name;
    this.#connection = connection;
    this.#send = send;
    this.#base = new URL(connection.baseUrl);
    const { username, password } = this.#base;
    this.#base.username = '';
    this.#base.password = '';
    const { key = '', headers = {} } = connection;
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const basic = username === '' ? '' : `Basic ${Buffer.from(credentials).toString('base64')}`;
    const authorization = key === '' ? basic : `Bearer ${key}`;
    this.#headers = {
      ...(authorization !== '' && { authorization }),
      ...Object.fromEntries(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value])),
    };
    const secrets = Object.entries(headers).flatMap(([header, value]) => (isSecretHeader(header) ? [value] : []));
    this.#mask = createSecretMask([placeholders.has(key.toLowerCase()) ? '' : key, basic, ...secrets]);
  }

  /**
   * Sends a request, without a body a GET, and reads its answer. The connection is closed when that fails or the signal aborts.
   * @throws GatewayError for a status of 400 or more, and for what goes wrong on the way; what `read` throws as it is.
   */
  async exchange<Result>(
    path: string,
    { signal, body }: { signal: AbortSignal; body?: JsonObject },
    read: (response: OutboundResponse, close: () => void) => Promise<Result>,
  ): Promise<Result> {
    // One listener costs a tenth of a composite signal.
    const closer = new AbortController();
    const leave = (): void => closer.abort(signal.reason);
    try {
      signal.throwIfAborted();
      signal.addEventListener('abort', leave, { once: true });
      const response = await this.#request(path, closer.signal, body);
      if (response.status >= 400) throw await answerFault(response, this.name, this.#mask);
      return await read(response, () => closer.abort());
    } catch (error) {
      closer.abort();
      signal.throwIfAborted();
      throw error instanceof OutboundError ? toUpstreamError(error, this.name) : error;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  async #request(path: string, signal: AbortSignal, body: JsonObject | undefined): Promise<OutboundResponse> {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#connection;
    try {
      return await this.#send({
        method: body === undefined ? 'GET' : 'POST',
        url: this.#urlOf(path),
        headers: {
          accept: body?.['stream'] === true ? 'text/event-stream, application/json' : 'application/json',
          'accept-encoding': 'identity',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...this.#headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        trust: { kind: 'configured', origin: this.#base.origin },
        signal,
        firstByteTimeoutMs,
        idleTimeoutMs,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw toUpstreamError(error, this.name, 'request');
    }
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

  /** An answer that is passed on as it came: it is the caller's, and may hold millions of numbers. */
  async readBytes(response: OutboundResponse, maxBytes: number): Promise<Uint8Array> {
    const { bytes, isTruncated } = await readBytes(response.body, maxBytes);
    if (isTruncated) throw this.invalid(`sends more than ${maxBytes} bytes`);
    // In windows, because a search of all of it takes long, and with what a secret needs that begins at the end of one.
    for (let start = 0; !this.#mask.isEmpty && start < bytes.byteLength; start += maskedBytes) {
      if (start > 0) await nextTurn();
      const window = bytes.subarray(start, start + maskedBytes + longestSecretBytes);
      const masked = this.#mask.bytes(window);
      if (masked !== window) bytes.set(masked, start);
    }
    return bytes;
  }

  /** An error that is reported within an answer. */
  reported(payload: JsonValue): GatewayError {
    return reportedFault(payload, this.name, this.#mask);
  }

  invalid(what: string): GatewayError {
    return new GatewayError('upstream_invalid_response', `The model backend "${this.name}" ${what}. Check its base URL.`);
  }

  incomplete(): GatewayError {
    return new GatewayError('upstream_incomplete', `The model backend "${this.name}" ended its stream before its answer was complete.`);
  }

  lineTooLong(): GatewayError {
    const message = `The model backend "${this.name}" sent a line of more than ${limits.upstreamLineBytes} bytes.`;
    return new GatewayError('upstream_line_too_long', message);
  }
}
