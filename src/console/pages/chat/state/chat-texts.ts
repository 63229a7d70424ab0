import { signal } from '@preact/signals';
import { textOf, type Chat } from './chat.ts';
import { readChat } from './chat-database.ts';

/** The words of each chat, without its images and results, in a database of their own: a search reads no chats. */
const databaseName = 'toolwharf-chat-texts';
const storeName = 'texts';
/** Characters of a chat that are searched. */
const maxCharacters = 500_000;
/** Texts that are read at a time. */
const batchSize = 20;

/** In lower case, by the ids of the chats. Undefined until the first search. */
let texts: Map<string, string> | undefined;
let loading: Promise<Map<string, string>> | undefined;
let opening: Promise<IDBDatabase> | undefined;

/** Changes when another search may find something else. */
export const textsRevision = signal(0);

/** The ids of the chats whose titles, questions and answers contain all of these words. */
export async function findChats(ids: readonly string[], words: readonly string[]): Promise<ReadonlySet<string>> {
  texts ??= await (loading ??= loadTexts(ids).finally(() => (loading = undefined)));
  const wanted = words.map((word) => word.toLowerCase());
  return new Set([...texts].flatMap(([id, text]) => (wanted.every((word) => text.includes(word)) ? [id] : [])));
}

/** Saves the words of a chat. Those of an answer are saved when it has ended. */
export async function saveText(chat: Chat): Promise<void> {
  if (Object.values(chat.messages).some((message) => message.role === 'assistant' && message.state === 'running')) return;
  const text = toText(chat);
  note(chat.id, text);
  await resultOf((await openStore('readwrite')).put(text, chat.id));
}

export async function removeText(id: string): Promise<void> {
  note(id, undefined);
  await resultOf((await openStore('readwrite')).delete(id));
}

/** Another tab has saved the chat, or deleted it. */
export async function readText(id: string): Promise<void> {
  if (texts !== undefined) note(id, await resultOf((await openStore('readonly')).get(id) as IDBRequest<string | undefined>));
}

function note(id: string, text: string | undefined): void {
  if (text === undefined) texts?.delete(id);
  else texts?.set(id, text);
  textsRevision.value += 1;
}

/** Chats that were saved before there were texts get theirs now, one after the other. */
async function loadTexts(ids: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let start = 0; start < ids.length; start += batchSize) {
    const store = await openStore('readonly');
    const batch = ids.slice(start, start + batchSize);
    const read = await Promise.all(batch.map((id) => resultOf(store.get(id) as IDBRequest<string | undefined>)));
    for (const [index, text] of read.entries()) found.set(batch[index] ?? '', text ?? '');
  }
  for (const [id, text] of found) {
    const chat = text === '' ? await readChat(id) : undefined;
    if (chat === undefined) continue;
    found.set(id, toText(chat));
    await saveText(chat);
  }
  return found;
}

function toText({ title, messages }: Chat): string {
  const lines = Object.values(messages).map((message) => (message.role === 'user' ? message.text : textOf(message)));
  return [title, ...lines].join('\n').slice(0, maxCharacters).toLowerCase();
}

async function openStore(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  opening ??= openDatabase();
  opening.catch(() => (opening = undefined));
  return (await opening).transaction(storeName, mode).objectStore(storeName);
}

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(databaseName, 1);
  request.addEventListener('upgradeneeded', () => request.result.createObjectStore(storeName));
  return resultOf(request);
}

function resultOf<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('This browser does not let the page store chats.')));
  });
}
