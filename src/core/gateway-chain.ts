import type { JsonValue } from '../shared/json.ts';

/** Header of every answer of `/mcp`: the gateway's random id of this start, with which it recognizes requests to itself. */
export const gatewayHeader = 'x-toolwharf-gateway';
/** In `_meta` of every function that `/mcp` lists: the ids of the gateways that it comes through, beginning with the one that lists it. */
export const chainKey = 'toolwharf/gateways';
/** Gateways between a function and the one that offers it; each adds latency to a call. */
export const maxChain = 8;

/** Reads the chain from a foreign `_meta`, bounded. Undefined if there is none. */
export function readChain(meta: { readonly [key: string]: unknown } | undefined): string[] | undefined {
  const chain = meta?.[chainKey] as JsonValue | undefined;
  if (!Array.isArray(chain)) return undefined;
  return chain.slice(0, maxChain).flatMap((id) => (typeof id === 'string' && id.length <= 64 ? [id] : []));
}
