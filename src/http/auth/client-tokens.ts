import type { Caller } from '../../core/callers/caller.ts';
import type { Credentials } from './authenticate.ts';

/** The tokens that programs show at `/mcp`, which has no other route that takes them. */
export interface ClientTokens {
  /**
   * The caller who has agreed to it, with the role of a user. Undefined for what is no token, and for one that has ended.
   * @throws GatewayError `storage_unavailable`, and of a foreign issuer as `OidcCallers.find`
   */
  find(token: string, request: Credentials): Promise<Caller | undefined>;
}
