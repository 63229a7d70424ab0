import { createApiKeys } from '../admin/api-keys.ts';
import type { ApiKeys } from '../admin/api-keys.ts';
import { createKeyText, derivePepper } from '../admin/derive-key-hash.ts';
import { createAuthenticator, isLoopbackName } from '../http/auth/authenticate.ts';
import type { Authenticator } from '../http/auth/authenticate.ts';
import { createExpiryWatch } from '../http/auth/watch-expiry.ts';
import type { Registry } from '../core/registry.ts';
import type { BrowserRelay } from '../relay/browser-relay.ts';
import type { AppContext } from './app-context.ts';
import type { Runs } from './compose-runs.ts';

export interface Access {
  authenticator: Authenticator;
  keys: ApiKeys;
  /** The administrator key of this start; undefined where a key of the operator is needed in any case. */
  startKey: string | undefined;
  close(): void;
}

export interface AccessParts {
  registry: Registry;
  endAllOf: Runs['endAllOf'];
  relay: BrowserRelay;
  /** The last key was deleted while the gateway runs, so that it is open from now on. */
  onOpened: (() => void) | undefined;
}

/** Who may use the gateway: keys, their administration, and the end of everything that a key has begun when it ends. */
export function composeAccess({ config, logger, now, newId }: AppContext, { registry, endAllOf, relay, onOpened }: AccessParts): Access {
  // Without a secret the registry is in memory, and its keys end with the process.
  const pepper = derivePepper(config.secret ?? newId());
  const hasFixedKey = config.adminKey !== undefined;
  const isLoopback = isLoopbackName(config.host);
  const startKey = isLoopback && !hasFixedKey ? createKeyText() : undefined;
  const closeSessionsOf = (callerId: string): Promise<void> =>
    // Sockets of other replicas check their keys themselves, only later.
    relay.closeSessionsOf(callerId).catch((error: unknown) => {
      logger.warn({ err: error, caller_id: callerId }, 'other replicas could not be asked to close the sockets of a key');
    });
  const expiry = createExpiryWatch({
    now,
    findKey: async (id) => (await registry.listKeys()).find((record) => record.id === id),
    onExpired(callerId) {
      endAllOf(callerId, 'expired');
      void closeSessionsOf(callerId);
    },
  });
  const authenticator = createAuthenticator({
    registry,
    adminKey: config.adminKey,
    startKey,
    isLoopback,
    pepper,
    now,
    allowedOrigins: config.corsOrigins,
    onExpiring: expiry.watch,
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
    cancelRunsOf: endAllOf,
    closeSessionsOf,
  });
  return { authenticator, keys, startKey, close: expiry.close };
}
