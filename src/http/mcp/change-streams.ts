import { createMcpHandler, type McpServerFactory } from '@modelcontextprotocol/server';
import { limits } from '../../core/limits.ts';
import { chainKey } from '../../core/tools/gateway-chain.ts';
import type { Caller } from '../../core/callers/caller.ts';
import type { OfferChange, OfferChanges } from '../../core/tools/offer-changes.ts';
import { longestTimerMs } from '../../shared/async/timer-limits.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { createOwnedEntries } from './owned-entries.ts';
import {
  createSessionSubscriptions,
  mcpSubscriptionsPerCaller,
  type ResourceSubscriptions,
  type SessionSubscriptions,
} from './resource-subscriptions.ts';

/** Streams of one caller. An application has one per window, and a key may serve several applications. */
export const mcpChangeStreamsPerCaller = 100;
/** Each occupies a socket. */
const mcpChangeStreams = 1_000;

interface ListeningRequest {
  caller: Caller;
  /** Aborted when the client has left. */
  signal: AbortSignal;
}

/** The streams on which clients are told that their lists have changed. */
export interface ChangeStreams {
  /** A client of the protocol versions of 2025 opens one with a GET. Undefined if the caller has too many. */
  open(request: ListeningRequest & { updates?: Pick<SessionSubscriptions, 'attach'> }): Response | undefined;
  /** A client of newer versions opens one with `subscriptions/listen`, its message. `serve`: answers it, without resources that are not subscribed to. */
  listen(
    request: ListeningRequest & { message: JsonObject },
    serve: (handler: ReturnType<typeof createMcpHandler>, message: JsonObject) => Promise<Response>,
  ): Promise<Response>;
  /** Ends those of a key and its people, or of one of them. */
  closeAllOf(ownerId: string): void;
  close(): void;
}

interface ChangeStreamsOptions {
  changes: Pick<OfferChanges, 'subscribe'>;
  factory: McpServerFactory;
  subscriptions: ResourceSubscriptions;
  gatewayId: string;
  newId: () => string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Aborted when the gateway begins to shut down, which would wait for these streams. */
  draining: AbortSignal;
}

