import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A backend, a tool server and an MCP server in one, which says what a case wants it to say. */
export interface HostilePeer {
  url: string;
  /** The body of the next answers of `/v1/chat/completions`, as JSON or as an event stream. */
  completion: string;
  models: string;
  embeddings: string;
  /** What every other path answers, by its path. */
  pages: Map<string, Page>;
  /** Of `/mcp`: its only tool, and the events of the answer to its call, each a whole message or several. */
  mcpTool: object;
  /** The text of its list of tools, in the place of `mcpTool`. */
  mcpTools: string | undefined;
  mcpAnswer: (id: unknown) => string;
  close(): void;
}

interface Page {
  type: string;
  body: string | Buffer;
}

export const plainCompletion = JSON.stringify(completionOf({ role: 'assistant', content: 'Done.' }, 'stop'));

export function completionOf(message: object, finishReason: string): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'mock',
    choices: [{ index: 0, message, finish_reason: finishReason }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

export function callCompletion(name: string, args: string): string {
  const call = { id: 'call_1', type: 'function', function: { name, arguments: args } };
  return JSON.stringify(completionOf({ role: 'assistant', content: null, tool_calls: [call] }, 'tool_calls'));
}

export async function startHostilePeer(): Promise<HostilePeer> {
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const peer: HostilePeer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    completion: plainCompletion,
    models: JSON.stringify({ object: 'list', data: [{ id: 'mock', object: 'model', created: 0, owned_by: 'mock' }] }),
    embeddings: JSON.stringify({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }], model: 'mock' }),
    pages: new Map(),
    mcpTool: { name: 'ask', inputSchema: { type: 'object', properties: {} } },
    mcpTools: undefined,
    mcpAnswer: (id) => mcpMessage({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'Done.' }] } }),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) pieces.push(piece as Buffer);
    } catch {
      return;
    }
    const path = request.url ?? '';
    if (path === '/mcp') return answerMcp(request, Buffer.concat(pieces).toString(), response);
    const fixed = { '/v1/models': peer.models, '/v1/embeddings': peer.embeddings, '/v1/chat/completions': peer.completion }[path];
    const page = fixed === undefined ? peer.pages.get(path.split('?')[0] ?? '') : { type: typeOf(fixed), body: fixed };
    if (page === undefined) response.writeHead(404).end('{}');
    else response.writeHead(200, { 'content-type': page.type, 'content-length': Buffer.byteLength(page.body) }).end(page.body);
  }

  function answerMcp(request: IncomingMessage, text: string, response: ServerResponse): void {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method } = JSON.parse(text) as { id?: unknown; method: string };
    if (id === undefined) return void response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (method === 'tools/list' && peer.mcpTools !== undefined)
      return void response.end(
        `event: message\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":${peer.mcpTools}}}\n\n`,
      );
    response.end(method === 'tools/call' ? peer.mcpAnswer(id) : mcpMessage({ jsonrpc: '2.0', id, ...mcpReply(method, peer.mcpTool) }));
  }
  return peer;
}

const typeOf = (body: string): string => (body.startsWith('data:') ? 'text/event-stream' : 'application/json');

function mcpReply(method: string, tool: object): object {
  if (method === 'initialize') {
    const serverInfo = { name: 'hostile', version: '1' };
    return { result: { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: true }, logging: {} }, serverInfo } };
  }
  if (method === 'tools/list') return { result: { tools: [tool] } };
  if (method === 'ping' || method === 'logging/setLevel') return { result: {} };
  return { error: { code: -32_601, message: `There is no ${method}` } };
}

/** One event of a stream. */
export function mcpMessage(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
