import { keyIdOf, personCallerId } from '../../core/callers/people.ts';
import type { UsageCounter } from '../../observability/usage-counter.ts';
import type { WritingRunLog } from '../../observability/run-log.ts';
import type { Runs } from './compose-runs.ts';
import type { Storage } from './compose-storage.ts';

interface DeletionParts {
  storage: Pick<Storage, 'owners'>;
  usage: Pick<UsageCounter, 'flush'>;
  closeSessionsOf: (ownerId: string) => Promise<void>;
  endAllOf: Runs['endAllOf'];
  runLog: Pick<WritingRunLog, 'settle'>;
}

/** Deletes everything of a key, or of one of the people behind it. */
interface Deletions {
  /** After the deletion of the key itself. */
  deleteAllOfKey: (keyId: string) => Promise<void>;
  /** False if nobody of that id is known. */
  deletePerson: (keyId: string, id: string) => Promise<boolean>;
}

/** Ends what an owner is doing, and deletes everything that is theirs. */
export function composeDeletions({ storage: { owners }, usage, closeSessionsOf, endAllOf, runLog }: DeletionParts): Deletions {
  async function endAndDelete(ownerId: string, cause: 'deleted' | 'user deleted'): Promise<boolean> {
    await Promise.all([endAllOf(ownerId, cause), closeSessionsOf(ownerId)]);
    // Work that has just ended is still unwritten, and would be listed from memory.
    await Promise.all([usage.flush(), runLog.settle()]);
    return owners.deleteAllOf(ownerId);
  }

  return {
    async deleteAllOfKey(keyId) {
      owners.close(keyId);
      await endAndDelete(keyId, 'deleted');
    },
    async deletePerson(keyId, id) {
      // No key has a slash in its id: such a text would begin the id of another person.
      if (keyIdOf(keyId) !== keyId || id === '') return false;
      const callerId = personCallerId(keyId, id);
      const { reopen } = owners.close(callerId);
      try {
        return await endAndDelete(callerId, 'user deleted');
      } finally {
        reopen();
      }
    },
  };
}