export function createChangeStreams({
  changes,
  factory,
  subscriptions,
  gatewayId,
  newId,
  now,
  draining,
}: ChangeStreamsOptions): ChangeStreams {
  const streams = createOwnedEntries<() => void>({ perOwner: Number.POSITIVE_INFINITY, total: mcpChangeStreams, end: (end) => end() });
  const mayOpen = (owner: string): boolean => !draining.aborted && streams.countOf(owner) < mcpChangeStreamsPerCaller;

  /** Remembers a stream until its client leaves, or the token that names its caller ends. A key that ends has all its streams closed. */
  function keep({ caller, signal }: ListeningRequest, end: () => void): () => void {
    const id = newId();
    const leave = (): void => streams.end(id);
    const leftMs = (caller.tokenExpiresAt ?? Infinity) - now();
    const timer = leftMs < longestTimerMs ? setTimeout(leave, leftMs).unref() : undefined;
    streams.add(id, caller.id, () => {
      clearTimeout(timer);
      end();
    });
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    return leave;
  }

  const close = (): void => streams.endWhere(() => true);
  draining.addEventListener('abort', close, { once: true });

  return {
    open(request) {
      const { caller, updates } = request;
      if (!mayOpen(caller.id)) return undefined;
      const { body, end } = streamOfChanges((tell) => {
        const leave = changes.subscribe(caller.id, (change) => {
          for (const list of change.lists) tell({ method: `notifications/${list}/list_changed`, params: paramsOf(change, gatewayId) });
        });
        const detach = updates?.attach((uri) => tell({ method: 'notifications/resources/updated', params: { uri } }));
        return () => {
          leave();
          detach?.();
        };
      });
      keep(request, end);
      return new Response(body, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' } });
    },
    async listen(request, serve) {
      const { caller, message } = request;
      const updates = createSessionSubscriptions(subscriptions, () => leave());
      const bus = {
        publish: () => undefined,
        subscribe(tell: Parameters<NonNullable<NonNullable<Parameters<typeof createMcpHandler>[1]>['bus']>['subscribe']>[0]) {
          const detach = updates.attach((uri) => tell({ kind: 'resource_updated', uri }));
          const unsubscribe = changes.subscribe(caller.id, (change) => {
            for (const list of change.lists) tell({ kind: `${list}_list_changed`, params: paramsOf(change, gatewayId) });
          });
          return () => {
            detach();
            unsubscribe();
          };
        },
      };
      // A handler of the SDK has one bus for all callers, so each stream has its own. It refuses the request if there may be no further stream.
      const maxSubscriptions = mayOpen(caller.id) ? 1 : 0;
      const handler = createMcpHandler(factory, { bus, maxSubscriptions, keepAliveMs: limits.keepAliveMs });
      const leave = keep(request, () => {
        updates.end();
        void handler.close();
      });
      return serve(handler, maxSubscriptions === 0 ? message : await subscribeTo(message, (uri) => updates.subscribe(uri, caller)));
    },
    closeAllOf: (ownerId) => streams.endAllOf(ownerId),
    close,
  };
}

/** Gateways may be each other's MCP servers: a gateway does not get its own notifications back. */
function paramsOf({ gateways = [] }: OfferChange, gatewayId: string): { _meta: { [chainKey]: string[] } } {
  return { _meta: { [chainKey]: [gatewayId, ...gateways] } };
}

/** A message that listens, with those of its resources that could be subscribed to: the client is told which. */
async function subscribeTo(message: JsonObject, subscribe: (uri: string) => Promise<void>): Promise<JsonObject> {
  const { params } = message;
  const wanted = isJsonObject(params) ? params['notifications'] : undefined;
  if (!isJsonObject(params) || !isJsonObject(wanted) || !Array.isArray(wanted['resourceSubscriptions'])) return message;
  const uris = [...new Set(wanted['resourceSubscriptions'].filter((uri) => typeof uri === 'string'))].slice(0, mcpSubscriptionsPerCaller);
  const results = await Promise.allSettled(uris.map(subscribe));
  const resourceSubscriptions = uris.filter((_uri, index) => results[index]?.status === 'fulfilled');
  return { ...message, params: { ...params, notifications: { ...wanted, resourceSubscriptions } } };
}

/** Server-sent events. A client that reads slowly gets one notification for all changes it has missed. */
function streamOfChanges(subscribe: (tell: (message: { method: string; params: JsonObject }) => void) => () => void): {
  body: ReadableStream<Uint8Array>;
  end: () => void;
} {
  const encoder = new TextEncoder();
  /** By what a later one replaces. */
  const unread = new Map<string, JsonObject>();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  function write(): void {
    if (controller === undefined || (controller.desiredSize ?? 0) <= 0) return;
    const texts = Array.from(unread.values(), (message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`);
    unread.clear();
    if (texts.length > 0) controller.enqueue(encoder.encode(texts.join('')));
  }

  const unsubscribe = subscribe(({ method, params }) => {
    const { uri } = params;
    unread.set(typeof uri === 'string' ? `${method} ${uri}` : method, { jsonrpc: '2.0', method, params });
    write();
  });
  const keepAlive = setInterval(() => {
    if ((controller?.desiredSize ?? 0) > 0) controller?.enqueue(encoder.encode(':\n\n'));
  }, limits.keepAliveMs).unref();

  function end(): void {
    unsubscribe();
    clearInterval(keepAlive);
    controller?.close();
    controller = undefined;
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(started) {
        controller = started;
        // Its first bytes have the headers sent.
        controller.enqueue(encoder.encode(':\n\n'));
      },
      pull: write,
      cancel() {
        controller = undefined;
        end();
      },
    },
    { highWaterMark: 16 },
  );
  return { body, end };
}
