import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { waitAtMost } from '../../shared/async/wait-for.ts';
import type { FoundAuthorization } from './oauth/discover-authorization.ts';
import { requireEndpoint } from './oauth/authorization-metadata.ts';
import type { OAuthClient } from './oauth/oauth-client.ts';

/** Longer than anybody reads the page before pressing its button. */
const discoveredMs = 5 * 60 * 1000;
/** Each is the metadata of a server, mostly a few kilobytes. The least recently used ones are evicted, and looked up again. */
const maxDiscovered = 200;

export interface DiscoveredSignIn {
  found: FoundAuthorization;
  /** The origin of the page where people sign in. */
  signsInAt: string;
}

/** Where people sign in: looked up once for the page of a link and for its button, by person and connection. */
export interface DiscoveredSignIns {
  /** Undefined if it is still being looked up after `waitMs`. @throws GatewayError as `OAuthClient.discover`, once */
  find(callerId: string, record: ToolServerRecord, waitMs: number): Promise<DiscoveredSignIn | undefined>;
  /** For the last time: the next sign-in looks it up again. @throws GatewayError as `OAuthClient.discover` */
  take(callerId: string, record: ToolServerRecord): Promise<DiscoveredSignIn>;
}

type Outcome = DiscoveredSignIn | { error: unknown };

interface Discovery {
  record: ToolServerRecord;
  outcome: Promise<Outcome>;
  /** Milliseconds since 1970. */
  until: number;
}

export function createDiscoveredSignIns(oauth: Pick<OAuthClient, 'discover'>, now: () => number): DiscoveredSignIns {
  const discoveries = new LRUCache<string, Discovery>({ max: maxDiscovered });
  const keyOf = (callerId: string, { id }: ToolServerRecord): string => JSON.stringify([callerId, id]);

  async function discover(record: ToolServerRecord): Promise<Outcome> {
    const found = await oauth.discover(record);
    return { found, signsInAt: new URL(requireEndpoint(record, found.server).authorize).origin };
  }

  function lookUp(callerId: string, record: ToolServerRecord): Promise<Outcome> {
    const known = discoveries.get(keyOf(callerId, record));
    // A changed connection is another one.
    if (known !== undefined && known.until > now() && isDeepStrictEqual(known.record, record)) return known.outcome;
    const outcome = discover(record).catch((error: unknown): Outcome => ({ error }));
    discoveries.set(keyOf(callerId, record), { record, outcome, until: now() + discoveredMs });
    return outcome;
  }

  /** The next sign-in looks it up again. */
  function forget(callerId: string, record: ToolServerRecord, outcome: Promise<Outcome>): void {
    const key = keyOf(callerId, record);
    if (discoveries.peek(key)?.outcome === outcome) discoveries.delete(key);
  }

  return {
    async find(callerId, record, waitMs) {
      const asked = lookUp(callerId, record);
      const outcome = await waitAtMost(waitMs, asked, () => undefined);
      if (outcome === undefined || 'found' in outcome) return outcome;
      forget(callerId, record, asked);
      throw outcome.error;
    },
    async take(callerId, record) {
      const asked = lookUp(callerId, record);
      const outcome = await asked;
      forget(callerId, record, asked);
      if ('found' in outcome) return outcome;
      throw outcome.error;
    },
  };
}
