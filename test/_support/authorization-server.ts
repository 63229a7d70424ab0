import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify } from 'jose';
import type { JWK } from 'jose';
import { Provider } from 'oidc-provider';
import type { ClientMetadata, Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { onTestFinished } from 'vitest';

/** What was asked, and how that went. */
export interface AuthorizationRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Of the query, the form or the registration. */
  params: Record<string, unknown>;
  status: number;
}

export interface AuthorizationServerOptions {
  /** Whether anybody may register a client. Default: true. */
  offersRegistration?: boolean;
  /** Clients that it knows from the start. */
  clients?: ClientMetadata[];
  /** The resource of tokens where a client names none. Without it these are opaque. */
  defaultResource?: string;
  /** Beside `openid` and `offline_access`. */
  scopes?: string[];
  /** What the metadata says beside or instead of the truth. */
  metadata?: Record<string, unknown>;
  /** Takes the addresses of metadata documents as ids of clients, and reads these with it. */
  fetchClient?: typeof fetch;
}

/**
 * An authorization server: `oidc-provider`, with registration, PKCE, resource indicators, rotated refresh tokens (one used twice ends the whole grant),
 * revocation and `iss` in its answers. `ada` and `bob` have accounts. It is another site than the gateway: `localhost`, not 127.0.0.1.
 */
export interface AuthorizationServer {
  /** The issuer. */
  url: string;
  requests: AuthorizationRequest[];
  asked(path: string): AuthorizationRequest[];
  /** What was asked of `/token` for this grant type. */
  grants(type: 'authorization_code' | 'refresh_token' | 'client_credentials'): AuthorizationRequest[];
  /** Of access tokens from now on, in seconds. Default: an hour. */
  accessTokenSeconds: number;
  /** `/token` and what is read without a browser answers with this status; undefined: as it should. */
  failure: number | undefined;
  /** Ends all grants, as their owners can on a page of their account: no token of them is good any more. */
  endAllGrants(): Promise<void>;
  /** Whose token it is, if it is good for this audience. */
  verify(token: string, audience?: string): Promise<VerifiedToken | undefined>;
}

export interface VerifiedToken {
  /** The account; without one the id of the client. */
  subject: string;
  scopes: string[];
  /** Seconds since 1970. */
  expires: number;
}

export const passwordOf = (account: string): string => `password of ${account}`;
const accounts = ['ada', 'bob'];

