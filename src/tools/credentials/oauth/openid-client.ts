import {
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  clockTolerance,
  generateRandomCodeVerifier,
  getValidatedIdTokenClaims,
  processAuthorizationCodeResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  type AuthorizationServer,
  type Client,
  type TokenEndpointResponse,
} from 'oauth4webapi';
import type { OAuthClientCredentials } from '../../../core/sign-in/credentials.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { LoginTokens, OpenIdClient } from '../../../core/sign-in/login.ts';
import type { OidcClientSettings } from '../../../core/callers/oidc.ts';
import type { SendOutbound } from '../../../core/outbound.ts';
import { originOf } from '../../../shared/text/document-url.ts';
import { keptFor } from '../../../shared/async/kept-for.ts';
import { waitAtMost } from '../../../shared/async/wait-for.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { readMetadata } from './authorization-metadata.ts';
import { explainOAuthFailure, isRefusal, requireAnswerOf } from './oauth-failure.ts';
import { createOAuthFetch } from './oauth-fetch.ts';
import { configuredClient } from './register-client.ts';
import { clientAuthOf, requestSettings } from './request-settings.ts';
import { revokeAt } from './revoke-tokens.ts';

/** A token that is a signed document with many claims has some thousands. It is stored for each person, and sent with every call. */
export const oauthTokenCharacters = 16_384;

