import type { SendOutbound } from '../../core/outbound.ts';
import type { Refusal } from '../definitions/own-use.ts';

const scheme = 'Bearer ';

/**
 * Sends a request that the server answers with 401 once more, with a new token of the same sign-in. `renew`: gives one; undefined: there is none. With 401
 * nothing was executed. What is sent in pieces is not repeated.
 */
export function withRenewedToken(send: SendOutbound, renew: (refusal: Refusal) => Promise<string | undefined>): SendOutbound {
  return async (request) => {
    const response = await send(request);
    const { headers = {}, body } = request;
    const sent = headers['authorization'];
    const canRepeat = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    if (response.status !== 401 || !canRepeat || sent?.startsWith(scheme) !== true) return response;
    // If the authorization server cannot be asked now, the response is returned as it is.
    const key = await renew({ key: sent.slice(scheme.length) }).catch(() => undefined);
    if (key === undefined) return response;
    response.body.close();
    const second = await send({ ...request, headers: { ...headers, authorization: `${scheme}${key}` } });
    if (second.status === 401) await renew({ key, isFinal: true }).catch(() => undefined);
    return second;
  };
}
