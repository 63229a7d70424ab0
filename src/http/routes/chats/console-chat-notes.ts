import { createHash } from 'node:crypto';
import { GatewayError, shownId } from '../../../core/errors.ts';
import type { NoteStore } from '../../../core/stores/note-store.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';

/** Encrypted, over all callers; beyond it the caller with the most loses those written longest ago. */
export const consoleChatsOfAll = 200_000;
const charactersOfAll = 512 * 1024 * 1024;
/** Chats of one caller. Beyond it those that were changed longest ago are deleted, unless they are pinned. */
const chatsPerCaller = 1_000;
const charactersPerCaller = 64 * 1024 * 1024;
/** Of one chat, with its images. */
const chatCharacters = 4 * 1024 * 1024;
/** After its last change. */
const ageMs = 365 * 24 * 60 * 60 * 1000;

/** A chat as lists show it. */
export interface ListedConsoleChat {
  id: string;
  title: string;
  /** Milliseconds since 1970, by the clock of the browser. */
  updated: number;
  isPinned: boolean;
  /** Counts the writes of the chat. */
  revision: number;
  characters: number;
}

export interface ConsoleChat {
  revision: number;
  chat: JsonObject;
}

/** The chats of people, each encrypted, and for each caller a list of theirs. Nobody can ask for those of others. */
export class ConsoleChats {
  readonly #store: NoteStore;
  readonly #now: () => number;
  /** One write of a caller after the other, so that none is lost from the list. */
  readonly #writing = new Map<string, Promise<unknown>>();

  constructor(store: NoteStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** The newest first. */
  async list(callerId: string): Promise<ListedConsoleChat[]> {
    const text = await this.#store.find(noteId(callerId, undefined), this.#now());
    return text === undefined ? [] : (parseExactly(text) as ListedConsoleChat[]);
  }

  /** @throws GatewayError `not_found` */
  async require(callerId: string, id: string): Promise<ConsoleChat> {
    const text = await this.#store.find(noteId(callerId, id), this.#now());
    if (text === undefined) throw new GatewayError('not_found', `You have no chat ${shownId(id)}.`);
    return parseExactly(text) as ConsoleChat;
  }

  /**
   * Stores a chat. Beyond the bounds of one caller, those that are not pinned and were changed longest ago are deleted.
   * @param base the revision that it builds on; undefined for a new chat
   * @throws GatewayError `conflict` if the chat was changed meanwhile
   */
  save(
    callerId: string,
    { chat, listed, base }: { chat: JsonObject; listed: Omit<ListedConsoleChat, 'revision' | 'characters'>; base: number | undefined },
  ) {
    return this.#write(callerId, async (chats) => {
      const { id } = listed;
      const known = chats.find((other) => other.id === id)?.revision;
      if (known !== base)
        throw new GatewayError('conflict', `The chat ${shownId(id)} was changed elsewhere. Read it, then send your change again.`);
      const revision = (known ?? 0) + 1;
      const value = JSON.stringify({ revision, chat });
      if (value.length > chatCharacters)
        throw new GatewayError('payload_too_large', `A chat can have up to ${chatCharacters} characters. Start a new one.`);
      await this.#save(callerId, id, value);
      const entry = { ...listed, revision, characters: value.length };
      const all = [entry, ...chats.filter((other) => other.id !== id)].toSorted((one, other) => other.updated - one.updated);
      const lost = surplusOf(all, id);
      for (const { id: lostId } of lost) await this.#store.delete(noteId(callerId, lostId));
      return { chats: all.filter((other) => !lost.includes(other)), result: revision };
    });
  }

  /** @throws GatewayError `not_found` */
  delete(callerId: string, id: string): Promise<void> {
    return this.#write(callerId, async (chats) => {
      if (!chats.some((other) => other.id === id)) throw new GatewayError('not_found', `You have no chat ${shownId(id)}.`);
      await this.#store.delete(noteId(callerId, id));
      return { chats: chats.filter((other) => other.id !== id), result: undefined };
    });
  }

  /** All chats as one JSON document, in pieces: one chat after the other. */
  async *export(callerId: string): AsyncGenerator<string> {
    yield '{"chats":[';
    let separator = '';
    for (const { id } of await this.list(callerId)) {
      const found = await this.require(callerId, id).catch(() => undefined);
      if (found === undefined) continue;
      yield separator + JSON.stringify(found.chat);
      separator = ',\n';
    }
    yield ']}\n';
  }

  async #write<Result>(
    callerId: string,
    change: (chats: readonly ListedConsoleChat[]) => Promise<{ chats: readonly ListedConsoleChat[]; result: Result }>,
  ): Promise<Result> {
    const before = this.#writing.get(callerId);
    const writing = (async () => {
      await before?.catch(() => undefined);
      const { chats, result } = await change(await this.list(callerId));
      await this.#save(callerId, undefined, JSON.stringify(chats));
      return result;
    })();
    this.#writing.set(callerId, writing);
    try {
      return await writing;
    } finally {
      if (this.#writing.get(callerId) === writing) this.#writing.delete(callerId);
    }
  }

  /** Without an id, the list. */
  async #save(callerId: string, id: string | undefined, value: string): Promise<void> {
    const time = this.#now();
    const note = { id: noteId(callerId, id), callerId, value, expires: time + ageMs };
    await this.#store.save(note, { time, maxNotes: consoleChatsOfAll, maxCharacters: charactersOfAll });
  }
}

function noteId(callerId: string, id: string | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify([callerId, id ?? null]))
    .digest('base64url');
}

/** What is too much for one caller: the chats after those that fit, but for pinned ones and the one that is written. `all`: the newest first. */
function surplusOf(all: readonly ListedConsoleChat[], written: string): ListedConsoleChat[] {
  let count = 0;
  let characters = 0;
  return all
    .toSorted((one, other) => Number(other.id === written) - Number(one.id === written) || Number(other.isPinned) - Number(one.isPinned))
    .filter((chat) => {
      count += 1;
      characters += chat.characters;
      const isTooMuch = count > chatsPerCaller || characters > charactersPerCaller;
      if (isTooMuch) characters -= chat.characters;
      return isTooMuch && chat.id !== written;
    });
}
