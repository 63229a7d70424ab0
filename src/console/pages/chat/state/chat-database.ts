import type { Chat } from './chat.ts';

/** The IndexedDB database with whole chats: their images are too large for `localStorage`. */
const databaseName = 'toolwharf';
const storeName = 'chats';

let opening: Promise<IDBDatabase> | undefined;

export function readChat(id: string): Promise<Chat | undefined> {
  return inStore('readonly', (store) => store.get(id) as IDBRequest<Chat | undefined>);
}

export async function removeChat(id: string): Promise<void> {
  await inStore('readwrite', (store) => store.delete(id));
}

/** Adds the messages that another tab has stored. A finished answer is never replaced by one that is not. */
export async function writeChat(chat: Chat): Promise<void> {
  const store = await openStore('readwrite');
  const stored = await resultOf(store.get(chat.id) as IDBRequest<Chat | undefined>);
  const messages = { ...stored?.messages, ...chat.messages };
  for (const message of Object.values(stored?.messages ?? {}))
    if (message.role === 'assistant' && message.state === 'done') messages[message.id] = message;
  await resultOf(store.put({ ...chat, messages }));
}

async function inStore<Value>(mode: IDBTransactionMode, request: (store: IDBObjectStore) => IDBRequest<Value>): Promise<Value> {
  return resultOf(request(await openStore(mode)));
}

async function openStore(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  opening ??= openDatabase();
  opening.catch(() => (opening = undefined));
  return (await opening).transaction(storeName, mode).objectStore(storeName);
}

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(databaseName, 1);
  request.addEventListener('upgradeneeded', () => request.result.createObjectStore(storeName, { keyPath: 'id' }));
  return resultOf(request);
}

function resultOf<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('This browser does not let the page store chats.')));
  });
}