/** On a port of this machine, until the test has ended. */
export async function authorizationServer(options: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
  const { offersRegistration = true, clients = [], defaultResource, scopes = ['profile.read'], metadata = {} } = options;
  const requests: AuthorizationRequest[] = [];
  /** By the id of the access token. */
  const grantOf = new Map<string, string>();
  const ended = new Set<string>();
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, 'localhost', resolve));
  const url = `http://localhost:${(http.address() as AddressInfo).port}`;
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const { privateKey, publicKey } = await signingKeys();
  const keySet = createLocalJWKSet({ keys: [publicKey] });

  const configuration: Configuration = {
    clients,
    jwks: { keys: [privateKey] },
    cookies: { keys: ['a secret of tests'] },
    scopes: ['openid', 'offline_access', ...scopes],
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    pkce: { required: () => true },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'], clientAuthSigningAlgValues: ['ES256', 'RS256', 'PS256', 'Ed25519'] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    discovery: metadata,
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    ttl: {
      AccessToken: () => server.accessTokenSeconds,
      ClientCredentials: () => server.accessTokenSeconds,
      AuthorizationCode: 60,
      Grant: 86_400,
      Interaction: 600,
      RefreshToken: 86_400,
      Session: 86_400,
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ...(options.fetchClient !== undefined && { fetch: options.fetchClient }),
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: offersRegistration },
      ...(options.fetchClient !== undefined && { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } }),
      revocation: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource(context, form) {
          context.type = 'html';
          context.body = page(form.replace('</form>', '<button name="logout" value="yes">Sign out</button></form>'));
        },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_context, _client, oneOf) => oneOf?.[0] ?? defaultResource ?? [],
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: scopes.join(' '),
          audience: resource,
          accessTokenTTL: server.accessTokenSeconds,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
  const provider = new Provider(url, configuration);
  const remember = ({ jti, grantId = '' }: { jti: string; grantId?: string | undefined }): void => void grantOf.set(jti, grantId);
  // Those that are documents are not stored.
  provider.on('access_token.issued', remember);
  provider.on('access_token.saved', remember);
  provider.on('grant.revoked', (_context, grantId) => void ended.add(grantId));

  provider.use(async (context, next) => {
    const { method, path, headers } = context;
    const request: AuthorizationRequest = { method, path, headers, params: { ...context.query }, status: 0 };
    requests.push(request);
    const isForPrograms = path === '/token' || path === '/reg' || path.startsWith('/.well-known/');
    if (server.failure !== undefined && isForPrograms) context.status = server.failure;
    else if (path.startsWith('/interaction/')) await interact(context as KoaContextWithOIDC);
    else await next();
    const { oidc } = context as { oidc?: KoaContextWithOIDC['oidc'] };
    request.params = { ...request.params, ...oidc?.body };
    request.status = context.status;
  });

  async function interact({ req, res, method, request, response }: KoaContextWithOIDC): Promise<void> {
    const { prompt, params, session, grantId } = await provider.interactionDetails(req, res);
    if (method === 'GET') {
      response.type = 'html';
      response.body = prompt.name === 'login' ? loginPage('') : consentPage(session?.accountId ?? '', String(params['client_id']));
      return;
    }
    const form = Object.fromEntries(new URLSearchParams(await text(request.req)));
    const { account = '', password, decision } = form;
    let result: Parameters<typeof provider.interactionResult>[2];
    if (decision === 'deny') result = { error: 'access_denied', error_description: 'The person said no' };
    else if (prompt.name === 'login') {
      if (!accounts.includes(account) || password !== passwordOf(account)) {
        response.type = 'html';
        response.body = loginPage('Wrong account or password');
        return;
      }
      result = { login: { accountId: account } };
    } else {
      const given = { accountId: session?.accountId ?? '', clientId: String(params['client_id']) };
      const grant = (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ?? new provider.Grant(given);
      const { missingOIDCScope = [], missingResourceScopes = {} } = prompt.details as {
        missingOIDCScope?: string[];
        missingResourceScopes?: Record<string, string[]>;
      };
      grant.addOIDCScope(missingOIDCScope.join(' '));
      for (const [resource, missing] of Object.entries(missingResourceScopes)) grant.addResourceScope(resource, missing.join(' '));
      result = { consent: { grantId: await grant.save() } };
    }
    response.status = 303;
    response.set('location', await provider.interactionResult(req, res, result));
  }

  const callback = provider.callback();
  http.on('request', (request, response) => void callback(request, response));
  const server: AuthorizationServer = {
    url,
    requests,
    accessTokenSeconds: 3_600,
    failure: undefined,
    asked: (path) => requests.filter((request) => request.path === path),
    grants: (type) => requests.filter(({ path, params }) => path === '/token' && params['grant_type'] === type),
    async endAllGrants() {
      for (const grantId of new Set(grantOf.values())) {
        ended.add(grantId);
        await provider.RefreshToken.revokeByGrantId(grantId);
        await provider.AccessToken.revokeByGrantId(grantId);
      }
    },
    async verify(token, audience) {
      if (!token.includes('.')) {
        const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
        if (found === undefined) return undefined;
        const { clientId = '', scopes: granted, exp } = found;
        const account = 'accountId' in found ? found.accountId : clientId;
        return { subject: account, scopes: [...granted], expires: exp ?? 0 };
      }
      const checked = await jwtVerify(token, keySet, { issuer: url, ...(audience !== undefined && { audience }) }).catch(() => undefined);
      if (checked === undefined) return undefined;
      const { sub = '', exp = 0, jti = '', scope } = checked.payload as { sub?: string; exp?: number; jti?: string; scope?: string };
      if (ended.has(grantOf.get(jti) ?? jti)) return undefined;
      return { subject: sub, scopes: (scope ?? '').split(' '), expires: exp };
    },
  };
  return server;
}

const page = (body: string): string => `<!doctype html><html><head><title>Accounts</title></head><body><main>${body}</main></body></html>`;

const loginPage = (problem: string): string =>
  page(`<h1>Sign in</h1><p>${problem}</p>
    <form method="post"><input name="account" /><input type="password" name="password" /><button name="decision" value="allow">Sign in</button></form>`);

const consentPage = (account: string, client: string): string =>
  page(`<h1>May ${client} use the account ${account}?</h1>
    <form method="post"><button name="decision" value="allow">Yes</button><button name="decision" value="deny">No</button></form>`);

let keys: Promise<{ privateKey: JWK; publicKey: JWK }> | undefined;

/** The same for all servers of a file: each signs for its own issuer. */
function signingKeys(): Promise<{ privateKey: JWK; publicKey: JWK }> {
  keys ??= (async () => {
    const pair = await generateKeyPair('ES256', { extractable: true });
    const fields = { kid: 'key', alg: 'ES256', use: 'sig' };
    return {
      privateKey: { ...(await exportJWK(pair.privateKey)), ...fields },
      publicKey: { ...(await exportJWK(pair.publicKey)), ...fields },
    };
  })();
  return keys;
}
