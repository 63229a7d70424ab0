import type { Tool as McpTool } from '@modelcontextprotocol/client';
import { OutboundError } from '../../core/errors.ts';
import { gatewayHeader, maxChain, readChain } from '../../core/gateway-chain.ts';
import type { SendOutbound } from '../../core/outbound.ts';

/** The way out for MCP, which ends where it leads back in: a gateway that lists its own functions has twice as many with every look. */
export function refuseItself(send: SendOutbound, gatewayId: string): SendOutbound {
  return async (request) => {
    const response = await send(request);
    if (response.headers[gatewayHeader] !== gatewayId) return response;
    // Leaving the loop gives the connection back.
    for await (const _piece of response.body) break;
    throw new OutboundError(
      'denied',
      'this is the address of this gateway itself. This gateway cannot be its own tool server: its functions are there already. Delete the connection.',
    );
  };
}

/** Gateways may be each other's tool servers, in a circle too, as long as none is given back what it gave. */
export function whyInCircle({ _meta }: McpTool, gatewayId: string): string | undefined {
  const chain = readChain(_meta) ?? [];
  if (chain.includes(gatewayId)) return 'it comes from this gateway itself, by way of another one';
  return chain.length >= maxChain ? `it comes through ${maxChain} gateways or more` : undefined;
}
