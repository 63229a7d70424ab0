import {
  dynamicClientRegistrationRequest,
  processDynamicClientRegistrationResponse as processAnswer,
  type AuthorizationServer,
} from 'oauth4webapi';
import type { OAuthClientCredentials } from '../../../core/sign-in/credentials.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { OAuthClientStore, RegisteredClient, RegistrationKey } from '../../../core/sign-in/oauth-clients.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import { aboutClient, clientIdAt, issuerMarkOf, redirectUriOf } from './client-addresses.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { explainSignInFailure } from './oauth-cures.ts';
import { oauthErrorOf } from './oauth-failure.ts';
import type { RequestSettings } from './request-settings.ts';

type ClientMetadata = Parameters<typeof dynamicClientRegistrationRequest>[1];

interface ClientRegistrarOptions {
  store: OAuthClientStore;
  publicUrl: string | undefined;
  /** Milliseconds since 1970. */
  now: () => number;
}

interface ChosenClient {
  client: OAuthClientCredentials;
  isRegistered: boolean;
  /** The exact address at which people come back. */
  redirectUri: string;
}

/** Chooses as whom the gateway asks: as the connection says, else by the address of its metadata, else as it has registered. */
interface ClientRegistrar {
  /** `address`: at which people reach the gateway. @throws GatewayError */
  clientFor(
    record: ToolServerRecord,
    server: AuthorizationServer,
    use: { address: string; settings: RequestSettings },
  ): Promise<ChosenClient>;
  /** After the server has said that it does not know the client. */
  delete(registrationKey: RegistrationKey, clientId: string): Promise<void>;
}

export function createClientRegistrar({ store, publicUrl, now }: ClientRegistrarOptions): ClientRegistrar {
  /** Registrations in progress, by issuer and redirect address: this process registers once. */
  const registering = new Map<string, Promise<RegisteredClient>>();

  async function register(
    server: AuthorizationServer,
    registrationKey: RegistrationKey,
    settings: RequestSettings,
  ): Promise<RegisteredClient> {
    const known = await store.find(registrationKey);
    if (known !== undefined && (known.expires === undefined || known.expires > now())) return known;
    if (known !== undefined) await store.delete(registrationKey, known.id);
    const method = methodOf(server.token_endpoint_auth_methods_supported, true);
    try {
      const metadata = { ...aboutClient(registrationKey.redirectUri), token_endpoint_auth_method: method };
      const registered = await registerPlainly(server, metadata, settings);
      const { client_id: id, client_secret: secret, client_secret_expires_at: expires } = registered;
      if (!isUsable(id) || (secret !== undefined && !isUsable(secret)))
        throw new GatewayError(
          'upstream_invalid_response',
          `Registering with the authorization server ${server.issuer} returned an id or a secret that cannot be sent or is too long. Register the gateway there by hand, and set oauth.client_id and oauth.client_secret of the tool server.`,
        );
      const given = methodFrom(registered['token_endpoint_auth_method']) ?? method;
      return await store.findOrAdd(registrationKey, {
        id,
        method: secret === undefined ? 'none' : given,
        ...(secret !== undefined && given !== 'none' && { secret }),
        ...(typeof expires === 'number' && expires > 0 && { expires: expires * 1_000 }),
      });
    } catch (error) {
      throw explainSignInFailure(error, `Registering with the authorization server ${server.issuer}`, 'registration');
    }
  }

  return {
    async clientFor(record, server, { address, settings }) {
      // Operators register one address for all. No other server leads there but one that names itself.
      const configured = configuredClient(record, server);
      if (configured !== undefined) return { client: configured, isRegistered: false, redirectUri: redirectUriOf(address) };
      const issuerMark = issuerMarkOf(server);
      const redirectUri = redirectUriOf(address, issuerMark);
      const takesMetadata = server['client_id_metadata_document_supported'] === true;
      if (takesMetadata && address === publicUrl && publicUrl.startsWith('https:'))
        return { client: { id: clientIdAt(publicUrl, issuerMark), method: 'none' }, isRegistered: false, redirectUri };
      if (server.registration_endpoint === undefined)
        throw new GatewayError(
          'conflict',
          `The authorization server ${server.issuer} does not support dynamic registration. Register the gateway there with the redirect address ${redirectUriOf(address)}, and set oauth.client_id, and oauth.client_secret if it gives one, of the tool server "${record.id}".`,
        );
      const registrationKey = { issuer: server.issuer, redirectUri };
      const key = JSON.stringify(registrationKey);
      const registration = registering.get(key) ?? register(server, registrationKey, settings).finally(() => registering.delete(key));
      registering.set(key, registration);
      return { client: await registration, isRegistered: true, redirectUri };
    },
    delete: (registrationKey, clientId) => store.delete(registrationKey, clientId),
  };
}

