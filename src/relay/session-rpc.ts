import type { RelayBus } from './bus.ts';
import { callersChannel, parseCallersMessage, parseReplyMessage, replicaChannel, sessionChannel } from './bus-messages.ts';
import type { Reply, SessionMessage } from './bus-messages.ts';
import { createPendingRequests } from './pending-requests.ts';
import type { Ask, AskResult } from './pending-requests.ts';
import type { LocalSession } from './session.ts';

/** This replica's letters to sessions, here or elsewhere, and their replies. What is here is reached without the bus. */
export interface SessionRpc {
  /** Begins to hear replies and revocations; cheap when it already does. @throws when the bus cannot be reached. */
  listen(): Promise<void>;
  /** Resolves with the number of sessions reached. @throws when the bus is needed and cannot be reached. */
  post(message: SessionMessage): Promise<number>;
  ask(ask: Ask): Promise<AskResult>;
  /** Hands a letter that came for a session here to it, and sends its reply back. */
  handle(session: LocalSession, message: SessionMessage): void;
  /** A reply that came, from whom ever: one that nobody waits for is counted. */
  receive(reply: unknown): void;
  close(): Promise<void>;
}

export interface SessionRpcOptions {
  bus: RelayBus;
  replicaId: string;
  now: () => number;
  findSession: (id: string) => LocalSession | undefined;
  onRevoked: (callerId: string) => void;
  onIgnored: () => void;
}

export function createSessionRpc({ bus, replicaId, now, findSession, onRevoked, onIgnored }: SessionRpcOptions): SessionRpc {
  const asks = createPendingRequests(now);
  let isClosed = false;
  let listening: Promise<(() => Promise<void>)[]> | undefined;

  function receive(raw: unknown): void {
    const message = parseReplyMessage(raw);
    if (message === undefined || !asks.receive(message)) onIgnored();
  }

  function hearRevocation(raw: unknown): void {
    const callerId = parseCallersMessage(raw);
    if (callerId !== undefined) onRevoked(callerId);
  }

  function subscribe(): Promise<(() => Promise<void>)[]> {
    return Promise.all([bus.subscribe(replicaChannel(replicaId), receive), bus.subscribe(callersChannel, hearRevocation)]);
  }

  /** After a failure the next need tries again. */
  async function listen(): Promise<void> {
    if (isClosed) throw new Error('The relay is closed.');
    listening ??= subscribe().catch((error: unknown) => {
      listening = undefined;
      throw error;
    });
    await listening;
  }

  function replyTo(message: Exclude<SessionMessage, { type: 'cancel' }>, reply: Reply): void {
    const answer = { type: 'reply', id: message.id, sessionId: message.sessionId, reply };
    if (message.replyTo === replicaId) receive(answer);
    // Whoever asked has a time limit of its own.
    else bus.publish(replicaChannel(message.replyTo), answer).catch(() => undefined);
  }

  function handle(session: LocalSession, message: SessionMessage): void {
    session.handle(message, (reply) => {
      if (message.type !== 'cancel') replyTo(message, reply);
    });
  }

  return {
    listen,
    handle,
    receive,
    ask: (ask) => asks.ask(ask),

    async post(message) {
      const session = findSession(message.sessionId);
      if (session === undefined) {
        await listen();
        return await bus.publish(sessionChannel(message.sessionId), message);
      }
      handle(session, message);
      return 1;
    },

    async close() {
      isClosed = true;
      asks.close();
      const unsubscribes = await (listening ?? Promise.resolve([])).catch(() => []);
      await Promise.allSettled(unsubscribes.map((unsubscribe) => unsubscribe()));
    },
  };
}
