import { setTimeout as sleep } from 'node:timers/promises';

import { Ollama } from 'ollama/browser';

import type { OutboundResponse, SendOutbound } from '../../core/outbound.ts';
import { createSecretMask } from '../../shared/secrets/secret-mask.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { NdjsonReader, requireAnswer } from './ollama-lines.ts';
import { readJsonAnswer } from '../read-json-answer.ts';
import { answerFault, toUpstreamError } from '../upstream-errors.ts';

/** An Ollama server, or a proxy in front of one. */
export interface OllamaConnection {
  /** With or without a path; a user and password in it become Basic authorization. */
  baseUrl: string;
  /** For error messages; default `ollama`. */
  name?: string;
  /** For a server behind a proxy or in the cloud, sent as a bearer token. */
  key?: string | undefined;
  headers?: Record<string, string>;
  /** From the request to the first token: loading the model is part of it. */
  firstByteTimeoutMs: number;
  idleTimeoutMs: number;
  /** The largest `num_ctx` that the gateway sets by itself, in tokens. */
  maxContext: number;
}

export interface OllamaCall {
  client: Ollama;
  /** Ends the call. Nothing of it stays open, whether its answer was read to the end or not. */
  close(): Promise<void>;
}

const secretHeader = /auth|key|token|secret|cookie/i;
/** After the last line the end of the body is usually there already; waiting for it keeps the connection for the next request. */
const endWaitMs = 50;

/**
 * The `ollama` package over the gateway's own door, for one request. The package's entry for browsers is used on purpose: the one for Node
 * reads a file when an image's base64 happens to be the name of one. Faults are found here, because the package writes unreadable lines
 * to the console and goes on, and knows neither limits nor a signal.
 */
export function openOllama(connection: OllamaConnection, send: SendOutbound, signal: AbortSignal): OllamaCall {
  const name = nameOf(connection);
  const { host, origin, headers } = addressOf(connection);
  const mask = createSecretMask(Object.entries(headers).flatMap(([name, value]) => (secretHeader.test(name) ? [value] : [])));
  const closing = new AbortController();
  const bodies: CheckedBody[] = [];

  const fetchThroughDoor = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const { method = 'GET', body } = init;
    const sent = send({
      method,
      url: String(input),
      headers: { ...forwardedHeaders(init), ...headers },
      ...(typeof body === 'string' ? { body } : {}),
      trust: { kind: 'configured', origin },
      signal: AbortSignal.any([signal, closing.signal]),
      firstByteTimeoutMs: connection.firstByteTimeoutMs,
      idleTimeoutMs: connection.idleTimeoutMs,
    });
    const response = await sent.catch((error: unknown) => {
      signal.throwIfAborted();
      throw toUpstreamError(error, name, 'request');
    });
    if (response.status >= 400) throw await answerFault(response, name, mask);
    if (!String(input).endsWith('/api/chat')) return Response.json(requireAnswer(await readJsonAnswer(response, name, mask), name, mask));
    const checked = new CheckedBody(response, name, mask);
    bodies.push(checked);
    return new Response(checked.stream());
  };

  return {
    client: new Ollama({ host, fetch: fetchThroughDoor }),
    async close() {
      const ends = await Promise.all(bodies.map((body) => body.reachEnd()));
      // An abort after the end could still close a connection that is about to be used again.
      if (ends.includes(false)) closing.abort();
    },
  };
}

export function nameOf(connection: OllamaConnection): string {
  return connection.name ?? 'ollama';
}

/** The package's own headers name the machine's platform and version, which are nobody's business. */
function forwardedHeaders(init: RequestInit): Record<string, string> {
  const headers = new Headers(init.headers);
  const kept = ['accept', 'authorization', 'content-type'].flatMap((name) => {
    const value = headers.get(name);
    return value === null || (name === 'content-type' && init.body === undefined) ? [] : [[name, value]];
  });
  return Object.fromEntries(kept) as Record<string, string>;
}

function addressOf(connection: OllamaConnection): { host: string; origin: string; headers: Record<string, string> } {
  const url = new URL(connection.baseUrl);
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const basic = url.username === '' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;
  const authorization = connection.key === undefined ? basic : `Bearer ${connection.key}`;
  url.username = '';
  url.password = '';
  const headers = { ...(authorization === undefined ? {} : { authorization }), ...lowerCased(connection.headers ?? {}) };
  return { host: url.href.replace(/\/+$/u, ''), origin: url.origin, headers };
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** A streamed body whose lines have been checked. Reads from the peer only when it is read itself. */
class CheckedBody {
  readonly #chunks: AsyncGenerator<Uint8Array, void, undefined>;
  readonly #reader: NdjsonReader;

  constructor(response: OutboundResponse, name: string, mask: SecretMask) {
    this.#reader = new NdjsonReader(name, mask);
    this.#chunks = this.#reader.read(response.body);
  }

  stream(): ReadableStream<Uint8Array> {
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        const next = await this.#chunks.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      } catch (error) {
        controller.error(error);
      }
    };
    return new ReadableStream({ pull }, { highWaterMark: 0 });
  }

  /** Whether the body is over, after waiting a moment for its end if the answer is. */
  async reachEnd(): Promise<boolean> {
    if (!this.#reader.isDone) return false;
    const timer = new AbortController();
    const ended = this.#chunks.next().then(
      () => true,
      () => false,
    );
    const late = sleep(endWaitMs, false, { signal: timer.signal }).catch(() => false);
    const isOver = await Promise.race([ended, late]);
    timer.abort();
    return isOver;
  }
}
