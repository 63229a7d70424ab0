import type { FoundCall } from './regroup-returned.ts';
import type { StoredTurn } from './returned-turns.ts';

/** `id`: the call's own id, if it was looked up under another spelling. */
type FindTurn = (callId: string) => Promise<{ turn: StoredTurn; id?: string } | undefined>;

/** Finds the stored turns of one history. Each is one object, whichever of its calls is looked up. */
export class TurnLookup {
  readonly #find: FindTurn;
  readonly #known = new Map<string, FoundCall[]>();
  readonly #turns = new Map<string | undefined, StoredTurn>();

  constructor(find: FindTurn) {
    this.#find = find;
  }

  /** The call with this id. With a backend that numbers its calls, an id may refer to a turn that was never stored, so the function has to be the same. */
  async byId(id: string | undefined, name: string | undefined): Promise<FoundCall | undefined> {
    if (id === undefined) return undefined;
    const calls = this.#known.get(id) ?? (await this.#look(id));
    return calls.find(({ call }) => name === undefined || call.name === name);
  }

  async #look(id: string): Promise<FoundCall[]> {
    const found = await this.#find(id);
    const first = found?.turn.calls[0]?.id;
    const turn = this.#turns.get(first) ?? found?.turn;
    if (turn === undefined) {
      this.#known.set(id, []);
      return [];
    }
    this.#turns.set(first, turn);
    const callsOf = (wanted: string): FoundCall[] => turn.calls.filter((call) => call.id === wanted).map((call) => ({ turn, call }));
    for (const call of turn.calls) this.#known.set(call.id, callsOf(call.id));
    const calls = callsOf(found?.id ?? id);
    this.#known.set(id, calls);
    return calls;
  }
}
