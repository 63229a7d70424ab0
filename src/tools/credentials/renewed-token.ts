import type { OutboundRequest, SendOutbound } from '../../core/outbound.ts';
import type { Refusal } from '../definitions/own-use.ts';
import { demandedScopes } from './oauth/bearer-challenge.ts';

const scheme = 'Bearer ';

/**
 * Sends a request that the server answers with 401 once more, with a new token of the same sign-in. `renew`: gives one; undefined: there is none. With 401
 * nothing was executed. What is sent in pieces is not repeated.
 */
export function withRenewedToken(send: SendOutbound, renew: (refusal: Refusal) => Promise<string | undefined>): SendOutbound {
  const doubt = createSessionDoubt();
  return async (request) => {
    const response = await send(request);
    const { headers = {}, body } = request;
    const sent = headers['authorization'];
    const canRepeat = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    if (response.status !== 401 || !canRepeat || sent?.startsWith(scheme) !== true) return response;
    // If the authorization server cannot be asked now, the response is returned as it is.
    const key = await renew({ key: sent.slice(scheme.length), scopes: await demandedScopes(response) }).catch(() => undefined);
    if (key === undefined) return response;
    response.body.close();
    const second = await send({ ...request, headers: { ...headers, authorization: `${scheme}${key}` } });
    const isFinal = doubt.isAboutKey(request, second.status);
    if (isFinal) await renew({ key, isFinal, scopes: await demandedScopes(second) }).catch(() => undefined);
    return second;
  };
}

/** Reports a key that the server rejects with 401, and that nothing can renew. */
export function withReportedKey(send: SendOutbound, onRefused: () => Promise<unknown>): SendOutbound {
  const doubt = createSessionDoubt();
  return async (request) => {
    const response = await send(request);
    // If it cannot be stored now, the next call reports it.
    if (doubt.isAboutKey(request, response.status)) await onRefused().catch(() => undefined);
    return response;
  };
}

/**
 * Some servers reject a session that they do not know any more with 401. That says nothing about the key, unless they do so without a session, or in two sessions
 * in a row without a call that succeeded.
 */
function createSessionDoubt(): { isAboutKey(request: Pick<OutboundRequest, 'headers' | 'body'>, status: number): boolean } {
  let refusedSession: string | undefined;
  return {
    isAboutKey({ headers = {}, body }, status) {
      if (status !== 401) {
        if (status < 300 && typeof body === 'string' && body.includes('"method":"tools/call"')) refusedSession = undefined;
        return false;
      }
      const session = headers['mcp-session-id'];
      const isAboutKey = session === undefined || (refusedSession !== undefined && refusedSession !== session);
      refusedSession = session;
      return isAboutKey;
    },
  };
}