/** If a server rejects the metadata, tries again with only the fields that every server must know (RFC 7591, section 2). */
async function registerPlainly(
  server: AuthorizationServer,
  metadata: ClientMetadata,
  settings: RequestSettings,
): ReturnType<typeof processAnswer> {
  const register = async (about: ClientMetadata): ReturnType<typeof processAnswer> =>
    processAnswer(await dynamicClientRegistrationRequest(server, about, settings));
  try {
    return await register(metadata);
  } catch (error) {
    if (oauthErrorOf(error) !== 'invalid_client_metadata') throw error;
    const { client_name, redirect_uris, token_endpoint_auth_method } = metadata;
    return register(withoutUndefined({ client_name, redirect_uris, token_endpoint_auth_method }));
  }
}

/** Undefined if the connection names none. */
export function configuredClient(
  { oauth = {} }: Pick<ToolServerRecord, 'oauth'>,
  server: AuthorizationServer,
): OAuthClientCredentials | undefined {
  const { clientId: id, clientSecret: secret } = oauth;
  if (id === undefined) return undefined;
  if (secret === undefined) return { id, method: 'none' };
  return { id, secret, method: methodOf(server.token_endpoint_auth_methods_supported, false) };
}

/** With the secret that the connection has now: operators replace them. */
export function latestClient({ oauth = {} }: ToolServerRecord, client: OAuthClientCredentials): OAuthClientCredentials {
  const { clientId, clientSecret: secret } = oauth;
  if (clientId !== client.id || secret === undefined || secret === client.secret) return client;
  return { id: clientId, secret, method: client.method === 'none' ? 'client_secret_basic' : client.method };
}

/** Whether the connection, as far as it names client and token address, names these. */
export function namesClient(
  { oauth = {} }: Pick<ToolServerRecord, 'oauth'>,
  { client, tokenEndpoint }: { client: OAuthClientCredentials; tokenEndpoint: string },
): boolean {
  const { clientId = client.id, tokenUrl = tokenEndpoint } = oauth;
  return clientId === client.id && tokenUrl === tokenEndpoint;
}

/** RFC 8414, section 2: without a list it is `client_secret_basic`. */
function methodOf(supported: string[] = ['client_secret_basic'], mayBeNone: boolean): OAuthClientCredentials['method'] {
  const methods: OAuthClientCredentials['method'][] = [
    'client_secret_basic',
    'client_secret_post',
    ...(mayBeNone ? (['none'] as const) : []),
  ];
  return methods.find((method) => supported.includes(method)) ?? 'client_secret_basic';
}

/** RFC 6749, appendices A.1 and A.2. */
function isUsable(text: unknown): text is string {
  return typeof text === 'string' && text.length <= limits.credentialCharacters && /^[\x20-\x7e]+$/.test(text);
}

function methodFrom(value: unknown): OAuthClientCredentials['method'] | undefined {
  return value === 'none' || value === 'client_secret_basic' || value === 'client_secret_post' ? value : undefined;
}
