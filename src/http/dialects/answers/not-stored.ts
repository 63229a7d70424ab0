import { warningEvent } from '../../../core/chat/caller-warning.ts';
import type { ChatEvent } from '../../../core/chat/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { RunEvent } from '../../../core/chat/run-event.ts';

/** Emitted after an answer that could not be stored. The last object of the answer then has `store: false`. `why`: the end of a sentence. */
export function notStored(why: string): ChatEvent {
  return warningEvent({ code: 'not_stored', message: `This answer was not stored, because ${why}. It cannot be read back later.` });
}

/** The same for an error of the store, whose own message may name paths of this machine. */
export function notStoredFor(error: unknown): ChatEvent {
  const isOverloaded = error instanceof GatewayError && error.code === 'overloaded';
  return notStored(isOverloaded ? 'too much waits to be stored at the moment' : 'the database cannot be written at the moment');
}

export function isNotStored({ type, data }: RunEvent): boolean {
  return type === 'warning' && data.code === 'not_stored';
}
