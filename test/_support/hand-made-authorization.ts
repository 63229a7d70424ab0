import { createMcpHandler } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { serveFetch } from './protected-servers.ts';
import { serverOf, textResult, toolOf } from '../tools/mcp/scripted-peer.ts';

export interface SeenRequest {
  method: string;
  path: string;
  authorization: string;
  /** Of the query and the form, or the JSON as it came. */
  params: Record<string, string>;
  body: string;
}

export type Part = 'resource' | 'metadata' | 'registration' | 'authorize' | 'token' | 'revocation';

/** What one part answers instead; `usual` is what it would. */
export type Faults = Partial<Record<Part, (usual: Response, request: SeenRequest) => Promise<Response> | Response>>;

export interface HandMadePeers {
  /** Of the authorization server. */
  issuer: string;
  /** Of the MCP server. */
  url: string;
  seen: SeenRequest[];
  /** Those of a part. */
  seenBy(part: Part): SeenRequest[];
  /** Accounts of answered calls. */
  callers: string[];
}

export const secrets = {
  access: 'CANARY-access-token',
  refresh: 'CANARY-refresh-token',
  code: 'CANARY-code',
  client: 'CANARY-client-secret',
};

const paths: Record<string, Part> = {
  '/.well-known/oauth-protected-resource/mcp': 'resource',
  '/.well-known/oauth-authorization-server': 'metadata',
  '/register': 'registration',
  '/authorize': 'authorize',
  '/token': 'token',
  '/revoke': 'revocation',
};

/** An authorization server and an MCP server made by hand, which do all that is needed for a sign-in and nothing more, and break where `faults` say so. */
export async function handMadePeers(faults: Faults = {}): Promise<HandMadePeers> {
  const peers: HandMadePeers = {
    issuer: '',
    url: '',
    seen: [],
    callers: [],
    seenBy: (part) => peers.seen.filter(({ path }) => paths[path] === part),
  };
  const handler = createMcpHandler(() =>
    serverOf({
      tools: [toolOf('whoami')],
      calls: [],
      onCall() {
        peers.callers.push('somebody');
        return textResult('account: somebody');
      },
    }),
  );

  const usual: Record<Part, (request: SeenRequest) => Response> = {
    resource: () => Response.json({ resource: peers.url, authorization_servers: [peers.issuer], scopes_supported: ['read'] }),
    metadata: () => Response.json(metadataOf(peers.issuer)),
    registration: ({ body }) =>
      Response.json(
        { ...(JSON.parse(body) as JsonObject), client_id: 'client', client_secret: secrets.client, client_secret_expires_at: 0 },
        { status: 201 },
      ),
    authorize({ params: { redirect_uri = '', state = '' } }) {
      const back = new URL(redirect_uri);
      back.search = String(new URLSearchParams({ code: secrets.code, state, iss: peers.issuer }));
      return new Response(null, { status: 302, headers: { location: back.href } });
    },
    token: () =>
      Response.json({
        access_token: secrets.access,
        refresh_token: secrets.refresh,
        token_type: 'Bearer',
        expires_in: 3_600,
        scope: 'read',
      }),
    revocation: () => new Response(null, { status: 200 }),
  };

  async function answer(request: Request): Promise<Response> {
    const { pathname: path, searchParams } = new URL(request.url);
    const authorization = request.headers.get('authorization') ?? '';
    if (path === '/mcp') {
      if (authorization === `Bearer ${secrets.access}`) return handler.fetch(request);
      const resource = `${new URL(peers.url).origin}/.well-known/oauth-protected-resource/mcp`;
      return new Response(null, { status: 401, headers: { 'www-authenticate': `Bearer resource_metadata="${resource}"` } });
    }
    const body = await request.text();
    const isForm = request.headers.get('content-type')?.includes('form') === true;
    const params = { ...Object.fromEntries(searchParams), ...(isForm && Object.fromEntries(new URLSearchParams(body))) };
    const seen: SeenRequest = { method: request.method, path, authorization, params, body };
    peers.seen.push(seen);
    const part = paths[path];
    if (part === undefined) return new Response(null, { status: 404 });
    const answered = usual[part](seen);
    return (await faults[part]?.(answered, seen)) ?? answered;
  }
  peers.issuer = await serveFetch(answer);
  peers.url = `${await serveFetch(answer)}/mcp`;
  return peers;
}

export function metadataOf(issuer: string): JsonObject {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    revocation_endpoint: `${issuer}/revoke`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  };
}

/** A place where nothing of a sign-in may arrive, and which would play along. */
export async function trap(): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = [];
  const url = await serveFetch(async (request) => {
    seen.push(`${request.method} ${request.url} ${request.headers.get('authorization') ?? ''} ${await request.text()}`);
    const { pathname } = new URL(request.url);
    if (pathname === '/token')
      return Response.json({ access_token: 'from the trap', token_type: 'Bearer', expires_in: 3_600, refresh_token: 'from the trap' });
    if (pathname === '/register') return Response.json({ client_id: 'from the trap', redirect_uris: [] }, { status: 201 });
    return Response.json(metadataOf(url));
  });
  return { url, seen };
}
