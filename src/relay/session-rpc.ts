import type { RelayBus } from './bus.ts';
import { callersChannel, parseCallersMessage, parseReplyMessage, replicaChannel, sessionChannel } from './bus-messages.ts';
import type { Reply, SessionMessage, SessionRequest } from './bus-messages.ts';
import type { LocalSession } from './session.ts';

/** How often another replica is asked whether it still works on a request: a replica that was killed says nothing, but does not subscribe any more. */
const probeIntervalMs = 5_000;

export type RpcResult = { type: 'reply'; reply: Reply } | { type: 'no-session' } | { type: 'timeout' } | { type: 'closed' };

export interface RequestOptions {
  timeoutMs: number;
  signal?: AbortSignal;
  /** The message has not reached the session with fewer receivers than this. Default 1. */
  receivers?: number;
  /**
   * For work of the browser: the reply where its session has disappeared with its replica, which is looked after meanwhile. Such work is
   * cancelled when nobody waits for it any more.
   */
  lost?: Reply;
}

/** Requests of this replica to sessions, here or elsewhere, and their replies. Sessions that are here are reached without the bus. */
export interface SessionRpc {
  /** Subscribes to replies and revocations; cheap when it has. @throws when the bus cannot be reached. */
  listen(): Promise<void>;
  /** Settles once: by the first reply, at the time limit, or when the session was not reached. Rejects only with the signal's reason. */
  request(message: SessionRequest, options: RequestOptions): Promise<RpcResult>;
  /** Gives a message to its session, which is here, and sends the reply back. */
  handle(session: LocalSession, message: SessionMessage): void;
  /** Calls that another replica's sessions are running for this one. */
  countRemoteCalls(): number;
  close(): Promise<void>;
}

export interface SessionRpcOptions {
  bus: RelayBus;
  replicaId: string;
  now: () => number;
  findSession: (id: string) => LocalSession | undefined;
  onRevoked: (callerId: string) => void;
  /** A reply that is late, a duplicate, or from a session that was not asked. */
  onIgnored: () => void;
}

interface PendingRequest {
  sessionId: string;
  deadline: number;
  isRemoteCall: boolean;
  settle: (result: RpcResult) => void;
}

export function createSessionRpc({ bus, replicaId, now, findSession, onRevoked, onIgnored }: SessionRpcOptions): SessionRpc {
  const pending = new Map<string, PendingRequest>();
  let isClosed = false;
  let listening: Promise<(() => Promise<void>)[]> | undefined;

  function receiveReply(raw: unknown): void {
    const message = parseReplyMessage(raw);
    const request = message === undefined ? undefined : pending.get(message.id);
    // The clock decides and not the timer alone: a busy process may run its timers late.
    if (message === undefined || request?.sessionId !== message.sessionId || now() >= request.deadline) return onIgnored();
    pending.delete(message.id);
    request.settle({ type: 'reply', reply: message.reply });
  }

  function receiveRevocation(raw: unknown): void {
    const callerId = parseCallersMessage(raw);
    if (callerId !== undefined) onRevoked(callerId);
  }

  /** After a failure the next request tries again. */
  async function listen(): Promise<void> {
    if (isClosed) throw new Error('The relay is closed.');
    listening ??= Promise.all([
      bus.subscribe(replicaChannel(replicaId), receiveReply),
      bus.subscribe(callersChannel, receiveRevocation),
    ]).catch((error: unknown) => {
      listening = undefined;
      throw error;
    });
    await listening;
  }

  /** Resolves with the number of receivers. @throws when the bus is needed and cannot be reached. */
  async function post(message: SessionMessage): Promise<number> {
    const session = findSession(message.sessionId);
    if (session === undefined) {
      await listen();
      return await bus.publish(sessionChannel(message.sessionId), message);
    }
    handle(session, message);
    return 1;
  }

  function handle(session: LocalSession, message: SessionMessage): void {
    session.handle(message, (reply) => {
      if (message.type === 'cancel') return;
      const answer = { type: 'reply', id: message.id, sessionId: message.sessionId, reply };
      if (message.replyTo === replicaId) receiveReply(answer);
      // Whoever waits for it has a time limit of its own.
      else bus.publish(replicaChannel(message.replyTo), answer).catch(() => undefined);
    });
  }

  /** Gives what ends it. */
  function probeRemote({ id, sessionId, replyTo }: SessionRequest, lost: Reply): () => void {
    const timer = setInterval(() => {
      post({ type: 'probe', id, sessionId, replyTo }).then(
        (receivers) => {
          if (receivers === 0) receiveReply({ type: 'reply', id, sessionId, reply: lost });
        },
        // A bus that cannot be reached says nothing about the session: the request's own time limit decides.
        () => undefined,
      );
    }, probeIntervalMs);
    return () => clearInterval(timer);
  }

  async function request(message: SessionRequest, { timeoutMs, signal, receivers = 1, lost }: RequestOptions): Promise<RpcResult> {
    const { id, sessionId } = message;
    const { promise, resolve, reject } = Promise.withResolvers<RpcResult>();
    const isRemote = findSession(sessionId) === undefined;
    const onAbort = (): void => reject(signal?.reason as Error);
    const timer = setTimeout(() => resolve({ type: 'timeout' }), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    pending.set(id, { sessionId, deadline: now() + timeoutMs, isRemoteCall: isRemote && message.type === 'call', settle: resolve });
    const stopProbing = isRemote && lost !== undefined ? probeRemote(message, lost) : undefined;
    let result: RpcResult | undefined;
    try {
      post(message).then(
        (count) => {
          if (count < receivers) resolve({ type: 'no-session' });
        },
        () => resolve({ type: 'no-session' }),
      );
      result = await promise;
      return result;
    } finally {
      clearTimeout(timer);
      stopProbing?.();
      signal?.removeEventListener('abort', onAbort);
      pending.delete(id);
      const isWanted = result?.type === 'reply' || result?.type === 'no-session';
      if (lost !== undefined && !isWanted) post({ type: 'cancel', id, sessionId }).catch(() => undefined);
    }
  }

  return {
    listen,
    request,
    handle,
    countRemoteCalls: () => [...pending.values()].filter(({ isRemoteCall }) => isRemoteCall).length,

    async close() {
      isClosed = true;
      for (const { settle } of pending.values()) settle({ type: 'closed' });
      pending.clear();
      const unsubscribes = await (listening ?? Promise.resolve([])).catch(() => []);
      await Promise.allSettled(unsubscribes.map((unsubscribe) => unsubscribe()));
    },
  };
}
