import { randomUUID } from 'node:crypto';
import {
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  clientCredentialsGrantRequest,
  generateRandomCodeVerifier,
  processAuthorizationCodeResponse,
  processClientCredentialsResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  skipStateCheck,
  type AuthorizationServer,
  type ClientAuth,
} from 'oauth4webapi';
import type { OAuthClientCredentials, OAuthCredential } from '../../../core/sign-in/credentials.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { OAuthClientStore } from '../../../core/sign-in/oauth-clients.ts';
import type { SendOutbound } from '../../../core/outbound.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import { originOf } from '../../../shared/text/document-url.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import type { DocumentSignIn } from '../../definitions/opened-server.ts';
import { requireEndpoint } from './authorization-metadata.ts';
import { discoverForApi, discoverForMcp, type FoundAuthorization } from './discover-authorization.ts';
import { explainSignInFailure } from './oauth-cures.ts';
import { isRefusal, isUnknownClient, oauthErrorOf, requireAnswerOf, requireAskedServer } from './oauth-failure.ts';
import { createOAuthFetch, type OAuthFetch } from './oauth-fetch.ts';
import { configuredClient, createClientRegistrar, latestClient, namesClient } from './register-client.ts';
import { requestSettings } from './request-settings.ts';
import { revokeTokens } from './revoke-tokens.ts';
import { withOfflineAccess } from '../../definitions/scopes.ts';
import { isPrivateKey } from '../../../shared/secrets/private-key.ts';
import { signedBy } from './sign-assertion.ts';
import { tokensIn } from './tokens-in.ts';
import { tryClient } from './try-client.ts';

/** The state between `begin` and `complete`. Plain JSON, and secret: it contains the verifier and, with some servers, the client's secret. */
export interface PendingAuthorization {
  verifier: string;
  issuer: string;
  /** The issuer is the server's own word; otherwise `iss` of its answer can only be compared with where it has been asked. */
  isIssuerKnown: boolean;
  /** Where the person signs in. */
  authorizeOrigin: string;
  tokenEndpoint: string;
  revocationEndpoint?: string;
  /** The authorization server announces that its answers name it (RFC 9207). */
  namesIssuer: boolean;
  client: OAuthClientCredentials;
  /** The client was registered by this gateway, which forgets the registration if the server does not know it any more. */
  isRegistered: boolean;
  redirectUri: string;
  resource?: string;
  scopes?: readonly string[];
  /** Of the tool server. */
  origin: string;
}

interface BegunAuthorization {
  /** Where the browser goes, with the `state` that was given. */
  authorizationUrl: string;
  /** The origin of that, for the page and for its `form-action`. */
  authorizationServer: string;
  pending: PendingAuthorization;
}

/** Signs people in at the authorization servers of tool servers (OAuth 2.1: authorization code with PKCE), and keeps their tokens good. */
export interface OAuthClient {
  /**
   * Asks the tool server and its authorization server where people sign in.
   * @throws GatewayError `upstream_…`, `egress_denied` and `conflict`, which say what is wrong with the server or the connection
   */
  discover(record: ToolServerRecord): Promise<FoundAuthorization>;
  /** Registers if need be. `address`: at which people reach the gateway. @throws GatewayError as `discover` */
  beginAt(found: FoundAuthorization, record: ToolServerRecord, browser: { address: string; state: string }): Promise<BegunAuthorization>;
  /**
   * Checks the answer of the authorization server (RFC 9207) and exchanges the code. `state` was checked by the caller.
   * @throws GatewayError `forbidden` if the person or the server refused, `conflict` if the connection has changed, and as `begin`
   */
  complete(record: ToolServerRecord, pending: PendingAuthorization, callback: URLSearchParams): Promise<OAuthCredential>;
  /** `refused`: the authorization server gives no tokens for these any more. @throws GatewayError when it cannot be asked */
  refresh(record: ToolServerRecord, credential: OAuthCredential): Promise<OAuthCredential | 'refused'>;
  /** Ends tokens that nobody will use. Never rejects. */
  revoke(credential: OAuthCredential): Promise<void>;
  /** A token for the gateway itself (`grant: client_credentials`). @throws GatewayError */
  ownToken(record: ToolServerRecord): Promise<SharedToken>;
}

export interface SharedToken {
  accessToken: string;
  /** When it is time for another one, in milliseconds since 1970; absent: the authorization server has not said when it expires. */
  refreshFrom?: number;
}

export interface OAuthClientOptions {
  send: SendOutbound;
  clients: OAuthClientStore;
  /** PUBLIC_URL. */
  publicUrl: string | undefined;
  /** How the document of an OpenAPI server describes sign-in. @throws GatewayError if it cannot be read now */
  signInOf: (record: ToolServerRecord) => Promise<DocumentSignIn | undefined>;
  /** Milliseconds since 1970. */
  now: () => number;
}

export function createOAuthClient(options: OAuthClientOptions): OAuthClient {
  return new DiscoveringOAuthClient(options);
}

