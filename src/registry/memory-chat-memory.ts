import type { ChatMemory, ChatNote } from '../core/chat-memory.ts';

/** Notes as long as the process lives: the twin of those in SQLite. */
export function createMemoryChatMemory(): ChatMemory {
  const notes = new Map<string, ChatNote>();
  let characters = 0;

  function drop(id: string): void {
    characters -= notes.get(id)?.value.length ?? 0;
    notes.delete(id);
  }

  function heaviestCaller(weigh: (note: ChatNote) => number): string {
    const weights = new Map<string, number>();
    for (const note of notes.values()) weights.set(note.callerId, (weights.get(note.callerId) ?? 0) + weigh(note));
    return [...weights].reduce((most, next) => (next[1] > most[1] ? next : most), ['', 0])[0];
  }

  return {
    async keep(note, { time, maxNotes, maxCharacters }) {
      // Anew at the end: the order is that in which they were written.
      drop(note.id);
      notes.set(note.id, { ...note });
      characters += note.value.length;
      for (const [id, { expires }] of notes) {
        if (expires > time) break;
        drop(id);
      }
      while (notes.size > maxNotes || characters > maxCharacters) {
        const heaviest = heaviestCaller(notes.size > maxNotes ? () => 1 : ({ value }) => value.length);
        const oldest = [...notes.values()].find(({ callerId }) => callerId === heaviest);
        if (oldest === undefined) return;
        drop(oldest.id);
      }
    },
    async find(id, time) {
      const note = notes.get(id);
      return note !== undefined && note.expires > time ? note.value : undefined;
    },
    async forget(id) {
      drop(id);
    },
    async forgetAllOf(callerId) {
      for (const [id, note] of notes) if (note.callerId === callerId) drop(id);
    },
  };
}
