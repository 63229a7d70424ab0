import type { CallToolResult, JSONRPCMessage, Tool, Transport } from '@modelcontextprotocol/client';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import type { ElicitRequestFormParams, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { OutboundRequest, SendOutbound } from '../../../src/core/outbound.ts';
import type { CreateTransports } from '../../../src/tools/mcp/transports/create-transports.ts';
import { outboundBody } from '../../_support/outbound-body.ts';

type Answer = CallToolResult | InputRequiredResult;
export type OnCall = (name: string, args: JsonObject, context: ServerContext) => Promise<Answer> | Answer;

/** An MCP server in this process, which does what a test wants. */
export interface ScriptedPeer {
  tools: Tool[];
  onCall: OnCall;
  /** Names of the tools that were called, in order. */
  calls: string[];
  /** How often somebody connected. */
  connections: number;
  isDown: boolean;
  transports: CreateTransports;
  /** Says that the list has changed. */
  tellChange(): Promise<void>;
  /** Asks the user, whatever the server is doing. Gives the action. */
  ask(question: ElicitRequestFormParams): Promise<string>;
  /** Breaks every connection. */
  cut(): Promise<void>;
}

export function toolOf(name: string, rest: Partial<Tool> = {}): Tool {
  return { name, description: `Does ${name}`, inputSchema: { type: 'object', properties: {} }, ...rest };
}

export function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] };
}

export function scriptedPeer(tools: Tool[], onCall: OnCall = (name) => textResult(`${name} done`)): ScriptedPeer {
  const servers = new Set<Server>();
  const peer: ScriptedPeer = {
    tools,
    onCall,
    calls: [],
    connections: 0,
    isDown: false,
    transports: () => [{ isLegacy: true, connectTimeoutMs: 5_000, createTransport: () => createTransport() }],
    async tellChange() {
      for (const server of servers) await server.sendToolListChanged();
    },
    async ask(question) {
      const [server] = servers;
      return (await server?.elicitInput(question))?.action ?? 'nobody was there';
    },
    async cut() {
      for (const server of servers) await server.close();
      servers.clear();
    },
  };

  function createTransport(): Transport {
    const [near, far] = createPipe();
    const start = near.start.bind(near);
    near.start = async () => {
      if (peer.isDown) throw Object.assign(new Error('nobody is there'), { code: 'ECONNREFUSED' });
      peer.connections += 1;
      const server = serverOf(peer);
      servers.add(server);
      await server.connect(far);
      await start();
    };
    return near;
  }
  return peer;
}

export function serverOf(peer: Pick<ScriptedPeer, 'tools' | 'onCall' | 'calls'>): Server {
  const server = new Server({ name: 'peer', version: '1' }, { capabilities: { tools: { listChanged: true }, logging: {} } });
  server.setRequestHandler('tools/list', async () => ({ tools: peer.tools }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    peer.calls.push(params.name);
    return peer.onCall(params.name, (params.arguments ?? {}) as JsonObject, context);
  });
  return server;
}

/** Two ends of a pipe that all messages share: as with a process, nothing but their content tells whose they are. */
function createPipe(): [Transport, Transport] {
  const ends = [createEnd(), createEnd()] as const;
  const [left, right] = ends;
  const connect = (end: PipeEnd, other: PipeEnd): void => {
    end.send = async (message) => {
      if (end.isClosed) throw new Error('closed');
      other.deliver(message);
    };
    end.close = async () => {
      if (end.isClosed) return;
      end.isClosed = true;
      end.onclose?.();
      await other.close();
    };
  };
  connect(left, right);
  connect(right, left);
  return [left, right];
}

type PipeEnd = Transport & { isClosed: boolean; deliver(message: JSONRPCMessage): void };

function createEnd(): PipeEnd {
  const queue: JSONRPCMessage[] = [];
  let wake = Promise.withResolvers<void>();
  const end: PipeEnd = {
    isClosed: false,
    deliver(message) {
      queue.push(structuredClone(message));
      wake.resolve();
    },
    async start() {
      void pump();
    },
    send: async () => undefined,
    close: async () => undefined,
  };
  /** One loop for all messages, so that none inherits the circumstances of its sender. */
  async function pump(): Promise<void> {
    while (!end.isClosed) {
      await wake.promise;
      wake = Promise.withResolvers<void>();
      for (const message of queue.splice(0)) end.onmessage?.(message);
    }
  }
  return end;
}

export interface HttpPeer {
  send: SendOutbound;
  requests: OutboundRequest[];
  calls: string[];
}

/** An MCP server behind the door out, by Streamable HTTP; it speaks both eras of the protocol. */
export function httpPeer(
  tools: Tool[],
  onCall: OnCall = (name) => textResult(`${name} done`),
  responseMode: 'auto' | 'sse' = 'auto',
): HttpPeer {
  const peer = { tools, onCall, calls: [] as string[], requests: [] as OutboundRequest[] };
  const handler = createMcpHandler(() => serverOf(peer), { responseMode });
  const send: SendOutbound = async (request) => {
    peer.requests.push(request);
    const { method, url, headers = {}, body, signal } = request;
    const answer = await handler.fetch(new Request(url, { method, headers, signal, ...(body !== undefined && { body: String(body) }) }));
    return { status: answer.status, headers: Object.fromEntries(answer.headers), body: outboundBody(answer.body ?? nothing()) };
  };
  return { ...peer, send };
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield* [];
}
