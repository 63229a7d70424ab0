import { randomBytes } from 'node:crypto';
import type { AddressInfo, Socket } from 'node:net';
import fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import type { Caller } from '../../../src/core/callers/caller.ts';
import type { ChatEvent } from '../../../src/core/chat/chat.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import type { ToolInvocation } from '../../../src/core/tools/tool.ts';
import { installErrorHandling } from '../../../src/http/errors/error-handler.ts';
import { socketRoute } from '../../../src/http/routes/chats/socket.ts';
import type { SocketRouteOptions } from '../../../src/http/routes/chats/socket.ts';
import { createBrowserRelay } from '../../../src/relay/browser-relay.ts';
import type { BrowserRelay } from '../../../src/relay/browser-relay.ts';
import { createInProcessBus } from '../../../src/relay/bus.ts';
import type { RelayBus } from '../../../src/relay/bus.ts';
import { emitFrom } from '../../_support/emit-and-pull.ts';

export const ada: Caller = { id: 'ada', role: 'user', isOpen: false };
export const bob: Caller = { id: 'bob', role: 'user', isOpen: false };
const nobody: Caller = { id: 'local', role: 'admin', isOpen: true };

export const newId = (): string => randomBytes(16).toString('base64url');

export type Script = (chat: {
  body: JsonObject;
  signal: AbortSignal;
  invocation: ToolInvocation;
  relay: BrowserRelay;
}) => AsyncGenerator<ChatEvent>;

export interface DoorOptions extends Partial<SocketRouteOptions> {
  isOpen?: boolean;
  graceMs?: number;
  bus?: RelayBus;
  /** What a chat says. */
  script?: Script;
}

export interface Door {
  app: FastifyInstance;
  url: string;
  relay: BrowserRelay;
  tokens: Map<string, Caller>;
  /** Cuts every connection, as a network does. */
  cutConnections: () => void;
  /** Every chat that was started. */
  chats: { body: JsonObject; signal: AbortSignal; caller: Caller; runId: string }[];
}

export async function* sayHello(): AsyncGenerator<ChatEvent> {
  yield { type: 'text', text: 'Hel' };
  yield { type: 'text', text: 'lo' };
  yield { type: 'finish', reason: 'stop' };
}

/** The real route on a real port, with a scripted run behind it. Closed at the end of the test. */
export async function openDoor(options: DoorOptions = {}): Promise<Door> {
  const { isOpen = false, graceMs = 1_000, bus = createInProcessBus(), script = sayHello, ...rest } = options;
  const tokens = new Map([
    ['ada-key', ada],
    ['bob-key', bob],
  ]);
  const relay = createBrowserRelay({ bus, replicaId: newId(), newId, now: Date.now, graceMs });
  const chats: Door['chats'] = [];
  const app = fastify();
  installErrorHandling(app);
  await app.register(socketRoute, {
    upgrades: { isDropped: false },
    relay,
    authenticateToken: (token) => tokens.get(token),
    openCaller: () => (isOpen ? nobody : undefined),
    allowedOrigins: ['https://chat.example'],
    pingIntervalMs: 25_000,
    now: Date.now,
    async startChat({ body, caller, controller: { signal } }) {
      const sessionId = typeof body['session_id'] === 'string' ? body['session_id'] : undefined;
      const runId = `run_${chats.length + 1}`;
      chats.push({ body, signal, caller, runId });
      const run = { runId, caller, chatId: undefined, messageId: undefined, sessionId, signal };
      const events = script({ body, signal, relay, invocation: { callId: 'call_1', args: {}, run, signal, timeoutMs: 2_000 } });
      return { runId, stream: (emit) => emitFrom(events, emit) };
    },
    ...rest,
  });
  app.get('/plain', () => ({ ok: true }));
  const connections = new Set<Socket>();
  app.server.on('connection', (connection: Socket) => connections.add(connection));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const cutConnections = (): void => {
    for (const connection of connections) connection.destroy();
    connections.clear();
  };
  onTestFinished(async () => {
    await relay.close();
    await app.close();
  });
  return { app, url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, relay, tokens, chats, cutConnections };
}
