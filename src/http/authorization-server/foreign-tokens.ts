import type { OidcCallers } from '../../core/callers/oidc.ts';
import type { ClientTokens } from '../auth/client-tokens.ts';

/** Tokens of `MCP_OAUTH_ISSUER`, for `/mcp`. */
export function createForeignTokens(callers: Pick<OidcCallers, 'isToken' | 'find'>): ClientTokens {
  return {
    find: async (token) => (callers.isToken(token) ? { ...(await callers.find(token)), role: 'user' } : undefined),
  };
}
