import { createMcpHandler, type McpServerFactory } from '@modelcontextprotocol/server';
import { limits } from '../../core/limits.ts';
import { chainKey } from '../../core/tools/gateway-chain.ts';
import type { OfferChange, OfferChanges, OfferList } from '../../core/tools/offer-changes.ts';
import { createOwnedEntries } from './owned-entries.ts';

/** Streams of one caller. An application has one per window, and a key may serve several applications. */
export const mcpChangeStreamsPerCaller = 100;
/** Each occupies a socket. */
const mcpChangeStreams = 1_000;

interface ListeningRequest {
  owner: string;
  /** Aborted when the client has left. */
  signal: AbortSignal;
}

/** The streams on which clients are told that their lists have changed. */
export interface ChangeStreams {
  /** A client of the protocol versions of 2025 opens one with a GET. Undefined if the caller has too many. */
  open(request: ListeningRequest): Response | undefined;
  /** A client of newer versions opens one with `subscriptions/listen`. `serve`: answers that request. */
  listen(request: ListeningRequest, serve: (handler: ReturnType<typeof createMcpHandler>) => Promise<Response>): Promise<Response>;
  /** Ends those of a key and its people, or of one of them. */
  closeAllOf(ownerId: string): void;
  close(): void;
}

interface ChangeStreamsOptions {
  changes: Pick<OfferChanges, 'subscribe'>;
  factory: McpServerFactory;
  gatewayId: string;
  newId: () => string;
  /** Aborted when the gateway begins to shut down, which would wait for these streams. */
  draining: AbortSignal;
}

export function createChangeStreams({ changes, factory, gatewayId, newId, draining }: ChangeStreamsOptions): ChangeStreams {
  const streams = createOwnedEntries<() => void>({ perOwner: Number.POSITIVE_INFINITY, total: mcpChangeStreams, end: (end) => end() });
  const mayOpen = (owner: string): boolean => !draining.aborted && streams.countOf(owner) < mcpChangeStreamsPerCaller;

  /** Remembers a stream until its client leaves. */
  function keep({ owner, signal }: ListeningRequest, end: () => void): void {
    const id = newId();
    streams.add(id, owner, end);
    const leave = (): void => streams.end(id);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
  }

  const close = (): void => streams.endWhere(() => true);
  draining.addEventListener('abort', close, { once: true });

  return {
    open(request) {
      if (!mayOpen(request.owner)) return undefined;
      const { body, end } = streamOfChanges((tell) => changes.subscribe(request.owner, tell), gatewayId);
      keep(request, end);
      return new Response(body, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' } });
    },
    listen(request, serve) {
      const bus = {
        publish: () => undefined,
        subscribe: (tell: Parameters<NonNullable<NonNullable<Parameters<typeof createMcpHandler>[1]>['bus']>['subscribe']>[0]) =>
          changes.subscribe(request.owner, (change) => {
            for (const list of change.lists) tell({ kind: `${list}_list_changed`, params: paramsOf(change, gatewayId) });
          }),
      };
      // A handler of the SDK has one bus for all callers, so each stream has its own. It refuses the request if there may be no further stream.
      const maxSubscriptions = mayOpen(request.owner) ? 1 : 0;
      const handler = createMcpHandler(factory, { bus, maxSubscriptions, keepAliveMs: limits.keepAliveMs });
      keep(request, () => void handler.close());
      return serve(handler);
    },
    closeAllOf: (ownerId) => streams.endAllOf(ownerId),
    close,
  };
}

/** Gateways may be each other's MCP servers: a gateway does not get its own notifications back. */
function paramsOf({ gateways = [] }: OfferChange, gatewayId: string): { _meta: { [chainKey]: string[] } } {
  return { _meta: { [chainKey]: [gatewayId, ...gateways] } };
}

/** Server-sent events. A client that reads slowly gets one notification for all changes it has missed. */
function streamOfChanges(
  subscribe: (tell: (change: OfferChange) => void) => () => void,
  gatewayId: string,
): { body: ReadableStream<Uint8Array>; end: () => void } {
  const encoder = new TextEncoder();
  const unread = new Map<OfferList, OfferChange>();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  function write(): void {
    if (controller === undefined || (controller.desiredSize ?? 0) <= 0) return;
    const texts = Array.from(unread, ([list, change]) => {
      const message = { jsonrpc: '2.0', method: `notifications/${list}/list_changed`, params: paramsOf(change, gatewayId) };
      return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
    });
    unread.clear();
    if (texts.length > 0) controller.enqueue(encoder.encode(texts.join('')));
  }

  const unsubscribe = subscribe((change) => {
    for (const list of change.lists) unread.set(list, change);
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
