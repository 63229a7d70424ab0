import { call, ApiError } from '../../../api/request.ts';
import { readItem, writeItem } from '../../../storage/local-items.ts';
import type { Chat } from './chat.ts';
import { readChat } from './chat-database.ts';

/** Where a chat of this browser stands to the one on the server. */
interface Standing {
  /** The last revision that both have. Absent if the server has none yet. */
  revision?: number;
  /** It was changed here since. */
  isChanged?: true;
}

/** What the store of this browser does with chats of the server. */
interface LocalChats {
  /** Adds what is new in the chat, and shows it. */
  store: (chat: Chat) => Promise<void>;
  remove: (id: string) => Promise<void>;
}

/** Undefined until the server was asked, and as long as it stores no chats. */
let owner: string | undefined;
let syncing: Promise<void> | undefined;
let isAgain = false;
/** Changes follow each other while a person writes. */
const pauseMs = 500;
let timer: ReturnType<typeof setTimeout> | undefined;

const itemName = (): string => `server-chats.${owner}`;

function readStandings(): Record<string, Standing> {
  try {
    return JSON.parse(readItem(itemName()) ?? '{}') as Record<string, Standing>;
  } catch {
    return {};
  }
}

function setStanding(id: string, standing: Standing | undefined): void {
  const { [id]: _before, ...others } = readStandings();
  writeItem(itemName(), JSON.stringify(standing === undefined ? others : { ...others, [id]: standing }));
}

/** A chat was saved here, and is sent when its answers have ended. */
export function noteChange({ id, messages }: Chat, local: LocalChats): void {
  if (owner === undefined || Object.values(messages).some((message) => message.role === 'assistant' && message.state === 'running')) return;
  setStanding(id, { ...readStandings()[id], isChanged: true });
  clearTimeout(timer);
  timer = setTimeout(() => void syncChats(local).catch(() => undefined), pauseMs);
}

/** @throws ApiError if the server has the chat and does not delete it */
export async function deleteOnServer(id: string): Promise<void> {
  if (owner === undefined || readStandings()[id]?.revision === undefined) return;
  setStanding(id, undefined);
  await call('DELETE /api/console/chats/:id', { params: { id } }).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  });
}

/** Takes over what was changed or deleted elsewhere, and sends what was changed here. One sync at a time. */
export function syncChats(local: LocalChats): Promise<void> {
  if (syncing !== undefined) isAgain = true;
  syncing ??= sync(local).finally(() => {
    syncing = undefined;
    if (!isAgain) return;
    isAgain = false;
    void syncChats(local).catch(() => undefined);
  });
  return syncing;
}

async function sync(local: LocalChats): Promise<void> {
  const { is_stored: isStored, owner: caller, data } = await call('GET /api/console/chats');
  owner = isStored ? caller : undefined;
  if (!isStored) return;
  const standings = readStandings();
  for (const { id, revision } of data) if (standings[id]?.revision !== revision) await pull(id, local);
  const present = new Set(data.map(({ id }) => id));
  for (const [id, { revision, isChanged }] of Object.entries(standings)) {
    if (present.has(id) || revision === undefined) continue;
    if (isChanged === true) setStanding(id, { isChanged });
    else {
      setStanding(id, undefined);
      await local.remove(id);
    }
  }
  for (const [id, { isChanged }] of Object.entries(readStandings())) if (isChanged === true) await push(id, local);
}

async function pull(id: string, { store }: LocalChats): Promise<void> {
  const { revision, chat } = await call('GET /api/console/chats/:id', { params: { id } });
  await store(chat as unknown as Chat);
  setStanding(id, { ...readStandings()[id], revision });
}

async function push(id: string, local: LocalChats): Promise<void> {
  const chat = await readChat(id);
  if (chat === undefined) return setStanding(id, undefined);
  const send = (): Promise<{ revision: number }> => {
    const { revision } = readStandings()[id] ?? {};
    return call('PUT /api/console/chats/:id', {
      params: { id },
      body: { chat: chat as never, ...(revision !== undefined && { revision }) },
    });
  };
  try {
    const { revision } = await send();
    setStanding(id, { revision });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    // The next sync sends both changes.
    await pull(id, local);
    isAgain = true;
  }
}
