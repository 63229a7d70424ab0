import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';

import { LRUCache } from 'lru-cache';
import type { Agent, Dispatcher } from 'undici';

import { OutboundError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { gatewayUser, type OutboundRequest, type OutboundResponse, type SendOutbound, type TraceHeaders } from '../../core/outbound.ts';
import { checkMethod, checkTimeLimit, parseDestination, prepareHeaders, type CheckedHeaders } from './check-request.ts';
import { literalClass } from './classify-address.ts';
import { createAgent } from './create-agent.ts';
import { createTurnsByOrigin, type ConnectionTurns, type ConnectionWait } from './connection-turns.ts';
import {
  decideEgress,
  explainHiddenName,
  explainRefusal,
  originOf,
  type DecidedTrust,
  type EgressDecision,
  type EgressRules,
  type Reach,
} from './egress.ts';
import { explainFailedRequest } from './explain-failure.ts';
import { waitUnlessAborted } from '../../shared/async/wait-for.ts';
import { AddressRefused, createNameResolver } from './resolve-names.ts';
import { ResponseReceiver, type ResponseHead } from './response-receiver.ts';
import { refuseRedirect } from './refuse-redirect.ts';

export interface OutboundOptions {
  egress: EgressRules;
  /** Further requests wait for a connection, within their first-byte limit. */
  maxConnectionsPerOrigin?: number;
  /** Called for each request that has to wait because of that limit. */
  onConnectionLimit?: (origin: string, connections: number) => void;
  connectTimeoutMs?: number;
  /** Resolves names; tests replace it. */
  lookup?: LookupFunction;
}

/**
 * Bytes of an answer that are buffered before its connection is paused. As much as Node reads from a socket at once (64 KiB): when paused, undici puts
 * unparsed bytes back after it has read more, so with a lower value the socket's buffer would grow with every pause.
 */
const pausedAtBytes = 64 * 1024;
/** Cached egress decisions; there are only a handful of backends. */
const maxDecided = 1_000;
/** Longer URLs contain arguments of a call, so they are not repeated, and would only fill the cache. */
const longestDecided = 200;
/** Added to the limits of a request for the fallback, which ends one whose body is neither read nor cancelled. */
const abandonedBodyMs = 10 * 60 * 1000;

/**
 * The only way out to the network. Connections are shared per trust and reach, so that a request never uses one that was opened under looser rules.
 * A request is sent only once: whether a peer acted on a failed one is unknown, and only the calling code can know whether a retry is harmless.
 * `close` ends every connection at once.
 * @throws TypeError when an entry of `egress.allow` is not an origin.
 */
export function createOutbound(options: OutboundOptions): { send: SendOutbound; close: () => Promise<void> } {
  const wrong = options.egress.allow.find((entry) => originOf(entry) === undefined);
  if (wrong !== undefined)
    throw new TypeError(`TOOL_SERVER_ALLOW contains ${JSON.stringify(wrong)}, which is not an http or https origin.`);
  const names = createNameResolver(options.lookup);
  const connections = options.maxConnectionsPerOrigin ?? limits.connectionsPerOrigin;
  const agents = new Map<string, LimitedAgent>();
  /** Only for configured origins, where the same URLs are requested repeatedly; by URL, of the origin that was configured last. */
  const decided = new LRUCache<string, Destination>({ max: maxDecided });
  let isClosed = false;

  function agentFor(trust: OutboundRequest['trust'], reach: Reach): LimitedAgent {
    const key = `${trust.kind} ${reach}`;
    const known = agents.get(key);
    if (known !== undefined) return known;
    const turnsAt = createTurnsByOrigin(connections, (origin) => options.onConnectionLimit?.(origin, connections));
    const created = { agent: createAgent(reach, { ...options, names, connections }), turnsAt };
    agents.set(key, created);
    return created;
  }

  function destinationOf(text: string, trust: DecidedTrust): Destination {
    const configured = trust.kind === 'configured' && text.length <= longestDecided ? trust.origin : undefined;
    const known = configured === undefined ? undefined : decided.get(text);
    if (known !== undefined && known.configured === configured) return known;
    const url = parseDestination(text);
    const { origin, pathname, search } = url;
    const destination = { url, origin, path: pathname + search, configured, decision: decideEgress(url, trust, options.egress) };
    if (configured !== undefined) decided.set(text, destination);
    return destination;
  }

  /** @throws OutboundError `denied`, `unreachable`, `invalid_request`; the signal's reason */
  function routeOf(request: OutboundRequest, trust: DecidedTrust): Route {
    request.signal.throwIfAborted();
    const destination = destinationOf(request.url, trust);
    const { origin, decision } = destination;
    if (!decision.isAllowed) throw new OutboundError('denied', decision.message);
    if (isClosed) throw new OutboundError('unreachable', `${origin} was not called, because the gateway is shutting down.`);
    return { limited: agentFor(request.trust, decision.reach), destination, egress: options.egress };
  }

  /** @throws as `routeOf` */
  async function sendLinked(request: OutboundRequest, from: string): Promise<OutboundResponse> {
    const reach = await waitUnlessAborted(names.reachFrom(from), request.signal);
    return exchange(request, () => routeOf(request, { kind: 'linked', reach }));
  }

  function send(request: OutboundRequest): Promise<OutboundResponse> {
    const { trust } = request;
    return trust.kind === 'linked' ? sendLinked(request, trust.from) : exchange(request, () => routeOf(request, trust));
  }

  async function close(): Promise<void> {
    isClosed = true;
    await Promise.all([...agents.values()].map(({ agent }) => agent.destroy()));
  }

  return { send, close };
}

interface Destination {
  url: URL;
  /** Of the URL. */
  origin: string;
  /** With the query. */
  path: string;
  /** The origin that an operator has configured, by which it was decided. */
  configured: string | undefined;
  decision: EgressDecision;
}

interface LimitedAgent {
  agent: Agent;
  turnsAt: (origin: string) => ConnectionTurns;
}

interface Route {
  limited: LimitedAgent;
  destination: Destination;
  egress: EgressRules;
}

async function exchange(request: OutboundRequest, findRoute: () => Route): Promise<OutboundResponse> {
  const { limited, destination, egress } = findRoute();
  const { url, origin, path } = destination;
  const method = checkMethod(request.method);
  const headers = prepareHeaders(request.headers ?? {});
  const firstByteTimeoutMs = checkTimeLimit(request.firstByteTimeoutMs);
  const idleTimeoutMs = checkTimeLimit(request.idleTimeoutMs);
  // Our own timers normally end the request first. The same for both, because undici would make a timer anew for each.
  const fallbackMs = checkTimeLimit(Math.max(firstByteTimeoutMs, idleTimeoutMs) + abandonedBodyMs);

  const turns = limited.turnsAt(origin);
  const { caller = gatewayUser } = request;
  const receiver = new ResponseReceiver({
    signal: request.signal,
    origin,
    idleTimeoutMs,
    bufferedBytes: pausedAtBytes,
    onDone: () => turns.free(caller),
  });
  const timer = setTimeout(() => {
    const seconds = `${firstByteTimeoutMs / 1000} s`;
    const message = receiver.isWaiting
      ? `No connection to ${origin} became free within ${seconds}: as many as UPSTREAM_MAX_CONNECTIONS allows are in use.`
      : `${origin} did not answer within ${seconds}.`;
    receiver.fail(new OutboundError('timeout', message));
  }, firstByteTimeoutMs);
  try {
    const wait = turns.take(caller);
    if (wait !== undefined) await takeTurn(wait, receiver);
    const body = toBody(request.body);
    dispatch(
      limited.agent,
      { origin, path, method, headers: withTrace(headers, request.trace), body, headersTimeout: fallbackMs, bodyTimeout: fallbackMs },
      receiver,
    );
    const head = await receiver.head;
    const answer = { status: head.status, headers: joinHeaders(head.headers), body: receiver };
    const refusal = refuseRedirect(answer, url, request.takesCompressed === true ? { ...headers, wantsIdentity: false } : headers);
    if (refusal !== undefined) throw refusal;
    return answer;
  } catch (error) {
    receiver.fail(error);
    if (request.signal.aborted) throw request.signal.reason;
    if (isNameHidden(request, destination) && (error instanceof AddressRefused || isUnknownName(error)))
      throw new OutboundError('denied', explainHiddenName(origin, egress), error);
    if (error instanceof AddressRefused)
      throw new OutboundError('denied', explainRefusal(origin, error.addressClass, { trust: request.trust, rules: egress }));
    throw explainFailedRequest(error, origin);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether whoever sends the request must not learn what the name of its server leads to. */
function isNameHidden({ trust }: OutboundRequest, { url, decision }: Destination): boolean {
  return trust.kind === 'request' && decision.isAllowed && decision.reach === 'public' && literalClass(url.hostname) === undefined;
}

function isUnknownName(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOTFOUND' || error.code === 'ENODATA');
}

/** Headers of a backend are the same for all its requests; only those of the trace are not. */
function withTrace({ flat, isTraced }: CheckedHeaders, trace: TraceHeaders | undefined): string[] {
  if (trace === undefined || isTraced) return flat;
  const { traceparent, tracestate } = trace;
  return [...flat, 'traceparent', traceparent, ...(tracestate === undefined ? [] : ['tracestate', tracestate])];
}

function toBody(body: OutboundRequest['body']): string | Uint8Array | Readable | null {
  if (body === undefined) return null;
  return typeof body === 'string' || body instanceof Uint8Array ? body : Readable.from(body, { objectMode: false });
}

/** @throws what ended the request meanwhile */
async function takeTurn(wait: ConnectionWait, receiver: ResponseReceiver): Promise<void> {
  try {
    await Promise.race([wait.turn, receiver.head]);
  } catch (error) {
    wait.leave();
    throw error;
  }
}

/** A request that cannot be dispatched fails like one that gets no answer, so that its head is awaited in any case. */
function dispatch(agent: Agent, options: Dispatcher.DispatchOptions, receiver: ResponseReceiver): void {
  try {
    agent.dispatch(options, receiver);
  } catch (error) {
    receiver.onResponseError(null, error);
  }
}

/** In place: undici makes an object for each answer, with names in lower case. */
function joinHeaders(headers: ResponseHead['headers']): Record<string, string> {
  for (const name in headers) {
    const value = headers[name];
    if (typeof value !== 'string') headers[name] = value?.join(', ') ?? '';
  }
  return headers as Record<string, string>;
}
