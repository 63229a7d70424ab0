import type { Caller } from '../../../core/callers/caller.ts';
import type { BrowserRelay } from '../../../relay/browser-relay.ts';
import type { JsonObject } from '../../../shared/json/json.ts';

/** Sends a frame; false when there is no such session. */
type SessionOutbox = (frame: JsonObject) => Promise<boolean>;

/** Sends frames to a session one after the other, so that none overtakes another on the way to another replica. */
export function createSessionOutbox(relay: Pick<BrowserRelay, 'sendTo'>, sessionId: string, caller: Caller): SessionOutbox {
  let last = Promise.resolve(true);
  return (frame) => {
    last = last.then(() => relay.sendTo(sessionId, caller, frame)).catch(() => false);
    return last;
  };
}
