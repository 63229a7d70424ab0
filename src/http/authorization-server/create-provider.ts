import { AsyncLocalStorage } from 'node:async_hooks';
import { generateKeyPairSync, hkdfSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errors, interactionPolicy, Provider, type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import type { GrantStore } from '../../core/stores/grant-store.ts';
import { digestOf } from '../../shared/secrets/browser-secrets.ts';
import { visibleText } from '../../shared/text/visible-text.ts';
import { clientAuthMethods, mcpResource, mcpScope, paths } from './addresses.ts';
import type { FetchDocument } from './fetch-client-document.ts';
import { createGrantAdapter } from './grant-adapter.ts';
import { accessTokenMs, codeMs, grantMs, refreshTokenMs, requestMs } from './lifetimes.ts';

export interface ProviderOptions {
  /** `PUBLIC_URL`, which is also the issuer. */
  publicUrl: string;
  /** `TOOLWHARF_SECRET`: signs cookies. */
  secret: string;
  store: GrantStore;
  /** Whether a grant, by its hash, is still good for this caller. */
  isGood: (grantId: string, callerId: string) => Promise<boolean>;
  /** Fetches metadata documents of clients. */
  fetchDocument: FetchDocument;
  /** Counts a metadata document that has to be fetched. @throws an error that ends the request */
  countFetch: (address: string) => void;
  onEnded: (grantId: string) => void;
  /** Shows somebody that the request of a program is wrong. */
  errorPage: (problem: RequestProblem) => { headers: Readonly<Record<string, string>>; document: string };
  /** An error that is not the client's. */
  onFault: (error: Error) => void;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** What is wrong with the request of a program. */
export interface RequestProblem {
  /** OAuth's. */
  code: string;
  description: string | undefined;
  status: number;
  /** Where the program learns it; absent if it has no such address. */
  back?: string;
}

/** A request that a person is asked about. */
export interface ConsentRequest {
  uid: string;
  clientId: string;
  clientName: string | undefined;
  redirectUri: string;
}

/** The library, with what the gateway needs of it. */
export interface AuthorizationProvider {
  /** Answers a request to one of `paths`. `url`: its path, as the library knows it, and its query. `address`: where it comes from. */
  answer(request: IncomingMessage, response: ServerResponse, sent: { url: string; address: string }): Promise<void>;
  /** Undefined if this browser did not make the request, or it has expired. */
  findRequest(request: IncomingMessage, response: ServerResponse): Promise<ConsentRequest | undefined>;
  /** Grants the request. `describe` is called with the hash of the grant before anything can be done with it. Resolves to where the browser goes. */
  allow(
    request: IncomingMessage,
    response: ServerResponse,
    consent: { callerId: string; grantMs: number; describe: (grantId: string, expires: number) => Promise<void> },
  ): Promise<string>;
  /** Resolves to where the browser goes. */
  deny(request: IncomingMessage, response: ServerResponse): Promise<string>;
}

/** Of one client; VS Code registers four. */
const redirectUris = 20;
const redirectUriCharacters = 2_048;
const clientNameCharacters = 80;

/** What is used of a client's metadata. The rest could make the library fetch keys and lists, or change what is issued. */
const usedMetadata: ReadonlySet<string> = new Set([
  'client_id',
  'client_id_issued_at',
  'client_secret',
  'client_secret_expires_at',
  'client_name',
  'redirect_uris',
  'token_endpoint_auth_method',
]);

export function createProvider(options: ProviderOptions): AuthorizationProvider {
  const { publicUrl, onFault } = options;
  const addresses = new AsyncLocalStorage<string>();
  const provider = new Provider(
    publicUrl,
    configure(options, () => addresses.getStore() ?? ''),
  );
  provider.silent = true;
  provider.on('server_error', (_context, error) => onFault(error));
  (provider as NodeJS.EventEmitter).on('error', onFault);
  const isSecure = publicUrl.startsWith('https:');
  provider.use(async (context, next) => {
    // Behind a proxy the request itself knows neither.
    Object.defineProperty(context.request, 'secure', { value: isSecure });
    context.request.originalUrl = `${publicUrl}${context.req.url ?? ''}`;
    await next();
    const location = context.res.getHeader('location');
    if (context.path !== paths.authorize || typeof location !== 'string' || location.startsWith(`${publicUrl}/`)) return;
    // Anybody can register an address, so nobody is sent there before they have decided (RFC 9700, section 4.11.2).
    const { searchParams } = new URL(location);
    context.remove('location');
    const description = searchParams.get('error_description') ?? undefined;
    showProblem(context, options, { code: searchParams.get('error') ?? '', description, status: 400, back: location });
  });
  const callback = provider.callback();
  const resource = mcpResource(publicUrl);

  return {
    answer(request, response, { url, address }) {
      request.url = url;
      // From it the library derives the beginning of addresses of its own.
      Object.assign(request, { originalUrl: `${publicUrl}${url}` });
      return addresses.run(address, () => callback(request, response));
    },
    async findRequest(request, response) {
      try {
        const { uid, params } = await provider.interactionDetails(request, response);
        const [clientId, redirectUri] = [String(params['client_id']), String(params['redirect_uri'])];
        const client = await addresses.run('', () => provider.Client.find(clientId));
        return client && { uid, clientId, clientName: client.clientName, redirectUri };
      } catch (error) {
        if (error instanceof errors.OIDCProviderError) return undefined;
        throw error;
      }
    },
    async allow(request, response, { callerId, grantMs: lifetimeMs, describe }) {
      const { params } = await provider.interactionDetails(request, response);
      const grant = new provider.Grant({ accountId: callerId, clientId: String(params['client_id']) });
      Object.assign(grant, { expiresIn: lifetimeMs / 1_000 });
      grant.addResourceScope(resource, mcpScope);
      const grantId = await grant.save();
      await describe(grantId, options.now() + lifetimeMs);
      return provider.interactionResult(request, response, { login: { accountId: callerId, remember: false }, consent: { grantId } });
    },
    deny: (request, response) =>
      provider.interactionResult(request, response, { error: 'access_denied', error_description: 'the person has refused' }),
  };
}

function configure(options: ProviderOptions, addressOf: () => string): Configuration {
  const { publicUrl, secret, store, onEnded, now, isGood, fetchDocument, countFetch } = options;
  const resource = mcpResource(publicUrl);
  const { Check, Prompt } = interactionPolicy;
  const always = new Check('not_asked', 'the person has to agree', ({ oidc }: KoaContextWithOIDC) => oidc.result?.consent === undefined);
  return {
    adapter: createGrantAdapter({ store, addressOf, onEnded, now }),
    // Nothing is signed with it: tokens are opaque, and there are no ID tokens. The library demands a key, and would take one that everybody knows.
    jwks: { keys: [{ ...generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }), kty: 'OKP', alg: 'EdDSA', use: 'sig' }] },
    enabledJWA: { idTokenSigningAlgValues: ['EdDSA'] },
    scopes: [mcpScope],
    claims: {},
    responseTypes: ['code'],
    clientAuthMethods: [...clientAuthMethods],
    clientDefaults: {
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: 'EdDSA',
    },
    extraClientMetadata: { properties: ['client_name'], validator: (...[, , , metadata]) => checkMetadata(metadata) },
    clockTolerance: 0,
    cookies: {
      names: { session: 'toolwharf-oauth', interaction: 'toolwharf-consent', resume: 'toolwharf-authorize' },
      keys: [Buffer.from(hkdfSync('sha256', secret, '', 'toolwharf cookies of the authorization server v1', 32)).toString('base64url')],
      long: { httpOnly: true, sameSite: 'lax' },
      short: { httpOnly: true, sameSite: 'lax' },
    },
    pkce: { required: () => true },
    // Asked when tokens are issued, with the code or refresh token; before that the person has just agreed.
    async findAccount(_context, accountId, token) {
      const grantId = token !== undefined && 'grantId' in token ? token.grantId : undefined;
      if (grantId !== undefined && !(await isGood(digestOf(grantId), accountId))) return undefined;
      return { accountId, claims: () => ({ sub: accountId }) };
    },
    // The address of a page is not decided by the client here, as its redirect addresses are not pages.
    clientBasedCORS: () => true,
    expiresWithSession: () => false,
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    revokeGrantPolicy: () => true,
    loadExistingGrant: async ({ oidc }) => {
      const grantId = oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
    },
    interactions: {
      policy: [new Prompt({ name: 'consent', requestable: true }, always)],
      url: (_context, { uid }) => `${publicUrl}${paths.consent}/${uid}`,
    },
    routes: { authorization: paths.authorize, token: paths.token, registration: paths.register, revocation: paths.revoke },
    ttl: {
      AccessToken: accessTokenMs / 1_000,
      AuthorizationCode: codeMs / 1_000,
      Grant: grantMs / 1_000,
      Interaction: requestMs / 1_000,
      RefreshToken: refreshTokenMs / 1_000,
      Session: requestMs / 1_000,
      IdToken: 1,
    },
    fetch: (input, sent) =>
      fetchDocument(input instanceof Request ? input.url : new URL(input).href, Object.fromEntries(new Headers(sent?.headers))),
    renderError(context, out, error) {
      const status = 'status' in error && typeof error.status === 'number' ? error.status : 500;
      showProblem(context, options, { code: out.error, description: out.error_description, status });
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_context, client, token) => token.clientId === client.clientId },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        allowFetch() {
          try {
            countFetch(addressOf());
          } catch (error) {
            throw new errors.TemporarilyUnavailable(error instanceof Error ? error.message : undefined);
          }
          return true;
        },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_context, _client, oneOf) => oneOf?.[0] ?? resource,
        useGrantedResource: () => true,
        getResourceServerInfo(_context, asked) {
          if (asked !== resource) throw new errors.InvalidTarget(`this server issues tokens for ${resource} only`);
          return { scope: mcpScope, audience: resource, accessTokenTTL: accessTokenMs / 1_000, accessTokenFormat: 'opaque' };
        },
      },
    },
  };
}

