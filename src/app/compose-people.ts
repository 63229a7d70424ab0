import { keyIdOf, personCallerId } from '../core/people.ts';
import type { UsageCounter } from '../observability/usage-counter.ts';
import type { BrowserRelay } from '../relay/browser-relay.ts';
import type { Runs } from './compose-runs.ts';
import type { Storage } from './compose-storage.ts';

export interface PeopleParts {
  storage: Storage;
  usage: UsageCounter;
  relay: Pick<BrowserRelay, 'closeSessionsOf'>;
  endAllOf: Runs['endAllOf'];
  flushRunLog: () => Promise<void>;
}

/** Deletes a person behind a key with everything that is theirs; false if nobody of that id is known. */
export function composeDeletePerson({ storage, usage, relay, endAllOf, flushRunLog }: PeopleParts) {
  return async (keyId: string, id: string): Promise<boolean> => {
    // No key has a slash in its id: such a text would begin the id of another person.
    if (keyIdOf(keyId) !== keyId) return false;
    const callerId = personCallerId(keyId, id);
    await endAllOf(callerId, 'user deleted');
    await relay.closeSessionsOf(callerId);
    await usage.flush();
    // What has just ended is written first, or it would be written after its deletion.
    await flushRunLog();
    const { chats, runs, waitingRuns } = storage;
    await Promise.all([chats.deleteAllOf(callerId), runs.deleteAllOf(callerId), waitingRuns.deleteAllOf(callerId)]);
    return storage.usage.forgetPerson(keyId, id);
  };
}
