import type { JsonObject } from '../../shared/json/json.ts';

/** What a model wants back with the calls of one turn, in the fields of its backend. */
export interface Thought {
  /** Of the message with the calls. */
  fields?: JsonObject;
  /** The field for the reasoning that the client is shown beside it, and returns. */
  field?: string;
  /** Of the call that follows. */
  call?: JsonObject;
}

/** Seals what the model of a run wants back, for clients that return it unread. */
export interface ThoughtSealer {
  /** The public id of the model that answers at the moment; only that one can read it. */
  model: string;
  /** An opaque text for the caller of the run. */
  seal(thought: Thought): string;
}

/** Opaque texts with thoughts, encrypted for one caller. */
export interface ThoughtSeals {
  seal(callerId: string, sealed: SealedThought): string;
  /** Undefined for a text of another caller, another secret or another server, and for one that was changed. */
  open(callerId: string, text: string): SealedThought | undefined;
  /** Whether the text is in the form of this gateway, if perhaps not for this caller. */
  isOwn(text: string): boolean;
}

export type SealedThought = Thought & { model: string };

/** A text with a thought, as a client has returned it. It is opened when its caller and the model are known. */
export interface ReturnedThought {
  text: string;
  /** The reasoning beside it. */
  shown?: string;
  /** The call that follows. */
  callId?: string;
  /** The block in which it came, which Anthropic's models can read if it is their own. */
  block?: JsonObject;
}
