import type { AuditStore } from '../core/stores/audit-store.ts';
import type { ChatStore } from '../core/stores/chat-store.ts';
import type { CredentialStore } from '../core/sign-in/credentials.ts';
import { GatewayError } from '../core/errors.ts';
import type { GrantStore } from '../core/stores/grant-store.ts';
import type { NoteStore, NoteStores } from '../core/stores/note-store.ts';
import { withoutPerson } from '../core/callers/caller.ts';
import { keyIdOf, personCallerId } from '../core/callers/people.ts';
import type { ResponseStore } from '../core/stores/response-store.ts';
import type { RunStore } from '../core/runs/run-log.ts';
import type { SignInStore } from '../core/stores/sign-in-store.ts';
import type { WaitingRunStore } from '../core/runs/suspended-run.ts';
import type { UsageStore } from '../core/stores/usage-store.ts';

/** Every store whose records belong to a key or a person. */
export interface OwnedStores {
  runs: RunStore;
  waitingRuns: WaitingRunStore;
  noteStores: NoteStores;
  /** In memory, for continuations while the store cannot be written. */
  fallbackNotes: NoteStore;
  chats: ChatStore;
  responses: ResponseStore;
  credentials: CredentialStore;
  signIns: SignInStore;
  grants: GrantStore;
  usage: UsageStore;
  audit: AuditStore;
}

/** Deletes the data of a key and its people, or of one person, while their requests may still be running. */
export interface Owners {
  /** From now on the stores discard writes for this owner, because work that is ending may still write. `reopen`: for a person, who may return. */
  close(ownerId: string): { reopen: () => void };
  /** Deletes everything of an owner, in memory too. False if the id is unknown. */
  deleteAllOf(ownerId: string): Promise<boolean>;
  /** For components that cache data of callers in memory. */
  onDeleted: (forget: (ownerId: string) => void) => void;
}

/** Wraps the stores; only the wrapped ones may be used from then on. */
export function withOwners(stores: OwnedStores): OwnedStores & { owners: Owners } {
  const owners = new DeletableOwners(stores);
  const isClosed = (callerId: string): boolean => owners.isClosed(callerId);
  const notes = (store: NoteStore): NoteStore => ({
    ...store,
    save: async (note, bounds) => (isClosed(note.callerId) ? undefined : store.save(note, bounds)),
  });
  const { runs, waitingRuns, noteStores, fallbackNotes, chats, responses, credentials, signIns, grants, usage, audit } = stores;

  return {
    runs: { ...runs, save: (saved) => runs.save(saved.filter(({ callerId }) => !isClosed(callerId))) },
    waitingRuns: {
      ...waitingRuns,
      save: async (run, bounds) => (isClosed(run.callerId) ? { type: 'refused' } : waitingRuns.save(run, bounds)),
    },
    noteStores: Object.fromEntries(Object.entries(noteStores).map(([kind, store]) => [kind, notes(store)])) as NoteStores,
    fallbackNotes: notes(fallbackNotes),
    chats: {
      ...chats,
      async save(chat) {
        owners.requireOpen(chat.callerId);
        await chats.save(chat);
      },
    },
    responses: {
      ...responses,
      async add(response) {
        owners.requireOpen(response.callerId);
        await responses.add(response);
      },
    },
    credentials: {
      ...credentials,
      async save(callerId, server, credential) {
        owners.requireOpen(callerId);
        await credentials.save(callerId, server, credential);
      },
    },
    signIns: {
      ...signIns,
      async add(signIn, bounds) {
        owners.requireOpen(signIn.callerId);
        await signIns.add(signIn, bounds);
      },
    },
    grants: {
      ...grants,
      async save(record, bounds) {
        owners.requireOpen(record.ownerId);
        return grants.save(record, bounds);
      },
    },
    usage: {
      ...usage,
      add: (counts, people) =>
        usage.add(
          counts.map((count) => (isClosed(personCallerId(count.keyId, count.personId)) ? { ...count, personId: '' } : count)),
          people.filter(({ keyId, id }) => !isClosed(personCallerId(keyId, id))),
        ),
    },
    audit: {
      ...audit,
      add: (entry) => audit.add(isClosed(entry.callerId) ? { ...entry, callerId: withoutPerson({ id: entry.callerId }) } : entry),
    },
    owners,
  };
}

class DeletableOwners implements Owners {
  readonly #stores: OwnedStores;
  /** Deleted keys stay in it, which are as many as administrators delete while the process runs. */
  readonly #closed = new Set<string>();
  readonly #listeners: ((ownerId: string) => void)[] = [];

  readonly onDeleted = (forget: (ownerId: string) => void): void => {
    this.#listeners.push(forget);
  };

  constructor(stores: OwnedStores) {
    this.#stores = stores;
  }

  close(ownerId: string): { reopen: () => void } {
    this.#closed.add(ownerId);
    return { reopen: () => void this.#closed.delete(ownerId) };
  }

  isClosed(callerId: string): boolean {
    return this.#closed.has(callerId) || this.#closed.has(keyIdOf(callerId));
  }

  /** For stores whose clients learn that something was stored. @throws GatewayError `conflict` */
  requireOpen(callerId: string): void {
    if (this.isClosed(callerId))
      throw new GatewayError('conflict', 'The data of this key or user is being deleted, so nothing was stored.');
  }

  async deleteAllOf(ownerId: string): Promise<boolean> {
    for (const forget of this.#listeners) forget(ownerId);
    const { runs, waitingRuns, noteStores, fallbackNotes, chats, responses, credentials, signIns, grants, usage, audit } = this.#stores;
    const all = [runs, waitingRuns, ...Object.values(noteStores), fallbackNotes, chats, responses, credentials, signIns, grants, audit];
    const [isKnown] = await Promise.all([usage.deleteAllOf(ownerId), ...all.map((store) => store.deleteAllOf(ownerId))]);
    return isKnown;
  }
}
