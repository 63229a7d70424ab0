import type { Caller } from '../core/callers/caller.ts';
import type { JsonObject } from '../shared/json/json.ts';
import { limits } from '../core/limits.ts';
import { keyIdOf } from '../core/callers/people.ts';
import type { RelayBus } from './bus.ts';
import { parseSessionMessage, sessionChannel, type SessionMessage, type SessionRequest } from './bus-messages.ts';
import type { SessionRpc } from './session-rpc.ts';
import { LocalSession } from './session.ts';

/** How long another replica may take to transfer a session, which it has in memory. */
const takeTimeoutMs = 2_000;
/** Messages that are buffered for a session while it is being taken over. */
const maxBuffered = 1_000;
const sessionIdPattern = /^[\w-]{1,256}$/;

interface AdmitSessionOptions {
  /** The sessions of this replica, by id. A session that ends or moves removes itself. */
  sessions: Map<string, LocalSession>;
  rpc: SessionRpc;
  bus: RelayBus;
  replicaId: string;
  newId: () => string;
  now: () => number;
  graceMs: number;
  onIgnored: () => void;
}

interface AdmitSession {
  create(caller: Caller): Promise<LocalSession>;
  /** Undefined when there is no such session of this caller. */
  takeUp(id: string, caller: Caller): Promise<LocalSession | undefined>;
}

export function createAdmitSession(options: AdmitSessionOptions): AdmitSession {
  const { sessions, rpc, bus, replicaId, newId } = options;

  function admit(entry: { id: string; callerId: string; frames?: JsonObject[]; unsubscribe: () => Promise<void> }): LocalSession {
    const { unsubscribe, ...rest } = entry;
    const onGone = (): void => {
      if (sessions.get(session.id) === session) sessions.delete(session.id);
      unsubscribe().catch(() => undefined);
    };
    const session = new LocalSession({ ...rest, graceMs: options.graceMs, now: options.now, onGone, onIgnored: options.onIgnored });
    sessions.set(session.id, session);
    return session;
  }

  return {
    async create(caller) {
      // A client that connects and disconnects in a loop must not fill the memory with sessions without a browser.
      const ofKey = [...sessions.values()].filter(({ callerId }) => keyIdOf(callerId) === keyIdOf(caller.id));
      const away = ofKey.filter((session) => session.isAway());
      const own = away.filter(({ callerId }) => callerId === caller.id);
      const oldest = own.length >= limits.socketsPerCaller ? own[0] : away.length >= limits.socketsPerKey ? away[0] : undefined;
      oldest?.end(1013, 'Too many sessions are waiting for their browser.');
      const id = newId();
      const unsubscribe = await bus.subscribe(sessionChannel(id), (raw) => {
        const message = parseSessionMessage(raw);
        const session = sessions.get(id);
        if (message?.sessionId === id && session !== undefined) rpc.handle(session, message);
      });
      return admit({ id, callerId: caller.id, unsubscribe });
    },

    /**
     * While a session moves here, both replicas are subscribed to its channel. The order of its messages decides: those before our `take` are for
     * the other replica, those after it for this one.
     */
    async takeUp(id, caller) {
      if (!sessionIdPattern.test(id)) return undefined;
      const local = sessions.get(id);
      if (local !== undefined) return local.canBeTaken(caller.id) ? local : undefined;
      const takeId = newId();
      const buffered: SessionMessage[] = [];
      let isOurs = false;
      let session: LocalSession | undefined;
      const unsubscribe = await bus.subscribe(sessionChannel(id), (raw) => {
        const message = parseSessionMessage(raw);
        if (message === undefined || message.sessionId !== id) return;
        if (session !== undefined) rpc.handle(session, message);
        else if (message.id === takeId) isOurs = true;
        else if (isOurs && buffered.length < maxBuffered) buffered.push(message);
      });
      const take: SessionRequest = { type: 'take', id: takeId, sessionId: id, replyTo: replicaId, callerId: caller.id };
      // Two receivers: our own subscription and that of the replica that has the session.
      const result = await rpc.request(take, { timeoutMs: takeTimeoutMs, receivers: 2 });
      if (result.type !== 'reply' || result.reply.type !== 'taken') {
        unsubscribe().catch(() => undefined);
        return undefined;
      }
      session = admit({ id, callerId: caller.id, frames: result.reply.frames, unsubscribe });
      for (const message of buffered) rpc.handle(session, message);
      return session;
    },
  };
}
