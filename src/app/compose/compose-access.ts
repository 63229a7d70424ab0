import { createApiKeys, type ApiKeys } from '../../admin/api-keys.ts';
import { createKeyText, derivePepper } from '../../admin/derive-key-hash.ts';
import { createAuthenticator, type Authenticator } from '../../http/auth/authenticate.ts';
import { isLoopbackName } from '../../http/auth/open-mode.ts';
import { mcpResource } from '../../http/authorization-server/addresses.ts';
import { createExpiryWatch } from '../../http/auth/watch-expiry.ts';
import type { Caller } from '../../core/callers/caller.ts';
import type { OidcCallers } from '../../core/callers/oidc.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Registry } from '../../core/stores/registry.ts';
import { createOidcCallers } from '../../policy/oidc-callers.ts';
import { createPersonTokens } from '../../policy/person-tokens.ts';
import { createTokenVerifier } from '../../policy/verify-token.ts';
import type { AppContext } from '../app-context.ts';
import type { Runs } from './compose-runs.ts';

export interface Access {
  authenticator: Authenticator;
  keys: ApiKeys;
  /** The startup key; undefined if open mode is impossible. */
  startKey: string | undefined;
  /** Undefined without `auth.oidc`. */
  tokenCallers: OidcCallers | undefined;
  /** Those of `MCP_OAUTH_ISSUER`, for `/mcp`. */
  foreignCallers: OidcCallers | undefined;
  close(): void;
}

interface AccessParts {
  registry: Registry;
  endAllOf: Runs['endAllOf'];
  closeSessionsOf: (callerId: string) => Promise<void>;
  deleteAllOfKey: (keyId: string) => Promise<void>;
  send: SendOutbound;
  onPerson: (caller: Caller) => void;
  /** Called when the last key was deleted at runtime, which puts the gateway into open mode. */
  onOpened: (() => void) | undefined;
}

/** Authentication and API keys. When a key is deleted or expires, its runs, calls and sockets end. */
export function composeAccess(
  { config, now, newId }: AppContext,
  { registry, endAllOf, closeSessionsOf, deleteAllOfKey, send, onPerson, onOpened }: AccessParts,
): Access {
  // Without a secret the registry is in memory, so its keys need a pepper for this process only.
  const pepper = derivePepper(config.secret ?? newId());
  const hasFixedKey = config.adminKey !== undefined;
  const isLoopback = isLoopbackName(config.host);
  const { oidc: oidcSettings } = config;
  const startKey = isLoopback && !hasFixedKey && oidcSettings === undefined ? createKeyText() : undefined;
  const expiry = createExpiryWatch({
    now,
    findKey: (id) => registry.findKey(id),
    onExpired(callerId) {
      void endAllOf(callerId, 'expired');
      void closeSessionsOf(callerId);
    },
  });
  const verifier = createTokenVerifier({ send, now });
  const tokenCallers = oidcSettings && createOidcCallers({ settings: oidcSettings, verifier, now });
  const foreignCallers = composeForeignCallers(config, { verifier, now });
  const authenticator = createAuthenticator({
    registry,
    adminKey: config.adminKey,
    metricsKey: config.metricsKey,
    startKey,
    isLoopback,
    pepper,
    now,
    allowedOrigins: config.corsOrigins,
    onExpiring: expiry.watch,
    personTokens: createPersonTokens({ verifier, now }),
    oidc: tokenCallers,
    foreign: foreignCallers,
    onPerson,
  });
  const keys = createApiKeys({
    registry,
    pepper,
    hasFixedKey,
    newId,
    now,
    forget: authenticator.forget,
    onLastDeleted() {
      if (startKey !== undefined) onOpened?.();
    },
    cancelRunsOf: (keyId) => void endAllOf(keyId, 'changed'),
    deleteAllOf: deleteAllOfKey,
    closeSessionsOf,
  });
  return { authenticator, keys, startKey, tokenCallers, foreignCallers, close: expiry.close };
}

/** Their tokens are for `/mcp` only, and never make an administrator. */
function composeForeignCallers(
  { mcpOauthIssuer: issuer, publicUrl, oidc }: AppContext['config'],
  parts: Omit<Parameters<typeof createOidcCallers>[0], 'settings'>,
): OidcCallers | undefined {
  if (issuer === undefined || publicUrl === undefined) return undefined;
  const limits = oidc?.limits;
  return createOidcCallers({ ...parts, settings: { issuer, audience: mcpResource(publicUrl), ...(limits && { limits }) } });
}
