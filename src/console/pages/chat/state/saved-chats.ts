import { signal } from '@preact/signals';
import { readChat, removeChat, writeChat } from './chat-database.ts';
import { readText, removeText, saveText } from './chat-texts.ts';
import { onItemChanged, readList, writeItem } from '../../../storage/local-items.ts';
import type { Chat } from './chat.ts';
import { removeDraft } from './drafts.ts';
import { removePendingAnswer } from './pending-answers.ts';
import { deleteOnServer, noteChange, syncChats } from './server-chats.ts';

/** The chats of this browser: a list of titles in `localStorage`, and each whole chat in IndexedDB. */

/** Chats that are saved in this browser. The oldest ones are deleted, unless they are pinned. */
const maxChats = 200;
const listName = 'chats';

export interface SavedChat {
  id: string;
  title: string;
  /** Milliseconds since 1970. */
  updated: number;
  isPinned?: true;
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

otherTabs.addEventListener('message', ({ data }: MessageEvent<string>) => void readText(data).catch(() => undefined));

const listeners: ((id: string) => void)[] = [];

/** Calls the listener when another tab or another browser has saved a chat. */
export function onSavedElsewhere(listener: (id: string) => void): void {
  listeners.push(listener);
  otherTabs.addEventListener('message', ({ data }: MessageEvent<string>) => listener(data));
}

/** Undefined if it is not in this browser. */
export const loadChat = readChat;

export async function saveChat(chat: Chat): Promise<void> {
  await storeChat(chat);
  noteChange(chat, localChats);
}

/** For `CONSOLE_CHATS`: brings the chats of this browser and those on the server together. */
export function syncSavedChats(): Promise<void> {
  return syncChats(localChats);
}

const localChats = {
  async store(chat: Chat): Promise<void> {
    await storeChat(chat);
    for (const listener of listeners) listener(chat.id);
  },
  async remove(id: string): Promise<void> {
    saveList(readSavedChats().filter((other) => other.id !== id));
    await remove(id);
  },
};

async function storeChat(chat: Chat): Promise<void> {
  const { id, title, updated, isPinned } = chat;
  const saved = { id, title, updated, ...(isPinned === true && { isPinned }) };
  const list = [saved, ...readSavedChats().filter((other) => other.id !== id)].toSorted((one, other) => other.updated - one.updated);
  const deleted = list.filter((other) => other.isPinned !== true).slice(maxChats);
  saveList(list.filter((other) => !deleted.includes(other)));
  await writeChat(chat);
  await saveText(chat);
  otherTabs.postMessage(id);
  for (const old of deleted) await remove(old.id);
}

export async function deleteChat(id: string): Promise<void> {
  saveList(readSavedChats().filter((other) => other.id !== id));
  removeDraft(id);
  removePendingAnswer(id);
  await remove(id);
  await deleteOnServer(id);
}

async function remove(id: string): Promise<void> {
  await removeChat(id);
  await removeText(id);
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
