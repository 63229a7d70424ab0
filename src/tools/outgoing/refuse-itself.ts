import { OutboundError } from '../../core/errors.ts';
import { gatewayHeader, toolDocumentPath } from '../../core/tools/gateway-chain.ts';
import type { SendOutbound } from '../../core/outbound.ts';

/**
 * Rejects responses of this gateway itself: a gateway that lists its own functions as a tool server's would double them with every refresh. A request for
 * another gateway's document says who asks, because that answer waits for all tool servers, this one too if it is the same gateway.
 */
export function refuseItself(send: SendOutbound, gatewayId: string): SendOutbound {
  return async (request) => {
    const isDocument = request.method === 'GET' && URL.parse(request.url)?.pathname.endsWith(toolDocumentPath) === true;
    const response = await send(isDocument ? { ...request, headers: { ...request.headers, [gatewayHeader]: gatewayId } } : request);
    if (response.headers[gatewayHeader] !== gatewayId) return response;
    // Leaving the loop releases the connection.
    for await (const _piece of response.body) break;
    throw new OutboundError(
      'denied',
      'this is the address of this gateway. A gateway cannot be its own tool server, because its functions are available already. Delete the connection.',
    );
  };
}
