import { dynamicClientRegistrationRequest, processDynamicClientRegistrationResponse } from 'oauth4webapi';
import type { AuthorizationServer } from 'oauth4webapi';
import type { OAuthClientCredentials } from '../../core/credentials.ts';
import { GatewayError } from '../../core/errors.ts';
import type { OAuthClientStore, RegisteredClient, RegistrationPlace } from '../../core/oauth-clients.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { JsonObject } from '../../shared/json.ts';
import { explainOAuthFailure } from './oauth-failure.ts';
import type { RequestSettings } from './request-settings.ts';

/** Where the gateway serves `clientMetadata`; beneath PUBLIC_URL this address is its id at authorization servers that take one. */
export const clientMetadataPath = '/oauth/client-metadata.json';

/** Beneath the address at which people reach the gateway. */
export const redirectPath = '/oauth/callback';

/** What the gateway says of itself as a client (OAuth Client ID Metadata Document). `publicUrl`: PUBLIC_URL, with https. */
export function clientMetadata(publicUrl: string): JsonObject {
  return {
    client_id: `${publicUrl}${clientMetadataPath}`,
    client_uri: publicUrl,
    ...aboutClient(`${publicUrl}${redirectPath}`),
    token_endpoint_auth_method: 'none',
  };
}

export interface ClientRegistrarOptions {
  store: OAuthClientStore;
  publicUrl: string | undefined;
  /** Milliseconds since 1970. */
  now: () => number;
}

export interface ChosenClient {
  client: OAuthClientCredentials;
  isRegistered: boolean;
}

/** Chooses as whom the gateway asks: as the connection says, else by the address of its metadata, else as it has registered. */
export interface ClientRegistrar {
  /** @throws GatewayError */
  clientFor(
    record: ToolServerRecord,
    server: AuthorizationServer,
    use: { redirectUri: string; settings: RequestSettings },
  ): Promise<ChosenClient>;
  /** After the server has said that it does not know the client. */
  forget(place: RegistrationPlace, clientId: string): Promise<void>;
}

export function createClientRegistrar({ store, publicUrl, now }: ClientRegistrarOptions): ClientRegistrar {
  /** What goes on, by place: this process registers once. */
  const registering = new Map<string, Promise<RegisteredClient>>();

  async function register(server: AuthorizationServer, place: RegistrationPlace, settings: RequestSettings): Promise<RegisteredClient> {
    const known = await store.find(place);
    if (known !== undefined && (known.expires === undefined || known.expires > now())) return known;
    if (known !== undefined) await store.forget(place, known.id);
    const method = methodOf(server.token_endpoint_auth_methods_supported, true);
    try {
      const metadata = { ...aboutClient(place.redirectUri), token_endpoint_auth_method: method };
      const registered = await processDynamicClientRegistrationResponse(await dynamicClientRegistrationRequest(server, metadata, settings));
      const { client_id: id, client_secret: secret, client_secret_expires_at: expires } = registered;
      const given = methodFrom(registered['token_endpoint_auth_method']) ?? method;
      return await store.keepFirst(place, {
        id,
        method: secret === undefined ? 'none' : given,
        ...(typeof secret === 'string' && given !== 'none' && { secret }),
        ...(typeof expires === 'number' && expires > 0 && { expires: expires * 1_000 }),
      });
    } catch (error) {
      throw explainOAuthFailure(error, `Registering with the authorization server ${server.issuer}`);
    }
  }

  return {
    async clientFor(record, server, { redirectUri, settings }) {
      const configured = configuredClient(record, server);
      if (configured !== undefined) return { client: configured, isRegistered: false };
      const takesMetadata = server['client_id_metadata_document_supported'] === true;
      if (takesMetadata && publicUrl?.startsWith('https:') === true && redirectUri === `${publicUrl}${redirectPath}`)
        return { client: { id: `${publicUrl}${clientMetadataPath}`, method: 'none' }, isRegistered: false };
      if (server.registration_endpoint === undefined)
        throw new GatewayError(
          'conflict',
          `The authorization server ${server.issuer} lets nobody register by themselves. Register the gateway there with the redirect address ${redirectUri}, and set client_id, and client_secret if it gives one, in oauth of the tool server "${record.id}".`,
        );
      const place = { issuer: server.issuer, redirectUri };
      const key = JSON.stringify(place);
      const registration = registering.get(key) ?? register(server, place, settings).finally(() => registering.delete(key));
      registering.set(key, registration);
      return { client: await registration, isRegistered: true };
    },
    forget: (place, clientId) => store.forget(place, clientId),
  };
}

/** Undefined if the connection names none. */
export function configuredClient({ oauth = {} }: ToolServerRecord, server: AuthorizationServer): OAuthClientCredentials | undefined {
  const { clientId: id, clientSecret: secret } = oauth;
  if (id === undefined) return undefined;
  if (secret === undefined) return { id, method: 'none' };
  return { id, secret, method: methodOf(server.token_endpoint_auth_methods_supported, false) };
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

function methodFrom(value: unknown): OAuthClientCredentials['method'] | undefined {
  return value === 'none' || value === 'client_secret_basic' || value === 'client_secret_post' ? value : undefined;
}

function aboutClient(redirectUri: string): JsonObject & { redirect_uris: string[] } {
  return {
    client_name: 'toolwharf',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    // OpenID Connect Dynamic Client Registration 1.0, section 2: only native clients have http addresses, on loopback.
    application_type: redirectUri.startsWith('https:') ? 'web' : 'native',
  };
}
