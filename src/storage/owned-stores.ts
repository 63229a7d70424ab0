import type { ChatStore } from '../core/stores/chat-store.ts';
import type { CredentialStore } from '../core/callers/credentials.ts';
import { GatewayError } from '../core/errors.ts';
import type { NoteStore, NoteStores } from '../core/stores/note-store.ts';
import { keyIdOf, personCallerId } from '../core/callers/people.ts';
import type { ResponseStore } from '../core/stores/response-store.ts';
import type { RunStore } from '../core/runs/run-log.ts';
import type { SignInStore } from '../core/stores/sign-in-store.ts';
import type { WaitingRunStore } from '../core/runs/suspended-run.ts';
import type { UsageStore } from '../core/stores/usage-store.ts';

/** Every store in which something belongs to somebody. */
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
  usage: UsageStore;
}

/** How what belongs to a key and its people, or to one of them, is deleted while they may be at work. */
export interface Owners {
  /** From now on the stores drop what they are given for this owner, for work that ends has more to say. `reopen`: for a person, who may come again. */
  close(ownerId: string): { reopen: () => void };
  /** Deletes everything of an owner, in memory too. False if nobody of that id was known. */
  deleteAllOf(ownerId: string): Promise<boolean>;
  /** For whatever keeps something of callers in memory. */
  onDeleted: (forget: (ownerId: string) => void) => void;
}

/** Wraps the stores; only the wrapped ones may be used from then on. */
export function withOwners(stores: OwnedStores): OwnedStores & { owners: Owners } {
  /** Keys remain in it: there are no more than administrators delete while the process runs. */
  const closed = new Set<string>();
  const listeners: ((ownerId: string) => void)[] = [];
  const isClosed = (callerId: string): boolean => closed.has(callerId) || closed.has(keyIdOf(callerId));
  /** For what a client is told to be kept. @throws GatewayError `conflict` */
  function requireOpen(callerId: string): void {
    if (isClosed(callerId))
      throw new GatewayError('conflict', 'What belongs to this key or user is being deleted at this moment, so nothing was stored.');
  }
  const open = <Value>(callerId: string, value: Value): Value[] => (isClosed(callerId) ? [] : [value]);
  const notes = (store: NoteStore): NoteStore => ({
    ...store,
    save: async (note, bounds) => (isClosed(note.callerId) ? undefined : store.save(note, bounds)),
  });
  const { runs, waitingRuns, noteStores, fallbackNotes, chats, responses, credentials, signIns, usage } = stores;
  const allNotes = [...Object.values(noteStores), fallbackNotes];

  return {
    runs: { ...runs, save: (saved) => runs.save(saved.filter(({ callerId }) => !isClosed(callerId))) },
    waitingRuns: {
      ...waitingRuns,
      save: async (run, bounds) => (isClosed(run.callerId) ? { type: 'refused' } : waitingRuns.save(run, bounds)),
    },
    noteStores: Object.fromEntries(Object.entries(noteStores).map(([kind, store]) => [kind, notes(store)])) as unknown as NoteStores,
    fallbackNotes: notes(fallbackNotes),
    chats: {
      ...chats,
      async save(chat) {
        requireOpen(chat.callerId);
        await chats.save(chat);
      },
    },
    responses: {
      ...responses,
      async add(response) {
        requireOpen(response.callerId);
        await responses.add(response);
      },
    },
    credentials: {
      ...credentials,
      async save(callerId, server, credential) {
        requireOpen(callerId);
        await credentials.save(callerId, server, credential);
      },
    },
    signIns: {
      ...signIns,
      async add(signIn, bounds) {
        requireOpen(signIn.callerId);
        await signIns.add(signIn, bounds);
      },
    },
    usage: {
      ...usage,
      add: (counts, people) =>
        usage.add(
          counts.map((count) => (isClosed(personCallerId(count.keyId, count.personId)) ? { ...count, personId: '' } : count)),
          people.flatMap((person) => open(personCallerId(person.keyId, person.id), person)),
        ),
    },
    owners: {
      close(ownerId) {
        closed.add(ownerId);
        return { reopen: () => void closed.delete(ownerId) };
      },
      async deleteAllOf(ownerId) {
        for (const forget of listeners) forget(ownerId);
        const all = [runs, waitingRuns, ...allNotes, chats, responses, credentials, signIns];
        const [isKnown] = await Promise.all([usage.deleteAllOf(ownerId), ...all.map((store) => store.deleteAllOf(ownerId))]);
        return isKnown;
      },
      onDeleted: (forget) => void listeners.push(forget),
    },
  };
}
