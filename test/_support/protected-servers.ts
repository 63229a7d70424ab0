import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { AuthInfo } from '@modelcontextprotocol/server';
import {
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  oauthMetadataResponse,
  OAuthError,
  OAuthErrorCode,
  requireBearerAuth,
} from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/shared/json/json.ts';
import { serverOf, textResult, toolOf } from '../tools/mcp/scripted-peer.ts';
import type { AuthorizationServer } from './authorization-server.ts';

/** A tool server whose function `whoami` tells the account of the token. */
export interface ProtectedServer {
  url: string;
  /** Whose calls of `whoami` were answered, in order. */
  callers: string[];
  /** Of every request to a function or the protocol: the token, or an empty text. */
  tokens: string[];
  /** Tokens that it refuses, whatever the authorization server says. */
  refused: Set<string>;
}

export interface ProtectedServerOptions {
  /** Scopes that a token needs. */
  requiredScopes?: string[];
  /** Scopes that a call needs besides. A call with a token that lacks one is a 403 `insufficient_scope`. */
  callScopes?: string[];
  /** Changes the metadata of the resource (RFC 9728). */
  metadata?: (metadata: JsonObject) => JsonObject;
  /** Waits before a call is answered. */
  beforeCall?: () => Promise<void>;
}

const bearerOf = (header: string | null | undefined): string => (header ?? '').replace(/^Bearer /i, '');

/**
 * An MCP server by Streamable HTTP that demands OAuth as the protocol's specification says: 401 with `resource_metadata`, the metadata of RFC 9728, and
 * tokens for itself as the audience. Nothing but the metadata is there without a token. On a port of this machine until the test has ended.
 */
export async function protectedMcpServer(
  authorization: AuthorizationServer,
  { requiredScopes = ['profile.read'], callScopes = [], metadata = (fields) => fields, beforeCall }: ProtectedServerOptions = {},
): Promise<ProtectedServer> {
  const server: ProtectedServer = { url: '', callers: [], tokens: [], refused: new Set() };
  const tools = [toolOf('whoami', { annotations: { readOnlyHint: true } })];
  const handler = createMcpHandler((request) =>
    serverOf({
      tools,
      calls: [],
      async onCall() {
        await beforeCall?.();
        const account = String(request.authInfo?.extra?.['subject']);
        server.callers.push(account);
        return textResult(`account: ${account}`);
      },
    }),
  );
  const origin = await serveFetch(async (request) => {
    const resource = new URL(server.url);
    const document = oauthMetadataResponse(request, {
      oauthMetadata: { issuer: authorization.url, authorization_endpoint: '', token_endpoint: '', response_types_supported: [] },
      resourceServerUrl: resource,
      scopesSupported: requiredScopes,
    });
    const { pathname } = new URL(request.url);
    // The first revision of the protocol's specification had the metadata of the authorization server here; those of today do not.
    if (pathname.includes('oauth-authorization-server')) return new Response(null, { status: 404 });
    if (document !== undefined) return Response.json(metadata((await document.json()) as JsonObject));
    if (pathname !== '/mcp') return new Response(null, { status: 404 });
    const token = bearerOf(request.headers.get('authorization'));
    server.tokens.push(token);
    const isCall = (await request.clone().text()).includes('"method":"tools/call"');
    const gate = requireBearerAuth({
      verifier: { verifyAccessToken: () => authInfoOf(token) },
      requiredScopes: isCall ? [...requiredScopes, ...callScopes] : requiredScopes,
      resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
    });
    const auth = await gate(request);
    return auth instanceof Response ? auth : handler.fetch(request, { authInfo: auth });
  });
  server.url = `${origin}/mcp`;

  async function authInfoOf(token: string): Promise<AuthInfo> {
    const verified = server.refused.has(token) ? undefined : await authorization.verify(token, server.url);
    if (verified === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, 'The token is not good here');
    const { subject, scopes, expires } = verified;
    return { token, clientId: 'client', scopes, expiresAt: expires, extra: { subject } };
  }
  return server;
}

/**
 * An API with a document whose `oauth2` or `openIdConnect` scheme names the authorization server. The document is there for everybody; `GET /whoami` needs
 * a token.
 */
export async function protectedApi(
  authorization: AuthorizationServer,
  {
    scheme = 'oauth2',
    audience,
    beforeCall,
  }: { scheme?: 'oauth2' | 'openIdConnect'; audience?: string; beforeCall?: () => Promise<void> } = {},
): Promise<ProtectedServer> {
  const server: ProtectedServer = { url: '', callers: [], tokens: [], refused: new Set() };
  const { url: issuer } = authorization;
  const flow = { authorizationUrl: `${issuer}/auth`, tokenUrl: `${issuer}/token`, scopes: { 'profile.read': 'Reads who you are' } };
  const schemes = {
    oauth2: { type: 'oauth2', flows: { authorizationCode: flow } },
    openIdConnect: { type: 'openIdConnect', openIdConnectUrl: `${issuer}/.well-known/openid-configuration` },
  };
  const document = {
    openapi: '3.1.0',
    info: { title: 'Accounts', version: '1' },
    components: { securitySchemes: { account: schemes[scheme] } },
    security: [{ account: ['profile.read'] }],
    paths: {
      '/whoami': {
        get: { operationId: 'whoami', description: 'Tells whose account this is', responses: { 200: { description: 'The account' } } },
      },
    },
  };
  server.url = await serveFetch(async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === '/openapi.json') return Response.json(document);
    if (pathname !== '/whoami') return new Response(null, { status: 404 });
    const token = bearerOf(request.headers.get('authorization'));
    server.tokens.push(token);
    const verified = token === '' || server.refused.has(token) ? undefined : await authorization.verify(token, audience);
    if (verified === undefined) return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } });
    await beforeCall?.();
    server.callers.push(verified.subject);
    return Response.json({ account: verified.subject });
  });
  return server;
}

/** Serves on a port of this machine until the test has ended, and gives the origin. */
export async function serveFetch(answer: (request: Request) => Promise<Response> | Response): Promise<string> {
  const http = createServer((request, response) => {
    void (async () => {
      const body = await buffer(request);
      const answered = await answer(toRequest(request, body, origin));
      response.writeHead(answered.status, Object.fromEntries(answered.headers));
      response.flushHeaders();
      for await (const piece of answered.body ?? []) response.write(piece);
      response.end();
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return origin;
}

function toRequest({ method = 'GET', url = '', headers }: IncomingMessage, body: Buffer, base: string): Request {
  const init = { method, headers: headers as Record<string, string>, ...(body.length > 0 && { body: new Uint8Array(body) }) };
  return new Request(new URL(url, base), init);
}
