import type { JsonValue } from '../../shared/json/json.ts';

/**
 * Header of every answer of `/mcp` and of the document of functions, and of a gateway's request for such a document: the gateway's random id of this
 * start, with which it recognizes itself.
 */
export const gatewayHeader = 'x-toolwharf-gateway';
/** Where a gateway describes its functions as an OpenAPI document. */
export const toolDocumentPath = '/api/tools/openapi.json';
/** In `_meta` of every function that `/mcp` lists: the ids of the gateways that it comes through, beginning with the one that lists it. */
export const chainKey = 'toolwharf/gateways';
/** The same in every operation of that document. */
export const documentChainKey = 'x-toolwharf-gateways';
/** Gateways between a function and the one that offers it; each adds latency to a call. */
const maxChain = 8;

/** Reads the chain from a foreign `_meta` or operation, bounded. Undefined if there is none. */
export function readChain(holder: { readonly [key: string]: unknown } | undefined, key = chainKey): string[] | undefined {
  const chain = holder?.[key] as JsonValue | undefined;
  if (!Array.isArray(chain)) return undefined;
  return chain.slice(0, maxChain).flatMap((id) => (typeof id === 'string' && id.length <= 64 ? [id] : []));
}

/** Gateways may be each other's tool servers, even in a circle, as long as none gets its own functions back. */
export function whyLooped(chain: readonly string[], gatewayId: string): string | undefined {
  if (chain.includes(gatewayId)) return 'it comes from this gateway itself, through another gateway';
  return chain.length >= maxChain ? `it comes through ${maxChain} gateways or more` : undefined;
}
