import { GatewayError } from '../../core/errors.ts';
import type { Caller } from '../../core/callers/caller.ts';
import type { OfferChanges } from '../../core/tools/offer-changes.ts';
import type { ResourceWatcher, ServerContents } from '../../core/tools/server-contents.ts';
import { createOwnedEntries } from './owned-entries.ts';

/** Of all sessions and streams of a caller: an application shows tens of resources at the same time. */
export const mcpSubscriptionsPerCaller = 100;
/** Each may hold a subscription with an MCP server. */
const mcpSubscriptions = 1_000;

/** The resources to which clients have subscribed. */
export interface ResourceSubscriptions {
  /** Until the signal is aborted. @throws GatewayError as `ServerContents`, and `rate_limit_exceeded` if the caller has too many */
  add(uri: string, asker: { caller: Caller; signal: AbortSignal }, watcher: ResourceWatcher): Promise<void>;
  /** Ends those of a key and its people, or of one of them. */
  endAllOf(ownerId: string): void;
}

interface ResourceSubscriptionsOptions {
  contents: Pick<ServerContents, 'watch'>;
  changes: Pick<OfferChanges, 'subscribe'>;
  newId: () => string;
}

export function createResourceSubscriptions({ contents, changes, newId }: ResourceSubscriptionsOptions): ResourceSubscriptions {
  const entries = createOwnedEntries<() => void>({ perOwner: Number.POSITIVE_INFINITY, total: mcpSubscriptions, end: (end) => end() });

  return {
    async add(uri, { caller, signal }, { onUpdated, onEnded }) {
      if (entries.countOf(caller.id) >= mcpSubscriptionsPerCaller)
        throw new GatewayError('rate_limit_exceeded', `A key may have ${mcpSubscriptionsPerCaller} subscriptions. End others first.`);
      const id = newId();
      const ending = new AbortController();
      // With other rights it may be allowed to read other resources; those who still want this one subscribe again.
      const unlisten = changes.subscribe(caller.id, ({ hasOtherRights }) => {
        if (hasOtherRights === true) entries.end(id);
      });
      entries.add(id, caller.id, () => {
        ending.abort();
        unlisten();
        onEnded();
      });
      const leave = (): void => entries.end(id);
      signal.addEventListener('abort', leave, { once: true });
      if (signal.aborted) leave();
      try {
        await contents.watch(uri, { caller, signal: ending.signal }, { onUpdated, onEnded: leave });
      } catch (error) {
        leave();
        throw error;
      }
    },
    endAllOf: (ownerId) => entries.endAllOf(ownerId),
  };
}

/** The subscriptions of one session, or of one stream of the versions since 2026. */
export interface SessionSubscriptions {
  /** @throws GatewayError as `ResourceSubscriptions` */
  subscribe(uri: string, caller: Caller): Promise<void>;
  unsubscribe(uri: string): void;
  /** Has updates told on a stream, with those since the stream before. Gives a function that ends it. */
  attach(tell: (uri: string) => void): () => void;
  end(): void;
}

/** `onLost`: a subscription has ended that the client has not. */
export function createSessionSubscriptions(
  subscriptions: Pick<ResourceSubscriptions, 'add'>,
  onLost: () => void = () => undefined,
): SessionSubscriptions {
  const open = new Map<string, { ending: AbortController; begun: Promise<void> }>();
  const untold = new Set<string>();
  let tell: ((uri: string) => void) | undefined;

  function unsubscribe(uri: string): void {
    const known = open.get(uri);
    open.delete(uri);
    untold.delete(uri);
    known?.ending.abort();
  }

  async function begin(uri: string, caller: Caller, { signal }: AbortController): Promise<void> {
    let isOn = false;
    const onUpdated = (): void => {
      if (signal.aborted) return;
      if (tell === undefined) untold.add(uri);
      else tell(uri);
    };
    const onEnded = (): void => {
      if (signal.aborted) return;
      unsubscribe(uri);
      if (isOn) onLost();
    };
    try {
      await subscriptions.add(uri, { caller, signal }, { onUpdated, onEnded });
      isOn = true;
    } catch (error) {
      if (!signal.aborted) unsubscribe(uri);
      throw error;
    }
  }

  return {
    subscribe(uri, caller) {
      const known = open.get(uri);
      if (known !== undefined) return known.begun;
      const ending = new AbortController();
      const begun = begin(uri, caller, ending);
      open.set(uri, { ending, begun });
      return begun;
    },
    unsubscribe,
    attach(toStream) {
      tell = toStream;
      for (const uri of untold) toStream(uri);
      untold.clear();
      return () => {
        if (tell === toStream) tell = undefined;
      };
    },
    end() {
      for (const uri of open.keys()) unsubscribe(uri);
    },
  };
}
