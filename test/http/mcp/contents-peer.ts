import { createMcpHandler, ResourceNotFoundError, Server } from '@modelcontextprotocol/server';
import type { GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/server';
import type { OutboundRequest, SendOutbound } from '../../../src/core/outbound.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

/** What a server in this process has; `lists` may hold what no protocol allows. */
export interface ContentsPeer {
  resources?: unknown[];
  resourceTemplates?: unknown[];
  prompts?: unknown[];
  /** Entries in one page of its lists; default: all. */
  perPage?: number;
  read?: (uri: string, signal: AbortSignal) => Promise<ReadResourceResult> | ReadResourceResult;
  prompt?: (name: string) => GetPromptResult;
  isDown?: boolean;
}

export interface ContentsPeers {
  send: SendOutbound;
  /** What was sent, as `<host> <method of the protocol>`. */
  asked: string[];
  requests: OutboundRequest[];
}

/** MCP servers by host name, behind the door out. */
export function contentsPeers(peers: Record<string, ContentsPeer>): ContentsPeers {
  const asked: string[] = [];
  const requests: OutboundRequest[] = [];
  const handlers = new Map(
    Object.entries(peers).map(([host, peer]) => [
      host,
      createMcpHandler(() => serverOf(peer, (method) => asked.push(`${host} ${method}`))),
    ]),
  );
  return {
    asked,
    requests,
    async send(request) {
      requests.push(request);
      const { method, url, headers = {}, body, signal } = request;
      const { hostname } = new URL(url);
      const handler = handlers.get(hostname);
      if (handler === undefined || peers[hostname]?.isDown === true)
        throw Object.assign(new Error('nobody is there'), { code: 'ECONNREFUSED' });
      const answer = await handler.fetch(new Request(url, { method, headers, signal, ...(body !== undefined && { body: String(body) }) }));
      return { status: answer.status, headers: Object.fromEntries(answer.headers), body: outboundBody(answer.body ?? nothing()) };
    },
  };
}

function serverOf(peer: ContentsPeer, note: (method: string) => void): Server {
  const server = new Server({ name: 'peer', version: '1' }, { capabilities: { tools: {}, resources: {}, prompts: {} } });
  const page = (key: 'resources' | 'resourceTemplates' | 'prompts', cursor = '0'): never => {
    const all = peer[key] ?? [];
    const end = Number(cursor) + (peer.perPage ?? all.length);
    return { [key]: all.slice(Number(cursor), end), ...(end < all.length && { nextCursor: String(end) }) } as never;
  };
  server.setRequestHandler('tools/list', () => ({ tools: [] }));
  server.setRequestHandler('resources/list', ({ params }) => page('resources', params?.cursor));
  server.setRequestHandler('resources/templates/list', ({ params }) => page('resourceTemplates', params?.cursor));
  server.setRequestHandler('prompts/list', ({ params }) => page('prompts', params?.cursor));
  server.setRequestHandler('resources/read', async ({ params: { uri } }, { mcpReq }) => {
    note('resources/read');
    if (peer.read === undefined) throw new ResourceNotFoundError(uri);
    return peer.read(uri, mcpReq.signal);
  });
  server.setRequestHandler('prompts/get', ({ params: { name } }) => {
    note('prompts/get');
    return peer.prompt?.(name) ?? { messages: [{ role: 'user', content: { type: 'text', text: `Say ${name}.` } }] };
  });
  return server;
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield* [];
}

/** So many resources, each with its number in its URI. */
export function manyResources(count: number): { uri: string; name: string }[] {
  return Array.from({ length: count }, (_, index) => ({ uri: `files://${index}`, name: `number ${index}` }));
}
