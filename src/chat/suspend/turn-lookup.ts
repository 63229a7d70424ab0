import { setImmediate as nextTick } from 'node:timers/promises';
import { parseExactly } from '../../shared/json/parse-exactly.ts';
import type { FoundCall } from './regroup-returned.ts';
import type { StoredTurn } from './returned-turns.ts';

/** The note of a further call of a turn. `of`: the note with the turn. `id`: the call's own id, if the note is of another spelling of it. */
export interface TurnReference {
  of: string;
  id?: string;
}

interface TurnLookupOptions {
  noteIdOf: (callId: string) => string;
  findText: (noteId: string) => Promise<string | undefined>;
}

/** How much is read in one tick of the event loop: the turns of one history may have megabytes. */
const tickCharacters = 512 * 1024;

/** Finds the stored turns of one history. Each is read once, and is one object, whichever of its calls is looked up. */
export class TurnLookup {
  readonly #options: TurnLookupOptions;
  readonly #known = new Map<string, FoundCall[]>();
  /** By the ids of their notes. */
  readonly #turns = new Map<string, StoredTurn>();
  #charactersInTick = 0;

  constructor(options: TurnLookupOptions) {
    this.#options = options;
  }

  /** The call with this id. With a backend that numbers its calls, an id may refer to a turn that was never stored, so the function has to be the same. */
  async byId(id: string | undefined, name: string | undefined): Promise<FoundCall | undefined> {
    if (id === undefined) return undefined;
    const calls = this.#known.get(id) ?? (await this.#look(id));
    return calls.find(({ call }) => name === undefined || call.name === name);
  }

  async #look(id: string): Promise<FoundCall[]> {
    const found = await this.#find(id);
    if (found === undefined) {
      this.#known.set(id, []);
      return [];
    }
    const { turn, callId } = found;
    const callsOf = (wanted: string): FoundCall[] => turn.calls.filter((call) => call.id === wanted).map((call) => ({ turn, call }));
    for (const call of turn.calls) this.#known.set(call.id, callsOf(call.id));
    const calls = callsOf(callId);
    this.#known.set(id, calls);
    return calls;
  }

  async #find(id: string): Promise<{ turn: StoredTurn; callId: string } | undefined> {
    const noteId = this.#options.noteIdOf(id);
    const note = await this.#read(noteId);
    if (note === undefined || !('of' in note)) return note && { turn: note, callId: id };
    const turn = await this.#read(note.of);
    return turn === undefined || 'of' in turn ? undefined : { turn, callId: note.id ?? id };
  }

  async #read(noteId: string): Promise<StoredTurn | TurnReference | undefined> {
    const known = this.#turns.get(noteId);
    if (known !== undefined) return known;
    const text = await this.#options.findText(noteId);
    if (text === undefined) return undefined;
    this.#charactersInTick += text.length;
    if (this.#charactersInTick > tickCharacters) {
      this.#charactersInTick = 0;
      await nextTick();
    }
    const note = parseExactly(text) as StoredTurn | TurnReference;
    if (!('of' in note)) this.#turns.set(noteId, note);
    return note;
  }
}
