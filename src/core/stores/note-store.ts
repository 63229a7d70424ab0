/** A note about one chat, run or login of one caller. */
export interface Note {
  /** Derived from caller and chat, or from the run, so that no caller can find another's note. */
  id: string;
  callerId: string;
  value: string;
  /** Milliseconds since 1970. */
  expires: number;
}

export interface NoteBounds {
  /** Now, in milliseconds since 1970; notes that expired before are deleted. */
  time: number;
  maxNotes: number;
  /** Of all notes together, as they are stored. */
  maxCharacters: number;
}

/**
 * Stores notes of one kind.
 * @throws GatewayError `storage_unavailable`
 */
export interface NoteStore {
  /** Adds a note or replaces the one of this id. Beyond the bounds, the caller with the most loses those written longest ago. Resolves when the note is durable. */
  save(note: Note, bounds: NoteBounds): Promise<void>;
  /** Undefined also for an expired note, and for one that cannot be decrypted with the current secret. */
  find(id: string, time: number): Promise<string | undefined>;
  /** Whether there is no note at all, not even an expired one. */
  isEmpty(): Promise<boolean>;
  delete(id: string): Promise<void>;
  /** Of a key also those of its people. */
  deleteAllOf(callerId: string): Promise<void>;
  /** Deletes the notes that expire until `time`; resolves to their number. */
  deleteExpired(time: number): Promise<number>;
}

/**
 * `approval`: remembered decisions. `state`: the state of functions. `config`: what functions and hand-offs changed in a chat. `continuation`: results
 * of calls that ran beside calls of the caller's functions, and what the model wants back with these. `prompt`: what a model was asked in a run, and answered. `transcript`: what a suspended run
 * did. `conversation`: the messages of a chat over a socket. `login`: the tokens of somebody who is signed in to the console.
 * `console-chat`: a chat of the console, or the list of a caller's.
 */
export type NoteKind =
  | 'approval'
  | 'state'
  | 'config'
  | 'continuation'
  | 'prompt'
  | 'transcript'
  | 'conversation'
  | 'login'
  | 'console-chat';
export type NoteStores = Record<NoteKind, NoteStore>;
