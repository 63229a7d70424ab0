import type { SendElicitation } from '../core/elicitation.ts';
import type { Caller } from '../core/caller.ts';
import type { JsonObject } from '../shared/json.ts';
import type { CallBrowser } from '../core/browser-call.ts';
import { createAdmitSession } from './admit-session.ts';
import type { RelayBus } from './bus.ts';
import { callersChannel } from './bus-messages.ts';
import { createCallBrowser } from './call-browser.ts';
import { createSendElicitation } from './send-elicitation.ts';
import { createSessionRpc } from './session-rpc.ts';
import type { LocalSession, RelaySession, SessionSocket } from './session.ts';

/** A session on another replica only has to look up its socket. */
const frameTimeoutMs = 2_000;

/** The way to the users' browsers, wherever their sockets are. */
export interface BrowserRelay {
  callBrowser: CallBrowser;
  sendElicitation: SendElicitation;
  /**
   * A new session, or with `resume` the one of this caller that was cut off less than the grace ago (a live one is taken over, and its socket
   * closed with 4409). The session answers with the frame `session` `{session_id, resumed?}` and, resumed, with the frames kept meanwhile.
   * @throws when the bus cannot be reached.
   */
  open(options: { caller: Caller; socket: SessionSocket; resume?: string }): Promise<RelaySession>;
  /** Sends a frame to a session of this caller, wherever it lives; kept while its browser is away for a moment. False when it is not there. */
  sendTo(sessionId: string, caller: Caller, frame: JsonObject): Promise<boolean>;
  /** Aborts when this session is over for good; undefined when it is on another replica: `sendTo` then says whether it is over. */
  endOf(sessionId: string, caller: Caller): AbortSignal | undefined;
  /** Closes every session of a caller, on all replicas, with 4401: the key is gone. @throws when the other replicas could not be reached. */
  closeSessionsOf(callerId: string): Promise<void>;
  /** `pendingCalls`: those that sessions here run, and those of other replicas that this one waits for. `ignoredAnswers`: late, duplicate and foreign ones so far. */
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
  let isClosed = false;

  const onIgnored = (): void => {
    ignoredAnswers += 1;
  };
  const findSession = (id: string): LocalSession | undefined => sessions.get(id);
  const rpc = createSessionRpc({ bus, replicaId, now, findSession, onRevoked: revoke, onIgnored });
  const admitSession = createAdmitSession({ sessions, rpc, bus, replicaId, newId, now, graceMs, onIgnored });

  function revoke(callerId: string): void {
    const revoked = [...sessions.values()].filter((session) => session.callerId === callerId);
    for (const session of revoked) session.end(4401, 'The key is no longer valid.');
  }

  return {
    callBrowser: createCallBrowser({ rpc, replicaId, newId }),
    sendElicitation: createSendElicitation({ rpc, replicaId, newId }),

    async open({ caller, socket, resume }) {
      // First: a session must not open where the revocation of its key would not be heard.
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
      return { sessions: sessions.size, pendingCalls: local + rpc.countRemoteCalls(), ignoredAnswers };
    },

    async close() {
      isClosed = true;
      const closing = rpc.close();
      for (const session of Array.from(sessions.values())) session.end(1001, 'The gateway is shutting down.');
      await closing;
    },
  };
}
