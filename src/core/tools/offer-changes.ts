/** The lists that a client of `/mcp` reads. */
export type OfferList = 'tools' | 'resources' | 'prompts';

/** What callers are offered may have changed. */
export interface OfferChange {
  lists: readonly OfferList[];
  /** The key with its people, or the one of them, whose lists these are; absent: everybody's. */
  ownerId?: string | undefined;
  /** The key itself has other rights. */
  hasOtherRights?: true;
  /** Ids of the other gateways that told it, nearest first. */
  gateways?: readonly string[];
}

/** Notifies listening clients when their lists have changed. Without listeners it does nothing. */
export interface OfferChanges {
  publish: (change: OfferChange) => void;
  /** Changes that come close together are told once. Returns a function that ends it. */
  subscribe(callerId: string, listener: (change: OfferChange) => void): () => void;
}
