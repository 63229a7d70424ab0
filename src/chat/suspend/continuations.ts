import { hash } from 'node:crypto';
import type { Caller } from '../../core/caller.ts';
import type { NoteStore } from '../../core/note-store.ts';
import type { ChatMessage, ToolCall } from '../../core/chat.ts';
import { limits } from '../../core/limits.ts';

/** What the gateway executed in a run that ended with calls of the caller's functions. */
export interface Continuations {
  /**
   * The calls as they are to be handed over. Some backends number their calls anew in every turn: where these ids name another turn that is stored,
   * the calls get new ones, or one chat would go on with the results of another. Never rejects.
   */
  keep(caller: Caller, callerCalls: readonly ToolCall[], messages: readonly ChatMessage[]): Promise<ToolCall[]>;
  /** The history with the stored messages put back; as it was sent where there are none. Never rejects. */
  restore(caller: Caller, messages: readonly ChatMessage[]): Promise<ChatMessage[]>;
}

export interface ContinuationOptions {
  /** Where turns are stored: for an hour, with a share for each caller. */
  store: NoteStore;
  /** In memory: for turns without results, and while the store cannot be written, because without them a model would call again what has run. */
  spare: NoteStore;
  /** Milliseconds since 1970. */
  now: () => number;
  newCallId: () => string;
  onFault: (error: unknown) => void;
}

/** A turn as it is stored, as JSON. */
interface KeptTurn {
  calls: readonly ToolCall[];
  messages: ChatMessage[];
}

/**
 * The caller's history has only the calls of its functions. When it answers them, the calls and results of the gateway are put back around them,
 * so that the model sees the turn as it was. Kept for an hour, by caller and call ids, over a restart too.
 */
export function createContinuations({ store, spare, now, newCallId, onFault }: ContinuationOptions): Continuations {
  /** Turns on their way into the store: a second one of the same ids must not take the place of the first. */
  const arriving = new Set<string>();

  async function find(id: string): Promise<KeptTurn | undefined> {
    const value = (await spare.find(id, now())) ?? (await findInStore(id));
    return value === undefined ? undefined : (JSON.parse(value) as KeptTurn);
  }

  async function findInStore(id: string): Promise<string | undefined> {
    try {
      return await store.find(id, now());
    } catch (error) {
      onFault(error);
      return undefined;
    }
  }

  async function save(caller: Caller, turn: KeptTurn): Promise<void> {
    const time = now();
    const note = { id: idOf(caller, turn.calls), callerId: caller.id, value: JSON.stringify(turn), expires: time + limits.continuationMs };
    const bounds = { time, maxNotes: limits.continuations, maxCharacters: limits.continuationsCharacters };
    // Where nothing ran beside them, the model can call again without harm: that is worth no write.
    if (!turn.messages.some(({ role }) => role === 'tool')) return spare.keep(note, bounds);
    try {
      await store.keep(note, bounds);
    } catch (error) {
      onFault(error);
      await spare.keep(note, bounds);
    }
  }

  return {
    async keep(caller, callerCalls, messages) {
      const id = idOf(caller, callerCalls);
      const isArriving = arriving.has(id);
      arriving.add(id);
      try {
        const isTaken = isArriving || (await find(id)) !== undefined;
        const calls = isTaken ? callerCalls.map((call) => ({ ...call, id: newCallId() })) : [...callerCalls];
        await save(caller, { calls, messages: isTaken ? withCalls(messages, callerCalls, calls) : [...messages] });
        return calls;
      } finally {
        if (!isArriving) arriving.delete(id);
      }
    },

    async restore(caller, messages) {
      const turns = messages.filter((message) => message.role === 'assistant' && message.toolCalls.length > 0);
      const recent = new Set(turns.slice(-limits.continuationsPerRequest));
      const restored: ChatMessage[] = [];
      for (const message of messages) {
        const sent = message.role === 'assistant' && recent.has(message) ? message.toolCalls : undefined;
        const found = sent && (await find(idOf(caller, sent)));
        if (found !== undefined && isOfSameNames(found.calls, sent ?? [])) restored.push(...found.messages);
        else restored.push(message);
      }
      return restored;
    },
  };
}

/** The caller's calls stand in the last turn, where nothing has answered them. */
function withCalls(messages: readonly ChatMessage[], old: readonly ToolCall[], calls: readonly ToolCall[]): ChatMessage[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant');
  return messages.map((message, index) => {
    if (index !== last || message.role !== 'assistant') return message;
    return { ...message, toolCalls: message.toolCalls.map((call) => calls[old.findIndex(({ id }) => id === call.id)] ?? call) };
  });
}

/** Of a backend that numbers its calls, an id may name a turn that was never stored. */
function isOfSameNames(kept: readonly ToolCall[], sent: readonly ToolCall[]): boolean {
  return kept.every(({ id, name }) => sent.some((call) => call.id === id && call.name === name));
}

/** Ids of calls may hold kilobytes of a provider's signatures. */
function idOf(caller: Caller, calls: readonly ToolCall[]): string {
  return hash('sha256', JSON.stringify([caller.id, ...calls.map((call) => call.id).toSorted()]), 'base64url');
}
