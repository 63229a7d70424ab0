import type { RelayBus } from './bus.ts';
import {
  callersChannel,
  parseCallersMessage,
  parseReplyMessage,
  replicaChannel,
  sessionChannel,
  type Reply,
  type SessionMessage,
  type SessionRequest,
} from './bus-messages.ts';
import type { LocalSession } from './session.ts';

/** How often another replica is probed during a request: a killed replica sends no reply, but no longer subscribes to the channel of the session. */
const probeIntervalMs = 5_000;

export type RpcResult = { type: 'reply'; reply: Reply } | { type: 'no-session' } | { type: 'timeout' } | { type: 'closed' };

interface RequestOptions {
  timeoutMs: number;
  signal?: AbortSignal;
  /** With fewer receivers than this, the message has not reached the session. Default 1. */
  receivers?: number;
  /**
   * For requests that the browser executes: the reply if the session disappears with its replica, which is probed meanwhile. Such a request is
   * cancelled in the browser when it ends here without a reply.
   */
  lost?: Reply;
}

/** Sends requests to sessions of any replica and receives the replies. Sessions of this replica are reached without the bus. */
export interface SessionRpc {
  /** Subscribes to replies and revocations, once. @throws when the bus cannot be reached. */
  listen(): Promise<void>;
  /** Settles once: by the first reply, at the time limit, or when the session was not reached. Rejects only with the signal's reason. */
  request(message: SessionRequest, options: RequestOptions): Promise<RpcResult>;
  /** Passes a message to its session on this replica, and sends the reply back. */
  handle(session: LocalSession, message: SessionMessage): void;
  /** Calls of this replica that run in sessions of other replicas. */
  countRemoteCalls(): number;
  close(): Promise<void>;
}

interface SessionRpcOptions {
  bus: RelayBus;
  replicaId: string;
  now: () => number;
  findSession: (id: string) => LocalSession | undefined;
  onRevoked: (callerId: string) => void;
  /** Called for a reply that is late, a duplicate, or from another session. */
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

  /** After a failure the next request subscribes again. */
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
      // If the reply is lost, the time limit of the requesting replica applies.
      else bus.publish(replicaChannel(message.replyTo), answer).catch(() => undefined);
    });
  }

  /** Returns the function that stops probing. */
  function probeRemote({ id, sessionId, replyTo }: SessionRequest, lost: Reply): () => void {
    const timer = setInterval(() => {
      post({ type: 'probe', id, sessionId, replyTo }).then(
        (receivers) => {
          if (receivers === 0) receiveReply({ type: 'reply', id, sessionId, reply: lost });
        },
        // An unreachable bus does not mean that the session is gone: the time limit of the request applies.
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
      const isSettledThere = result?.type === 'reply' || result?.type === 'no-session';
      if (lost !== undefined && !isSettledThere) post({ type: 'cancel', id, sessionId }).catch(() => undefined);
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
