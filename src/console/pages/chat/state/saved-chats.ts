import { signal } from '@preact/signals';
import type { Answer, Chat, Message } from './chat.ts';

/** Chats that are kept in this browser; the oldest give way. */
const maxChats = 200;
const databaseName = 'toolwharf';
const listPlace = 'toolwharf.chats';

export interface SavedChat {
  id: string;
  title: string;
  updated: number;
}

/** The newest first. */
export const savedChats = signal<readonly SavedChat[]>(readList());

function readList(): SavedChat[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(listPlace) ?? '[]');
    return Array.isArray(list) ? (list as SavedChat[]) : [];
  } catch {
    return [];
  }
}

// Another tab has changed it.
addEventListener('storage', ({ key }) => {
  if (key === listPlace) savedChats.value = readList();
});

function saveList(list: readonly SavedChat[]): void {
  savedChats.value = list;
  localStorage.setItem(listPlace, JSON.stringify(list));
}

/** Tells the other tabs of a chat that was kept, by its id. */
const tabs = new BroadcastChannel(listPlace);

/** Calls the listener when another tab has kept a chat. */
export function onSavedElsewhere(listener: (id: string) => void): void {
  tabs.addEventListener('message', ({ data }: MessageEvent<string>) => listener(data));
}

/** Undefined when it is not in this browser. */
export async function loadChat(id: string): Promise<Chat | undefined> {
  return (await inStore('readonly', (store) => store.get(id))) as Chat | undefined;
}

/** The ids of the chats that hold all of these words, in their titles, questions or answers. */
export async function findChats(words: readonly string[]): Promise<ReadonlySet<string>> {
  const chats = (await inStore('readonly', (store) => store.getAll())) as Chat[];
  const found = chats.filter(({ title, messages }) => {
    const text = [title, ...Object.values(messages).map(textIn)].join('\n').toLowerCase();
    return words.every((word) => text.includes(word.toLowerCase()));
  });
  return new Set(found.map(({ id }) => id));
}

function textIn(message: Message): string {
  if (message.role === 'user') return message.text;
  return message.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n');
}

export async function saveChat(chat: Chat): Promise<void> {
  const { id, title, updated } = chat;
  const list = [{ id, title, updated }, ...readList().filter((other) => other.id !== id)].toSorted(
    (one, other) => other.updated - one.updated,
  );
  saveList(list.slice(0, maxChats));
  await putChat(chat);
  tabs.postMessage(id);
  for (const old of list.slice(maxChats)) await inStore('readwrite', (store) => store.delete(old.id));
}

export async function deleteChat(id: string): Promise<void> {
  saveList(readList().filter((other) => other.id !== id));
  localStorage.removeItem(draftPlace(id));
  localStorage.removeItem(leftPlace + id);
  await inStore('readwrite', (store) => store.delete(id));
}

const leftPlace = 'toolwharf.left.';

/** Keeps what has come of an answer whose page goes away, when a transaction might not be finished. */
export function savePendingAnswer(chatId: string, answer: Answer): void {
  try {
    localStorage.setItem(leftPlace + chatId, JSON.stringify(answer));
  } catch {
    // There is no room; then it stays as it was kept last.
  }
}

export function takePendingAnswer(chatId: string): Answer | undefined {
  const text = localStorage.getItem(leftPlace + chatId);
  localStorage.removeItem(leftPlace + chatId);
  return text === null ? undefined : (JSON.parse(text) as Answer);
}

/** The chats whose answers were left. */
export function chatsWithPendingAnswer(): string[] {
  return Object.keys(localStorage).flatMap((name) => (name.startsWith(leftPlace) ? [name.slice(leftPlace.length)] : []));
}

/** The chat of this browser with an answer of this run. */
export async function findChatOfRun(runId: string): Promise<SavedChat | undefined> {
  for (const kept of savedChats.value) {
    const chat = await loadChat(kept.id);
    const messages = Object.values(chat?.messages ?? {});
    if (messages.some((message) => message.role === 'assistant' && message.runId === runId)) return kept;
  }
  return undefined;
}

let opening: Promise<IDBDatabase> | undefined;

function openDatabase(): Promise<IDBDatabase> {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(databaseName, 1);
    request.addEventListener('upgradeneeded', () => request.result.createObjectStore('chats', { keyPath: 'id' }));
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('The browser keeps nothing for this page.')));
  });
  opening.catch(() => (opening = undefined));
  return opening;
}

async function inStore(mode: IDBTransactionMode, ask: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  return resultOf(ask((await openDatabase()).transaction('chats', mode).objectStore('chats')));
}

function resultOf(request: IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('The browser keeps nothing for this page.')));
  });
}

/** With the messages that another tab has added; what is complete there stays so. */
async function putChat(chat: Chat): Promise<void> {
  const store = (await openDatabase()).transaction('chats', 'readwrite').objectStore('chats');
  const kept = (await resultOf(store.get(chat.id))) as Chat | undefined;
  const messages = { ...kept?.messages, ...chat.messages };
  for (const message of Object.values(kept?.messages ?? {}))
    if (message.role === 'assistant' && message.state === 'done') messages[message.id] = message;
  await resultOf(store.put({ ...chat, messages }));
}

const draftPlace = (id: string | undefined): string => `toolwharf.draft.${id ?? 'new'}`;
/** More is not a draft but a document. */
const maxDraftCharacters = 100_000;

/** What was typed and not sent. */
export function readDraft(id: string | undefined): string {
  return localStorage.getItem(draftPlace(id)) ?? '';
}

export function saveDraft(id: string | undefined, text: string): void {
  if (text === '') localStorage.removeItem(draftPlace(id));
  else if (text.length <= maxDraftCharacters) localStorage.setItem(draftPlace(id), text);
}

const modelPlace = 'toolwharf.model';

/** The model that was chosen last, for new chats. It may be gone by now. */
export function readModel(): string | undefined {
  return localStorage.getItem(modelPlace) ?? undefined;
}

export function saveModel(model: string): void {
  localStorage.setItem(modelPlace, model);
}
