import type { ChatMemory, ChatNote } from '../core/chat-memory.ts';
import { FairMap } from '../shared/fair-map.ts';

/** Notes as long as the process lives: the twin of those in SQLite. */
export function createMemoryChatMemory(): ChatMemory {
  const notes = new FairMap<ChatNote>({ entries: Infinity, characters: Infinity });

  return {
    async keep(note, { time, maxNotes, maxCharacters }) {
      for (const [id, { expires }] of notes) {
        if (expires > time) break;
        notes.delete(id);
      }
      const { id, callerId: owner, value } = note;
      notes.set(id, { owner, value: { ...note }, characters: value.length }, { entries: maxNotes, characters: maxCharacters });
    },
    async find(id, time) {
      const note = notes.get(id);
      return note !== undefined && note.expires > time ? note.value : undefined;
    },
    async forget(id) {
      notes.delete(id);
    },
    async forgetAllOf(callerId) {
      notes.deleteAllOf(callerId);
    },
  };
}
