import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Tool } from '@modelcontextprotocol/client';
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import type { OnCall } from '../tools/mcp/scripted-peer.ts';
import { serverOf, textResult } from '../tools/mcp/scripted-peer.ts';

export interface McpHttpServer {
  url: string;
  /** Names of the tools that were called, in order. */
  calls: string[];
  requests: { method: string; headers: IncomingHttpHeaders; query: string; rpc: string }[];
}

/**
 * An MCP server of the official SDK by Streamable HTTP, on a port of this machine until the test has ended. `hasSessions`: it speaks the first era of
 * the protocol, and gives out session ids. `refusal`: the status that it answers instead.
 */
export async function mcpHttpServer(
  tools: Tool[],
  {
    onCall = (name) => textResult(`${name} done`),
    hasSessions = false,
    refusal = () => undefined,
  }: { onCall?: OnCall; hasSessions?: boolean; refusal?: (headers: IncomingHttpHeaders) => number | undefined } = {},
): Promise<McpHttpServer> {
  const server: McpHttpServer = { url: '', calls: [], requests: [] };
  const peer = { tools, onCall, calls: server.calls };
  const handle = hasSessions ? withSessions(peer) : createMcpHandler(() => serverOf(peer)).fetch;
  const http = createServer((request, response) => {
    void (async () => {
      const body = await buffer(request);
      const rpc = body.length === 0 ? '' : (JSON.parse(body.toString()) as { method: string }).method;
      const { method = '', headers } = request;
      server.requests.push({ method, headers, query: new URL(request.url ?? '', server.url).search, rpc });
      const refused = refusal(headers);
      const answer = refused === undefined ? await handle(toRequest(request, body, server.url)) : new Response(null, { status: refused });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.flushHeaders();
      for await (const piece of answer.body ?? []) response.write(piece);
      response.end();
    })();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  server.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return server;
}

function toRequest({ method = 'GET', url = '', headers }: IncomingMessage, body: Buffer, base: string): Request {
  const init = { method, headers: headers as Record<string, string>, ...(body.length > 0 && { body: new Uint8Array(body) }) };
  return new Request(new URL(url, base), init);
}

function withSessions(peer: Parameters<typeof serverOf>[0]): (request: Request) => Promise<Response> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request) => {
    const known = sessions.get(request.headers.get('mcp-session-id') ?? '');
    if (known !== undefined) return request.method === 'GET' ? new Response(null, { status: 405 }) : known.handleRequest(request);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      enableJsonResponse: true,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await serverOf(peer).connect(transport);
    return transport.handleRequest(request);
  };
}
