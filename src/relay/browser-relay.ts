import type { SendElicitation } from '../core/tools/send-elicitation.ts';
import type { Caller } from '../core/callers/caller.ts';
import { isWithin } from '../core/callers/people.ts';
import type { JsonObject } from '../shared/json/json.ts';
import type { CallBrowser } from '../core/tools/browser-call.ts';
import { createAdmitSession } from './admit-session.ts';
import type { RelayBus } from './bus.ts';
import { callersChannel } from './bus-messages.ts';
import { createCallBrowser } from './call-browser.ts';
import { createSendElicitation } from './send-elicitation.ts';
import { createSessionRpc } from './session-rpc.ts';
import type { LocalSession, RelaySession, SessionSocket } from './session.ts';

/** How long another replica may take to accept a frame, for which it only has to look up a socket. */
const frameTimeoutMs = 2_000;

/** Reaches the users' browsers, on whichever replica their sockets are. */
export interface BrowserRelay {
  callBrowser: CallBrowser;
  sendElicitation: SendElicitation;
  /**
   * Opens a new session, or with `resume` one of this caller that was disconnected less than `graceMs` ago (a connected one is taken over, and its
   * socket closed with 4409). The session sends the frame `session` `{session_id, resumed?}` and, if resumed, the frames buffered meanwhile.
   * @throws when the bus cannot be reached.
   */
  open(options: { caller: Caller; socket: SessionSocket; resume?: string }): Promise<RelaySession>;
  /** Sends a frame to a session of this caller, on any replica; buffers it while the browser is disconnected. False when there is no such session. */
  sendTo(sessionId: string, caller: Caller, frame: JsonObject): Promise<boolean>;
  /** Aborted when this session has ended and cannot be resumed; undefined for a session of another replica, for which `sendTo` says whether it has ended. */
  endOf(sessionId: string, caller: Caller): AbortSignal | undefined;
  /** Closes every session of a key and its people, on all replicas, with 4401, after the key was deleted or has expired. @throws when the other replicas could not be reached. */
  closeSessionsOf(callerId: string): Promise<void>;
  /** `connected`: sessions of this replica whose browser is there. `pendingCalls`: calls in sessions of this replica, and calls of this replica in sessions of others. `ignoredAnswers`: late, duplicate and foreign answers so far. */
  counts(): { sessions: number; connected: number; pendingCalls: number; ignoredAnswers: number };
  close(): Promise<void>;
}

interface BrowserRelayOptions {
  bus: RelayBus;
  /** Unique among the replicas on the bus. */
  replicaId: string;
  /** At least 128 random bits as base64url, because a client that knows the id of a call may answer it. */
  newId: () => string;
  now: () => number;
  /** How long a disconnected session waits for its browser, in milliseconds. */
  graceMs: number;
}

export function createBrowserRelay({ bus, replicaId, newId, now, graceMs }: BrowserRelayOptions): BrowserRelay {
  const sessions = new Map<string, LocalSession>();
  let ignoredAnswers = 0;
  let isClosed = false;

  const onIgnored = (): void => {
    ignoredAnswers += 1;
  };
  const findSession = (id: string): LocalSession | undefined => sessions.get(id);
  const rpc = createSessionRpc({ bus, replicaId, now, findSession, onRevoked: revoke, onIgnored });
  const admitSession = createAdmitSession({ sessions, rpc, bus, replicaId, newId, now, graceMs, onIgnored });

  function revoke(callerId: string): void {
    const revoked = [...sessions.values()].filter((session) => isWithin(session.callerId, callerId));
    for (const session of revoked) session.end(4401, 'The key is no longer valid.');
  }

  return {
    callBrowser: createCallBrowser({ rpc, replicaId, newId }),
    sendElicitation: createSendElicitation({ rpc, replicaId, newId }),

    async open({ caller, socket, resume }) {
      // Subscribe first: otherwise a session could miss the revocation of its key.
      await rpc.listen();
      const taken = resume === undefined ? undefined : await admitSession.takeUp(resume, caller);
      const session = taken ?? (await admitSession.create(caller));
      if (isClosed) session.end(1001, 'The gateway is shutting down.');
      return session.attach(socket, resume === undefined ? undefined : taken !== undefined);
    },

    async sendTo(sessionId, caller, frame) {
      const local = sessions.get(sessionId);
      if (local !== undefined) return local.callerId === caller.id && local.deliver(frame);
      const request = { id: newId(), sessionId, replyTo: replicaId, callerId: caller.id, frame };
      const result = await rpc.request({ type: 'frame', ...request }, { timeoutMs: frameTimeoutMs });
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
      const connected = [...sessions.values()].filter((session) => !session.isAway()).length;
      return { sessions: sessions.size, connected, pendingCalls: local + rpc.countRemoteCalls(), ignoredAnswers };
    },

    async close() {
      isClosed = true;
      const closing = rpc.close();
      for (const session of Array.from(sessions.values())) session.end(1001, 'The gateway is shutting down.');
      await closing;
    },
  };
}
