import type { SendElicitation } from '../core/elicitation.ts';
import type { Caller } from '../core/caller.ts';
import type { JsonObject } from '../shared/json.ts';
import type { CallBrowser } from '../core/browser-call.ts';
import { createAdmitSession } from './admit-session.ts';
import { createAskBrowser } from './ask-browser.ts';
import type { RelayBus } from './bus.ts';
import { callersChannel } from './bus-messages.ts';
import type { SessionMessage } from './bus-messages.ts';
import { createCallBrowser } from './call-browser.ts';
import { createSessionRpc } from './session-rpc.ts';
import type { LocalSession, RelaySession, SessionSocket } from './session.ts';

/** A session on another replica only has to look up its socket. */
const frameTimeoutMs = 2_000;

/** The way to the users' browsers, wherever their sockets are. */
export interface BrowserRelay {
  callBrowser: CallBrowser;
  askBrowser: SendElicitation;
  /**
   * A new session, or with `resume` the one of this caller that was cut off less than the grace ago (a live one is taken over, and its socket
   * closed with 4409). The session answers with the frame `session` `{session_id, resumed?}` and, resumed, with the frames kept meanwhile.
   * @throws when the bus cannot be reached.
   */
  open(options: { caller: Caller; socket: SessionSocket; resume?: string }): Promise<RelaySession>;
  /** Sends a frame to a session of this caller, wherever it lives; kept while its browser is away for a moment. False when it is not there. */
  sendTo(sessionId: string, caller: Caller, frame: JsonObject): Promise<boolean>;
  /** Aborts when this session is over for good; undefined when it does not live here. Then `sendTo` tells. */
  endOf(sessionId: string, caller: Caller): AbortSignal | undefined;
  /** Closes every session of a caller, on all replicas, with 4401: the key is gone. @throws when the other replicas could not be told. */
  closeSessionsOf(callerId: string): Promise<void>;
  /** `pendingCalls`: that sessions here run or that are awaited from elsewhere. `ignoredAnswers`: late, duplicate and alien ones so far. */
  counts(): { sessions: number; pendingCalls: number; ignoredAnswers: number };
  close(): Promise<void>;
}

export interface BrowserRelayOptions {
  bus: RelayBus;
  /** Unique among the replicas on the bus. */
  replicaId: string;
  /** At least 128 random bits as base64url: who knows a call's id may answer it. */
  newId: () => string;
  now: () => number;
  /** How long a session waits for its browser. */
  graceMs: number;
}

export function createBrowserRelay({ bus, replicaId, newId, now, graceMs }: BrowserRelayOptions): BrowserRelay {
  const sessions = new Map<string, LocalSession>();
  let ignoredAnswers = 0;
  let remoteCalls = 0;
  let isClosed = false;

  const onIgnored = (): void => {
    ignoredAnswers += 1;
  };
  const findSession = (id: string): LocalSession | undefined => sessions.get(id);
  const correspondence = createSessionRpc({ bus, replicaId, now, findSession, onRevoked: revoke, onIgnored });
  const admitSession = createAdmitSession({ sessions, correspondence, bus, replicaId, newId, now, graceMs, onIgnored });
  const isHere = (sessionId: string): boolean => sessions.has(sessionId);
  const askBrowser = createAskBrowser({ correspondence, replicaId, newId, isHere });
  const callBrowser = createCallBrowser({
    correspondence,
    replicaId,
    newId,
    isHere,
    onRemoteCall: (change) => {
      remoteCalls += change;
    },
  });

  function revoke(callerId: string): void {
    const own = [...sessions.values()].filter((session) => session.callerId === callerId);
    for (const session of own) session.end(4401, 'The key is no longer valid.');
  }

  return {
    callBrowser,
    askBrowser,

    async open({ caller, socket, resume }) {
      // First: a session must not open where the revocation of its key would not be heard.
      await correspondence.listen();
      const taken = resume === undefined ? undefined : await admitSession.takeUp(resume, caller);
      const session = taken ?? (await admitSession.create(caller));
      if (isClosed) session.end(1001, 'The gateway is shutting down.');
      return session.attach(socket, resume === undefined ? undefined : taken !== undefined);
    },

    async sendTo(sessionId, caller, frame) {
      const local = sessions.get(sessionId);
      if (local !== undefined) return local.callerId === caller.id && local.deliver(frame);
      const message: SessionMessage = { type: 'frame', id: newId(), sessionId, replyTo: replicaId, callerId: caller.id, frame };
      const send = (): Promise<number> => correspondence.post(message);
      const result = await correspondence.ask({ id: message.id, sessionId, timeoutMs: frameTimeoutMs, send });
      return result.type === 'reply' && result.reply.type === 'accepted' && result.reply.isAccepted;
    },

    endOf(sessionId, caller) {
      const local = sessions.get(sessionId);
      return local?.callerId === caller.id ? local.ended : undefined;
    },

    async closeSessionsOf(callerId) {
      revoke(callerId);
      await bus.publish(callersChannel, { type: 'close-caller', callerId });
    },

    counts() {
      const local = [...sessions.values()].reduce((sum, session) => sum + session.pendingCalls(), 0);
      return { sessions: sessions.size, pendingCalls: local + remoteCalls, ignoredAnswers };
    },

    async close() {
      isClosed = true;
      const closing = correspondence.close();
      for (const session of Array.from(sessions.values())) session.end(1001, 'The gateway is shutting down.');
      await closing;
    },
  };
}
