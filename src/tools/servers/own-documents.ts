import { isDeepStrictEqual } from 'node:util';
import { isWithin, keyIdOf } from '../../core/callers/people.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import { FairMap } from '../../shared/fairness/fair-map.ts';
import { failureMemoryMs, type Opening } from '../definitions/opened-server.ts';
import type { OwnToolServer, OwnUse } from '../definitions/own-use.ts';
import { openServer } from './open-registered-server.ts';

/** Documents that were read with people's own credentials. Beyond it, the key with the most loses its least recently used one. */
const ownDocuments = 200;
/** After this it is read again: a pause in a conversation. */
const ownDocumentMs = 15 * 60 * 1000;

/** API servers that show their document to nobody without a credential, each opened with one person's and used only for that person's calls. */
export interface OwnDocuments {
  /** Reads the document once for a time; another key or a changed record makes another reading. Never rejects. */
  open(use: OwnUse): Promise<Opening>;
  forget(callerId: string, serverId: string): void;
  /** Those of a key and its people, or of one of them. */
  forgetAllOf(ownerId: string): void;
  /** Aborts running loads. */
  close(): void;
}

interface OwnDocumentsOptions {
  send: SendOutbound;
  gatewayId?: string | undefined;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
}

interface OwnDocument {
  callerId: string;
  own: OwnToolServer;
  opening: Promise<Opening>;
  endsAt: number;
}

export function createOwnDocuments({ send, gatewayId, now }: OwnDocumentsOptions): OwnDocuments {
  const documents = new FairMap<OwnDocument>({ entries: ownDocuments, characters: ownDocuments });
  const closing = new AbortController();

  const openWith = (own: OwnToolServer): Promise<Opening> => openServer(own, send, { signal: closing.signal, isChecked: false, gatewayId });

  /** A token that the server rejects is refreshed once. */
  async function openRenewing({ own, renew }: OwnUse): Promise<Opening> {
    const opening = await openWith(own);
    if (!isUnauthorized(opening) || own.signInId === undefined) return opening;
    const renewed = await renew({ key: own.key ?? '' }).catch(() => undefined);
    if (renewed === undefined) return opening;
    const second = await openWith(renewed);
    if (isUnauthorized(second)) await renew({ key: renewed.key ?? '', isFinal: true }).catch(() => undefined);
    return second;
  }

  return {
    open(use) {
      const { callerId, own } = use;
      const key = keyOf(callerId, own.id);
      const known = documents.use(key);
      if (known !== undefined && known.endsAt > now() && isDeepStrictEqual(known.own, own)) return known.opening;
      const entry: OwnDocument = { callerId, own, opening: openRenewing(use), endsAt: now() + ownDocumentMs };
      documents.set(key, { owner: keyIdOf(callerId), value: entry, characters: 1 });
      void entry.opening.then(({ type }) => {
        if (type !== 'opened') entry.endsAt = now() + failureMemoryMs;
      });
      return entry.opening;
    },
    forget: (callerId, serverId) => documents.delete(keyOf(callerId, serverId)),
    forgetAllOf(ownerId) {
      for (const [key, { callerId }] of Array.from(documents)) if (isWithin(callerId, ownerId)) documents.delete(key);
    },
    close: () => closing.abort(new Error('The gateway is shutting down.')),
  };
}

function isUnauthorized(opening: Opening): boolean {
  return opening.type === 'unreachable' && opening.cause === 'unauthorized';
}

function keyOf(callerId: string, serverId: string): string {
  return JSON.stringify([callerId, serverId]);
}
