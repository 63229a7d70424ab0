import {
  extractWWWAuthenticateParams,
  InsufficientScopeError,
  SdkErrorCode,
  SdkHttpError,
  type FetchLike,
} from '@modelcontextprotocol/client';

/**
 * For the transport of 2024, which reports a message that the server refuses as an error without its status. It fails as with the newer transport
 * instead, so that it is known whether the message was executed, whether the session is lost, and which scopes are missing.
 */
export function withExplainedStatuses(fetch: FetchLike): FetchLike {
  return async (address, init) => {
    const response = await fetch(address, init);
    if (init?.method !== 'POST' || response.ok) return response;
    const { status, statusText } = response;
    const { error, scope } = extractWWWAuthenticateParams(response);
    const text = await response.text();
    if (status === 403 && error === 'insufficient_scope')
      throw new InsufficientScopeError({ ...(scope !== undefined && { requiredScope: scope }) });
    throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `Error POSTing to endpoint: ${text}`, { status, statusText, text });
  };
}
