import type { JsonValue } from '../shared/json.ts';

/** Header of every answer of `/mcp`: the id that a gateway has drawn at its start, by which it knows itself when it asks its own address. */
export const gatewayHeader = 'x-toolwharf-gateway';
/** In `_meta` of every function that `/mcp` lists: the ids of the gateways that it came through, the one that lists it first. */
export const chainKey = 'toolwharf/gateways';
/** Gateways between a function and the one that offers it; each adds what a call waits for. */
export const maxChain = 8;

/** What somebody else says there, bounded. Undefined where it says nothing. */
export function readChain(meta: { readonly [key: string]: unknown } | undefined): string[] | undefined {
  const said = meta?.[chainKey] as JsonValue | undefined;
  if (!Array.isArray(said)) return undefined;
  return said.slice(0, maxChain).flatMap((id) => (typeof id === 'string' && id.length <= 64 ? [id] : []));
}
