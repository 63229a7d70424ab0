/** Something that lasts about one chat of one caller. */
export interface ChatNote {
  /** Made of caller and chat, so that nobody finds another's. */
  id: string;
  callerId: string;
  value: string;
  /** Milliseconds since 1970. */
  expires: number;
}

export interface MemoryBounds {
  /** Now, in milliseconds since 1970: what expired before is forgotten. */
  time: number;
  maxNotes: number;
  /** Of all of them as they are kept. */
  maxCharacters: number;
}

/**
 * Keeps notes of one kind.
 * @throws GatewayError `storage_unavailable`
 */
export interface ChatMemory {
  /** Adds a note, or replaces the one of this id; beyond the bounds it costs the caller who has the most those that were not written for the longest time. Resolves when it is durable. */
  keep(note: ChatNote, bounds: MemoryBounds): Promise<void>;
  /** Undefined also for one that has expired, and for one that cannot be read with the present secret. */
  find(id: string, time: number): Promise<string | undefined>;
  forget(id: string): Promise<void>;
  forgetAllOf(callerId: string): Promise<void>;
}

/** `approval`: decisions to be remembered. `state`: what functions remember. `continuation`: what ran beside calls to the caller's own functions. */
export type MemoryKind = 'approval' | 'state' | 'continuation';
export type ChatMemories = Record<MemoryKind, ChatMemory>;
