import type { Caller } from '../../core/callers/caller.ts';
import type { OidcCallers } from '../../core/callers/oidc.ts';
import type { ClientTokens } from '../auth/client-tokens.ts';

/** Tokens of `MCP_OAUTH_ISSUER`, for `/mcp`. `onPerson`: called with each caller. */
export function createForeignTokens(callers: Pick<OidcCallers, 'isToken' | 'find'>, onPerson: (caller: Caller) => void): ClientTokens {
  return {
    async find(token) {
      if (!callers.isToken(token)) return undefined;
      const caller: Caller = { ...(await callers.find(token)), role: 'user' };
      onPerson(caller);
      return caller;
    },
  };
}
