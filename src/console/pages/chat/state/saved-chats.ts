import { signal } from '@preact/signals';
import { readAllChats, readChat, removeChat, writeChat } from './chat-database.ts';
import { onItemChanged, readList, writeItem } from '../../../storage/local-items.ts';
import type { Chat, Message } from './chat.ts';
import { removeDraft } from './drafts.ts';
import { removePendingAnswer } from './pending-answers.ts';

/** The chats of this browser: a list of titles in `localStorage`, and each whole chat in IndexedDB. */

/** Chats that are saved in this browser. The oldest ones are deleted. */
const maxChats = 200;
const listName = 'chats';

export interface SavedChat {
  id: string;
  title: string;
  /** Milliseconds since 1970. */
  updated: number;
}

const readSavedChats = (): SavedChat[] => readList<SavedChat>(listName);

/** The newest first. */
export const savedChats = signal<readonly SavedChat[]>(readSavedChats());

onItemChanged(listName, () => (savedChats.value = readSavedChats()));

function saveList(list: readonly SavedChat[]): void {
  savedChats.value = list;
  writeItem(listName, JSON.stringify(list));
}

/** Tells the other tabs the id of a chat that was saved. */
const otherTabs = new BroadcastChannel('toolwharf.chats');

/** Calls the listener when another tab has saved a chat. */
export function onSavedElsewhere(listener: (id: string) => void): void {
  otherTabs.addEventListener('message', ({ data }: MessageEvent<string>) => listener(data));
}

/** Undefined if it is not in this browser. */
export const loadChat = readChat;

export async function saveChat(chat: Chat): Promise<void> {
  const { id, title, updated } = chat;
  const list = [{ id, title, updated }, ...readSavedChats().filter((other) => other.id !== id)].toSorted(
    (one, other) => other.updated - one.updated,
  );
  saveList(list.slice(0, maxChats));
  await writeChat(chat);
  otherTabs.postMessage(id);
  for (const old of list.slice(maxChats)) await removeChat(old.id);
}

export async function deleteChat(id: string): Promise<void> {
  saveList(readSavedChats().filter((other) => other.id !== id));
  removeDraft(id);
  removePendingAnswer(id);
  await removeChat(id);
}

/** The ids of the chats whose titles, questions and answers contain all of these words. */
export async function findChats(words: readonly string[]): Promise<ReadonlySet<string>> {
  const found = (await readAllChats()).filter(({ title, messages }) => {
    const text = [title, ...Object.values(messages).map(textIn)].join('\n').toLowerCase();
    return words.every((word) => text.includes(word.toLowerCase()));
  });
  return new Set(found.map(({ id }) => id));
}

function textIn(message: Message): string {
  if (message.role === 'user') return message.text;
  return message.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n');
}

/** The chat of this browser that contains an answer of this run. */
export async function findChatOfRun(runId: string): Promise<SavedChat | undefined> {
  for (const saved of savedChats.value) {
    const chat = await readChat(saved.id);
    const messages = Object.values(chat?.messages ?? {});
    if (messages.some((message) => message.role === 'assistant' && message.runId === runId)) return saved;
  }
  return undefined;
}