interface OpenIdClientOptions {
  issuer: string;
  audience: string;
  client: OidcClientSettings;
  send: SendOutbound;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** How long the addresses of the provider are taken for granted. */
const discoveryMs = 60 * 60 * 1_000;
/** Clocks of the provider and the gateway may differ by as much. */
const leewaySeconds = 60;
/** Characters, besides the address itself; longer addresses are cut off by some servers. */
const longestHint = 4_096;

/** Signs people in to the gateway itself: OpenID Connect Core 1.0 by authorization code with PKCE. */
export function createOpenIdClient({ issuer, audience, client, send, now }: OpenIdClientOptions): OpenIdClient {
  const fetch = createOAuthFetch(send, { origin: originOf(issuer) ?? '' });
  const settings = requestSettings(fetch, issuer, { usesIdToken: true });
  const asClient: Client = { client_id: client.id, [clockTolerance]: leewaySeconds };
  const who = `The OpenID provider ${issuer}`;
  // If the resource is not an address, only `audience` names it (RFC 8707, section 2).
  const resource = /^[a-z][a-z\d+.-]*:[^#]+$/i.test(audience) ? audience : undefined;
  const findServer = keptFor(discoveryMs, now, discover);

  async function discover(): Promise<AuthorizationServer> {
    const server = await readMetadata(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, issuer, fetch);
    if (server === undefined) throw invalid('has no metadata. Check OIDC_ISSUER');
    const { code_challenge_methods_supported: methods, token_endpoint: tokenEndpoint } = server;
    if (tokenEndpoint === undefined) throw invalid('names no token endpoint');
    if (server.issuer !== issuer)
      throw invalid(`calls itself ${server.issuer}. Set OIDC_ISSUER to exactly this if it is the right provider`);
    if (methods !== undefined && !methods.includes('S256'))
      throw invalid('does not announce PKCE with S256, so an intercepted code could be used by others');
    return server;
  }

  function invalid(what: string): GatewayError {
    return new GatewayError('upstream_invalid_response', `${who} ${what}.`);
  }

  /** The page to sign in at. @throws GatewayError */
  function authorizationUrlOf({ authorization_endpoint: address = '' }: AuthorizationServer): URL {
    const schemes = issuer.startsWith('http:') ? ['https:', 'http:'] : ['https:'];
    const url = URL.parse(address);
    if (url === null || !schemes.includes(url.protocol)) throw invalid('names no https address for signing in');
    return url;
  }

  const clientAt = (server: AuthorizationServer): OAuthClientCredentials =>
    configuredClient({ oauth: { clientId: client.id, ...(client.secret !== undefined && { clientSecret: client.secret }) } }, server) ?? {
      id: client.id,
      method: 'none',
    };
  const authOf = (server: AuthorizationServer): ReturnType<typeof clientAuthOf> => clientAuthOf(clientAt(server));

  const additionalParameters: Record<string, string> = { ...withoutUndefined({ resource }) };

  /** @throws GatewayError for tokens that cannot be kept */
  function tokensIn(answer: TokenEndpointResponse, before?: LoginTokens): LoginTokens {
    const { access_token: accessToken, refresh_token: refreshToken = before?.refreshToken, id_token: idToken = before?.idToken } = answer;
    if ([accessToken, refreshToken ?? ''].some(({ length }) => length > oauthTokenCharacters))
      throw invalid(
        `issued a token of more than ${oauthTokenCharacters} characters. Configure it to put less into tokens for this gateway`,
      );
    if (answer.token_type !== 'bearer') throw invalid('issued a token that is not a bearer token. The gateway can use no other kind');
    const claims = getValidatedIdTokenClaims(answer);
    return {
      accessToken,
      ...withoutUndefined({
        refreshToken,
        idToken: idToken !== undefined && idToken.length <= longestHint ? idToken : undefined,
        name: textIn(claims, 'name') ?? textIn(claims, 'preferred_username') ?? before?.name,
        email: textIn(claims, 'email') ?? before?.email,
      }),
    };
  }

  return {
    async begin({ redirectUri, state, nonce, wantsOtherAccount }) {
      const server = await findServer();
      const url = authorizationUrlOf(server);
      const verifier = generateRandomCodeVerifier();
      const parameters = {
        response_type: 'code',
        client_id: client.id,
        redirect_uri: redirectUri,
        scope: client.scopes.join(' '),
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        // Some providers know the one, others the other; what a provider does not know it ignores (RFC 6749, section 3.1).
        audience,
        ...withoutUndefined({ resource, prompt: promptFor(server, client.scopes, wantsOtherAccount) }),
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return { authorizationUrl: url.href, verifier };
    },

    async exchange(answer, { state, nonce, verifier, redirectUri }) {
      const server = await findServer();
      try {
        const checked = requireAnswerOf(who, { server, client: asClient, parameters: answer, state });
        const response = await authorizationCodeGrantRequest(server, asClient, authOf(server), checked, redirectUri, verifier, {
          ...settings,
          additionalParameters,
        });
        const tokens = await processAuthorizationCodeResponse(server, asClient, response, { expectedNonce: nonce, requireIdToken: true });
        return tokensIn(tokens);
      } catch (error) {
        throw explainOAuthFailure(error, who, (code) => cures.get(code ?? ''));
      }
    },

    async refresh(tokens) {
      const { refreshToken } = tokens;
      if (refreshToken === undefined) return 'refused';
      const server = await findServer();
      try {
        const response = await refreshTokenGrantRequest(server, asClient, authOf(server), refreshToken, {
          ...settings,
          additionalParameters,
        });
        return tokensIn(await processRefreshTokenResponse(server, asClient, response), tokens);
      } catch (error) {
        if (isRefusal(error)) return 'refused';
        throw explainOAuthFailure(error, who);
      }
    },

    async revoke(tokens) {
      const revoking = findServer().then((server) => revokeAt(server, { client: clientAt(server), settings }, tokens));
      await waitAtMost(limits.oauthRevocationMs, revoking, () => undefined).catch(() => undefined);
    },

    async whereToSignOut({ idToken }, redirectUri) {
      const server = await findServer().catch(() => undefined);
      const url = URL.parse(server?.end_session_endpoint ?? '');
      if (url === null || (url.protocol !== 'https:' && url.protocol !== new URL(issuer).protocol)) return undefined;
      const parameters = { client_id: client.id, post_logout_redirect_uri: redirectUri, ...withoutUndefined({ id_token_hint: idToken }) };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url.href;
    },
  };
}

/** Not every provider can offer a choice of accounts; to sign in anew is always possible. `offline_access` needs consent (OpenID Connect Core 1.0, section 11). */
function promptFor(
  { prompt_values_supported: supported }: AuthorizationServer,
  scopes: readonly string[],
  wantsOtherAccount: boolean,
): string | undefined {
  const chooses = Array.isArray(supported) && supported.includes('select_account');
  const prompts = [
    ...(wantsOtherAccount ? [chooses ? 'select_account' : 'login'] : []),
    ...(scopes.includes('offline_access') ? ['consent'] : []),
  ];
  return prompts.length === 0 ? undefined : prompts.join(' ');
}

const cures: ReadonlyMap<string, string> = new Map(
  Object.entries({
    invalid_target: 'It does not know the API that OIDC_AUDIENCE names: register it there.',
    invalid_scope: 'Set OIDC_SCOPES to scopes that it offers to this client.',
    invalid_client: 'Check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET.',
    unauthorized_client: 'Allow the client the authorization code flow there.',
  }),
);

function textIn(claims: ReturnType<typeof getValidatedIdTokenClaims>, name: string): string | undefined {
  const value = claims?.[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
