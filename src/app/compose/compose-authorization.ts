import { createHmac } from 'node:crypto';
import { fixedCallerId, type Caller } from '../../core/callers/caller.ts';
import type { OidcCallers } from '../../core/callers/oidc.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { Authenticator } from '../../http/auth/authenticate.ts';
import type { ClientTokens } from '../../http/auth/client-tokens.ts';
import { createAddressCount, type CountedAddress } from '../../http/authorization-server/address-counts.ts';
import { mcpChallenge, mcpResource } from '../../http/authorization-server/addresses.ts';
import type { AuthorizationProvider } from '../../http/authorization-server/create-provider.ts';
import { fetchClientDocument } from '../../http/authorization-server/fetch-client-document.ts';
import { createForeignTokens } from '../../http/authorization-server/foreign-tokens.ts';
import { createCallerOfGrant, createIssuedTokens } from '../../http/authorization-server/issued-tokens.ts';
import { createOpenAnswers, type OpenAnswers } from '../../http/authorization-server/open-answers.ts';
import { failedRequestPage } from '../../http/routes/access/consent.ts';
import { renderPage } from '../../http/pages/page.ts';
import type { AppContext } from '../app-context.ts';
import type { Storage } from './compose-storage.ts';

/** OAuth at `/mcp`. */
export interface Authorization {
  clientTokens: ClientTokens | undefined;
  /** Of a 401 at `/mcp`. */
  challenge: string | undefined;
  openAnswers: OpenAnswers;
  provider: () => Promise<AuthorizationProvider>;
  onPerson: (caller: Caller) => void;
  counts: { registration: CountedAddress; request: CountedAddress };
  wrongKeys: CountedAddress;
  /** Of the key with which somebody agrees. */
  keyMark: (callerId: string) => string | undefined;
  secret: string;
  close(): void;
}

interface AuthorizationParts {
  storage: Pick<Storage, 'grants' | 'owners'>;
  authenticator: Authenticator;
  /** The callers of `MCP_OAUTH_ISSUER`. */
  foreignCallers: OidcCallers | undefined;
  send: SendOutbound;
  onPerson: (caller: Caller) => void;
}

const hourMs = 60 * 60 * 1_000;
const minuteMs = 60_000;
/** From one address, behind which may be everybody who uses a proxy. */
const registrationsPerHour = 120;
const requestsPerMinute = 120;
const documentsPerMinute = 60;
/** Nobody guesses a key; this keeps the log short. */
const wrongKeysIn10Minutes = 30;

export function composeAuthorization(
  { config, logger, now, newId }: AppContext,
  { storage, authenticator: callers, foreignCallers, send, onPerson }: AuthorizationParts,
): Authorization {
  const { publicUrl } = config;
  // Without one, nothing is stored longer than this process lives.
  const secret = config.secret ?? newId();
  const { grants: store, owners } = storage;
  const mark =
    config.adminKey === undefined
      ? undefined
      : createHmac('sha256', secret).update(`toolwharf key v1 ${config.adminKey}`).digest('base64url');
  const keyMark = (callerId: string): string | undefined => (callerId === fixedCallerId ? mark : undefined);
  const callerOf = createCallerOfGrant({ store, callers, keyMark, now });
  const openAnswers = createOpenAnswers({
    isAlive: async ({ caller: { id, client }, request }) =>
      client === undefined || (await callerOf({ grantId: client.grantId, callerId: id }, request)) !== undefined,
  });
  owners.onDeleted(openAnswers.endAllOf);
  const again = 'Wait a moment, then try again.';
  const documents = createAddressCount(
    { max: documentsPerMinute, withinMs: minuteMs, message: `Too many programs were looked up from this address. ${again}` },
    now,
  );
  let loading: Promise<AuthorizationProvider> | undefined;

  /** Loaded by the first request: most gateways never issue a token. */
  async function load(issuer: string): Promise<AuthorizationProvider> {
    const { createProvider } = await import('../../http/authorization-server/create-provider.ts');
    return createProvider({
      publicUrl: issuer,
      secret,
      store,
      isGood: async (grantId, callerId) => (await callerOf({ grantId, callerId }, { method: 'POST', headers: {} })) !== undefined,
      fetchDocument: fetchClientDocument(send),
      countFetch: documents.count,
      onEnded: openAnswers.endGrant,
      errorPage: (problem) => renderPage(failedRequestPage(problem)),
      onFault: (error) => logger.error({ err: error }, 'a request to the authorization server failed'),
      now,
    });
  }

  function tokens(issuer: string): ClientTokens {
    if (foreignCallers !== undefined) return createForeignTokens(foreignCallers, onPerson);
    return createIssuedTokens({ store, callerOf, resource: mcpResource(issuer), onPerson, now });
  }

  return {
    clientTokens: publicUrl === undefined ? undefined : tokens(publicUrl),
    challenge: publicUrl === undefined ? undefined : mcpChallenge(publicUrl),
    openAnswers,
    onPerson,
    provider() {
      if (publicUrl === undefined) throw new Error('There is no authorization server without PUBLIC_URL.');
      return (loading ??= load(publicUrl));
    },
    counts: {
      registration: createAddressCount(
        { max: registrationsPerHour, withinMs: hourMs, message: `Too many programs were registered from this address. ${again}` },
        now,
      ),
      request: createAddressCount(
        { max: requestsPerMinute, withinMs: minuteMs, message: `Too many requests came from this address. ${again}` },
        now,
      ),
    },
    wrongKeys: createAddressCount(
      {
        max: wrongKeysIn10Minutes,
        withinMs: 10 * minuteMs,
        message: 'Too many wrong keys were entered from this address. Wait ten minutes, then try again.',
      },
      now,
    ),
    keyMark,
    secret,
    close: openAnswers.close,
  };
}
