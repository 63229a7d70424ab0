import { AsyncLocalStorage } from 'node:async_hooks';

/** Something foreign, such as a connection to a server, whose messages code runs for. */
interface TurnOwner {
  /** In the log. */
  readonly name: string;
  /** A promise of its turn has failed, and nobody handled that: its state is unknown. */
  fail(error: unknown): void;
}

/** One for the process, as is the event of rejections that nobody handles. */
const turns = new AsyncLocalStorage<TurnOwner>();

/** Runs work for `owner`, with all that it starts. */
export function runTurnOf<Value>(owner: TurnOwner, work: () => Value): Value {
  return turns.run(owner, work);
}

/** Whose turn it is; in a listener for unhandled rejections, in whose turn the promise failed. */
export function turnOwner(): TurnOwner | undefined {
  return turns.getStore();
}
