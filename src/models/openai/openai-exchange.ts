import { setImmediate as nextTurn } from 'node:timers/promises';
import { GatewayError } from '../../core/errors.ts';
import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { readBytes } from '../../core/outbound.ts';
import type { OutboundResponse, SendOutbound } from '../../core/outbound.ts';
import { createSecretMask } from '../../shared/secrets/secret-mask.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { OutputLimit } from '../output-limit.ts';
import { readJsonAnswer } from '../read-json-answer.ts';
import { answerFault, reportedFault, toUpstreamError } from '../upstream-errors.ts';

export interface OpenAiConnection {
  /** Such as `https://api.openai.com/v1`; a query string is kept. */
  baseUrl: string;
  key: string | undefined;
  /** Replace the gateway's own of the same name. */
  headers?: Record<string, string>;
  firstByteTimeoutMs: number;
  idleTimeoutMs: number;
  /** How errors name the backend; never its address. */
  name?: string;
}

/** What people write where a program wants some key; in the names of models these are words. */
const placeholders = new Set(['ollama', 'lm-studio', 'not-needed', 'placeholder', 'sk-no-key-required']);
/** Of an answer that is passed on as it came, what is searched for secrets in one turn of the event loop. */
const maskedBytes = 1024 * 1024;
const longestSecretBytes = 16 * 1024;

const secretHeader = /auth|key|token|secret|cookie/i;

/** Requests to one backend that speaks the OpenAI API, and the faults of its answers. The key leaves it in the header only. */
export class OpenAiExchange {
  readonly #connection: OpenAiConnection;
  readonly #send: SendOutbound;
  readonly #base: URL;
  readonly #name: string;
  readonly #mask: SecretMask;
  readonly #ownHeaders: Readonly<Record<string, string>>;
  /** By path: there are three. */
  readonly #urls = new Map<string, string>();

  constructor(connection: OpenAiConnection, send: SendOutbound) {
    this.#connection = connection;
    this.#send = send;
    this.#base = new URL(connection.baseUrl);
    this.#name = connection.name ?? 'OpenAI-compatible';
    const headers = Object.entries(connection.headers ?? {}).filter(([name]) => secretHeader.test(name));
    const { key = '' } = connection;
    this.#mask = createSecretMask([placeholders.has(key.toLowerCase()) ? '' : key, ...headers.map(([, value]) => value)]);
    this.#ownHeaders = {
      ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
      ...Object.fromEntries(Object.entries(connection.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
    };
  }

  #urlOf(path: string): string {
    const known = this.#urls.get(path);
    if (known !== undefined) return known;
    const url = new URL(this.#base);
    url.pathname = url.pathname.replace(/\/*$/, path);
    this.#urls.set(path, url.href);
    return url.href;
  }

  /** Sends; without a body it is a GET. Whatever the status, the body is the caller's to read. */
  async ask(path: string, signal: AbortSignal, body?: JsonObject): Promise<OutboundResponse> {
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#connection;
    try {
      return await this.#send({
        method: body === undefined ? 'GET' : 'POST',
        url: this.#urlOf(path),
        headers: {
          accept: body?.['stream'] === true ? 'text/event-stream, application/json' : 'application/json',
          'accept-encoding': 'identity',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...this.#ownHeaders,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        trust: { kind: 'configured', origin: this.#base.origin },
        signal,
        firstByteTimeoutMs,
        idleTimeoutMs,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw toUpstreamError(error, this.#name, 'request');
    }
  }

  /** Sends and reads a JSON answer. @throws GatewayError for a status of 400 or more, or anything but JSON. */
  exchange(path: string, signal: AbortSignal, body?: JsonObject): Promise<{ status: number; body: JsonValue }> {
    return this.#exchangeBy((response) => this.readJson(response), { path, signal, body });
  }

  /** The same, but the answer is passed on as it came: it is the caller's, and may hold millions of numbers. */
  exchangeBytes(path: string, signal: AbortSignal, body?: JsonObject): Promise<{ status: number; body: Uint8Array }> {
    return this.#exchangeBy((response) => this.#readBytes(response), { path, signal, body });
  }

  async #exchangeBy<Body>(
    read: (response: OutboundResponse) => Promise<Body>,
    { path, signal, body }: { path: string; signal: AbortSignal; body: JsonObject | undefined },
  ): Promise<{ status: number; body: Body }> {
    const closer = new AbortController();
    try {
      const response = await this.ask(path, AbortSignal.any([signal, closer.signal]), body);
      if (response.status >= 400) throw await this.faultOf(response);
      if (kindOf(response) !== 'json') throw this.invalid('answers without JSON');
      return { status: response.status, body: await read(response) };
    } catch (error) {
      signal.throwIfAborted();
      throw this.toFault(error);
    } finally {
      closer.abort();
    }
  }

  async #readBytes(response: OutboundResponse): Promise<Uint8Array> {
    const { bytes, isTruncated } = await readBytes(response.body, limits.embeddingsAnswerBytes);
    if (isTruncated) throw this.invalid(`sends more than ${limits.embeddingsAnswerBytes} bytes`);
    // In windows, because a search of all of it takes long, and with what a secret needs that begins at the end of one.
    for (let start = 0; !this.#mask.isEmpty && start < bytes.byteLength; start += maskedBytes) {
      if (start > 0) await nextTurn();
      const window = bytes.subarray(start, start + maskedBytes + longestSecretBytes);
      const masked = this.#mask.bytes(window);
      if (masked !== window) bytes.set(masked, start);
    }
    return bytes;
  }

  readJson(response: OutboundResponse): Promise<JsonValue> {
    return readJsonAnswer(response, this.#name, this.#mask);
  }

  /**
   * The object in a chunk or an answer; undefined when there is none.
   * @throws GatewayError for an error that is reported in it, at the top or within a choice.
   */
  toPayload(value: JsonValue): JsonObject | undefined {
    const payload = Array.isArray(value) ? value[0] : value;
    if (!isJsonObject(payload)) return undefined;
    if (isReport(payload['error']) || payload['object'] === 'error') throw this.reported(payload);
    const failed = Array.isArray(payload['choices'])
      ? payload['choices'].find((choice) => isJsonObject(choice) && isReport(choice['error']))
      : undefined;
    if (failed !== undefined) throw this.reported(failed);
    return payload;
  }

  /** For one answer. */
  createMeter(): OutputLimit {
    return new OutputLimit(this.#name);
  }

  faultOf(response: OutboundResponse): Promise<GatewayError> {
    return answerFault(response, this.#name, this.#mask);
  }

  reported(payload: JsonValue): GatewayError {
    return reportedFault(payload, this.#name, this.#mask);
  }

  invalid(what: string): GatewayError {
    return new GatewayError('upstream_invalid_response', `The model backend "${this.#name}" ${what}. Check its base URL.`);
  }

  incomplete(): GatewayError {
    return new GatewayError('upstream_incomplete', `The model backend "${this.#name}" ended its stream before its answer was complete.`);
  }

  toFault(error: unknown): GatewayError {
    return toUpstreamError(error, this.#name);
  }
}

function isReport(error: JsonValue | undefined): boolean {
  return isJsonObject(error) || (typeof error === 'string' && error !== '');
}

/** By content type alone. A compressed answer was not asked for and could be a bomb. */
export function kindOf(response: OutboundResponse): 'json' | 'events' | undefined {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') return undefined;
  const type = (response.headers['content-type'] ?? '').toLowerCase();
  if (type.includes('text/event-stream')) return 'events';
  return /^application\/(?:[\w.-]+\+)?json\b/.test(type.trim()) ? 'json' : undefined;
}

export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