class DiscoveringOAuthClient implements OAuthClient {
  readonly #options: OAuthClientOptions;
  readonly #registrar: ReturnType<typeof createClientRegistrar>;

  constructor(options: OAuthClientOptions) {
    this.#options = options;
    this.#registrar = createClientRegistrar({ store: options.clients, publicUrl: options.publicUrl, now: options.now });
  }

  async discover(record: ToolServerRecord): Promise<FoundAuthorization> {
    const { authorizeUrl, tokenUrl } = record.oauth ?? {};
    const fetch = this.#fetchFor(record);
    const configured: DocumentSignIn | undefined =
      tokenUrl === undefined ? undefined : { type: 'oauth2', authorizeUrl: authorizeUrl ?? '', tokenUrl, scopes: [] };
    if (configured === undefined && record.type === 'mcp') return discoverForMcp(record, fetch);
    return discoverForApi(record, configured ?? (await this.#documentSignIn(record)), fetch);
  }

  #fetchFor(record: ToolServerRecord): OAuthFetch {
    return createOAuthFetch(this.#options.send, { origin: originOf(record.url) ?? '' }, record.oauth);
  }

  async #documentSignIn(record: ToolServerRecord): Promise<DocumentSignIn> {
    const signIn = await this.#options.signInOf(record);
    const toAbsolute = (address: string): string => URL.parse(address, record.url)?.href ?? address;
    if (signIn?.type === 'openIdConnect') return { ...signIn, url: toAbsolute(signIn.url) };
    if (signIn !== undefined) return { ...signIn, authorizeUrl: toAbsolute(signIn.authorizeUrl), tokenUrl: toAbsolute(signIn.tokenUrl) };
    throw new GatewayError(
      'conflict',
      `The document of the tool server "${record.id}" does not say where people sign in (a security scheme "oauth2" with the flow authorizationCode, or "openIdConnect"). Set oauth.authorize_url and oauth.token_url.`,
    );
  }

  async beginAt(
    found: FoundAuthorization,
    record: ToolServerRecord,
    { address, state }: { address: string; state: string },
  ): Promise<BegunAuthorization> {
    const { server, isIssuerKnown } = found;
    const { resource, scopes } = askedFor(record, found);
    const endpoint = requireEndpoint(record, server);
    const settings = requestSettings(this.#fetchFor(record), record.url);
    const { client, isRegistered, redirectUri } = await this.#registrar.clientFor(record, server, { address, settings });
    const verifier = generateRandomCodeVerifier();
    const wanted = record.oauth?.scopes === undefined ? withOfflineAccess(scopes, server.scopes_supported) : scopes;
    const url = new URL(endpoint.authorize);
    const parameters = {
      response_type: 'code',
      client_id: client.id,
      redirect_uri: redirectUri,
      state,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...withoutUndefined({
        scope: wanted === undefined || wanted.length === 0 ? undefined : wanted.join(' '),
        resource,
        // OpenID Connect Core 1.0, section 11: refresh tokens for later need consent.
        prompt: wanted?.includes('offline_access') === true ? 'consent' : undefined,
      }),
      ...record.oauth?.authorizeParameters,
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return {
      authorizationUrl: url.href,
      authorizationServer: url.origin,
      pending: {
        verifier,
        issuer: server.issuer,
        isIssuerKnown,
        authorizeOrigin: url.origin,
        tokenEndpoint: endpoint.token,
        namesIssuer: server.authorization_response_iss_parameter_supported === true,
        client,
        isRegistered,
        redirectUri,
        origin: originOf(record.url) ?? '',
        ...withoutUndefined({ revocationEndpoint: server.revocation_endpoint, resource, scopes: wanted }),
      },
    };
  }

  async complete(record: ToolServerRecord, pending: PendingAuthorization, callback: URLSearchParams): Promise<OAuthCredential> {
    const { issuer, client: known, origin, redirectUri, resource, tokenEndpoint, revocationEndpoint } = pending;
    if (origin !== originOf(record.url) || record.authType !== 'oauth' || !namesClient(record, pending))
      throw new GatewayError('conflict', `The tool server "${record.id}" was changed since this sign-in began. Begin again.`);
    const who = `The authorization server ${issuer}`;
    const server: AuthorizationServer = {
      issuer,
      token_endpoint: tokenEndpoint,
      authorization_response_iss_parameter_supported: pending.namesIssuer,
    };
    const parameters = new URLSearchParams(callback);
    if (!pending.isIssuerKnown) {
      requireAskedServer(pending, parameters);
      parameters.delete('iss');
    }
    const asClient = { client_id: known.id };
    const settings = requestSettings(createOAuthFetch(this.#options.send, { origin }, record.oauth), record.url);
    const options = { ...settings, additionalParameters: { ...withoutUndefined({ resource }) } };
    try {
      const checked = requireAnswerOf(who, { server, client: asClient, parameters, state: skipStateCheck });
      const { tokens, client } = await tryClient({ client: known, isRegistered: pending.isRegistered }, async (auth) => {
        const answer = await authorizationCodeGrantRequest(server, asClient, auth, checked, redirectUri, pending.verifier, options);
        return processAuthorizationCodeResponse(server, asClient, answer);
      });
      return {
        kind: 'oauth',
        signInId: randomUUID(),
        ...withoutUndefined({ scopes: pending.scopes, requestedScopes: pending.scopes, revocationEndpoint, resource }),
        ...tokensIn(tokens, { who, now: this.#options.now() }),
        client,
        ...(pending.isRegistered && { registeredFor: redirectUri }),
        tokenEndpoint,
        binding: { origin, authType: record.authType, issuer },
      };
    } catch (error) {
      const isUnknown = isUnknownClient(oauthErrorOf(error));
      if (isUnknown && pending.isRegistered) {
        await this.#registrar.delete({ issuer, redirectUri }, known.id);
        throw new GatewayError(
          'conflict',
          `${who} no longer knows the gateway, which will register again. Begin again. If this happens again, register it there, and set oauth.client_id of the tool server.`,
        );
      }
      throw explainSignInFailure(error, who, 'tokens');
    }
  }

  async refresh(record: ToolServerRecord, credential: OAuthCredential): Promise<OAuthCredential | 'refused'> {
    const { binding, tokenEndpoint, refreshToken, resource } = credential;
    const known = latestClient(record, credential.client);
    if (refreshToken === undefined) return 'refused';
    const server = { issuer: binding.issuer, token_endpoint: tokenEndpoint };
    const asClient = { client_id: known.id };
    const settings = requestSettings(createOAuthFetch(this.#options.send, binding, record.oauth), record.url);
    const options = { ...settings, additionalParameters: { ...withoutUndefined({ resource }) } };
    const isRegistered = credential.registeredFor !== undefined;
    const who = `The authorization server ${binding.issuer}`;
    try {
      const { tokens, client } = await tryClient({ client: known, isRegistered }, async (auth) =>
        processRefreshTokenResponse(server, asClient, await refreshTokenGrantRequest(server, asClient, auth, refreshToken, options)),
      );
      const { expires: _expires, refreshFrom: _refreshFrom, ...rest } = credential;
      return { ...rest, client, ...tokensIn(tokens, { who, now: this.#options.now() }) };
    } catch (error) {
      if (isUnknownClient(oauthErrorOf(error)) && credential.registeredFor !== undefined)
        await this.#registrar.delete({ issuer: binding.issuer, redirectUri: credential.registeredFor }, known.id);
      if (isRefusal(error)) return 'refused';
      throw explainSignInFailure(error, who, 'tokens');
    }
  }

  revoke(credential: OAuthCredential): Promise<void> {
    return revokeTokens(this.#options.send, [credential]);
  }

  async ownToken(record: ToolServerRecord): Promise<SharedToken> {
    const found = await this.discover(record);
    const { server } = found;
    const { resource, scopes } = askedFor(record, found);
    const client = configuredClient(record, server);
    if (client === undefined)
      throw new GatewayError('conflict', `Set oauth.client_id and oauth.client_secret of the tool server "${record.id}".`);
    const parameters = {
      ...withoutUndefined({ resource, scope: scopes === undefined || scopes.length === 0 ? undefined : scopes.join(' ') }),
    };
    const who = `The authorization server ${server.issuer}`;
    const asClient = { client_id: client.id };
    const { secret = '' } = client;
    const audience = found.isIssuerKnown ? server.issuer : (server.token_endpoint ?? server.issuer);
    const signed = isPrivateKey(secret) ? await signedBy(secret, audience) : undefined;
    const settings = requestSettings(this.#fetchFor(record), record.url);
    const request = async (auth: ClientAuth): ReturnType<typeof processClientCredentialsResponse> =>
      processClientCredentialsResponse(server, asClient, await clientCredentialsGrantRequest(server, asClient, auth, parameters, settings));
    try {
      const tokens = signed === undefined ? (await tryClient({ client, isRegistered: false }, request)).tokens : await request(signed);
      const { accessToken, refreshFrom } = tokensIn(tokens, { who, now: this.#options.now() });
      return { accessToken, ...withoutUndefined({ refreshFrom }) };
    } catch (error) {
      throw explainSignInFailure(error, who, 'tokens');
    }
  }
}

/** What to request tokens for. The settings of the connection take precedence over what was found. */
function askedFor(
  { oauth = {}, type, url }: ToolServerRecord,
  found: Pick<FoundAuthorization, 'resource' | 'scopes'>,
): Pick<FoundAuthorization, 'resource' | 'scopes'> {
  // Without a resource a token for one MCP server would be good for the others of its authorization server.
  const resource = oauth.resource === false ? undefined : (oauth.resource ?? (type === 'mcp' ? (found.resource ?? url) : undefined));
  return withoutUndefined({ resource, scopes: oauth.scopes ?? found.scopes });
}