function showProblem(
  context: Pick<KoaContextWithOIDC, 'status' | 'body' | 'set'>,
  { errorPage }: Pick<ProviderOptions, 'errorPage'>,
  problem: RequestProblem,
): void {
  const { headers, document } = errorPage(problem);
  context.status = problem.status;
  context.body = document;
  context.set({ ...headers });
}

/** Takes what is used of a client's metadata, and checks what the library leaves to its users. @throws errors.InvalidClientMetadata */
function checkMetadata(metadata: Record<string, unknown>): void {
  for (const name of Object.keys(metadata)) if (!usedMetadata.has(name)) delete metadata[name];
  const { client_name: name, redirect_uris: uris } = metadata;
  if (typeof name === 'string')
    metadata['client_name'] = visibleText(name).trim().slice(0, clientNameCharacters).toWellFormed() || undefined;
  if (!Array.isArray(uris)) return;
  if (uris.length > redirectUris) throw new errors.InvalidClientMetadata(`redirect_uris must have at most ${redirectUris} members`);
  for (const uri of uris as unknown[]) {
    const url = typeof uri === 'string' && uri.length <= redirectUriCharacters ? URL.parse(uri) : null;
    if (url === null) throw new errors.InvalidClientMetadata('redirect_uris must only contain valid uris of a usual length');
    if (url.username !== '' || url.password !== '')
      throw new errors.InvalidClientMetadata('redirect_uris must not contain user information');
  }
}
