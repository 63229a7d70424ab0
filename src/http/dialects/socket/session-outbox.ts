import type { Caller } from '../../../core/caller.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import type { JsonObject } from '../../../shared/json.ts';

/** Sends a frame; false when the session is not there. */
export type SessionOutbox = (frame: JsonObject) => Promise<boolean>;

/** Sends to a session one frame after the other: on its way to another replica no frame may overtake another. */
export function createSessionOutbox(relay: Pick<BrowserRelay, 'sendTo'>, sessionId: string, caller: Caller): SessionOutbox {
  let last = Promise.resolve(true);
  return (frame) => {
    last = last.then(() => relay.sendTo(sessionId, caller, frame)).catch(() => false);
    return last;
  };
}
