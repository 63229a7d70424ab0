import type { SessionRpc } from './session-rpc.ts';

/** How often what another replica does for us is looked after: a replica that was killed says nothing, but is no subscriber any more. */
const probeIntervalMs = 5_000;

/** Looks after what another replica's session was asked, and says so when that session is gone. Gives what ends it. */
export function watchRemote(
  correspondence: SessionRpc,
  question: { id: string; sessionId: string; replyTo: string },
  lost: object,
): () => void {
  const { id, sessionId } = question;
  const timer = setInterval(() => {
    correspondence.post({ type: 'probe', ...question }).then(
      (count) => {
        if (count === 0) correspondence.receive({ type: 'reply', id, sessionId, reply: lost });
      },
      // A bus that is away says nothing about the session: the question's own limit decides.
      () => undefined,
    );
  }, probeIntervalMs);
  return () => clearInterval(timer);
}
