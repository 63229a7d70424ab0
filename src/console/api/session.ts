import { signal } from '@preact/signals';
import { credential, identity } from './credential.ts';
import { key } from './key.ts';
import { askForLogin } from './login.ts';
import { ApiError, call } from './request.ts';
import type { Frame, FromSession, AllowedServer, ToSession } from './session-messages.ts';

/** What the gateway asks during a chat. */
export interface InputRequest {
  id: string;
  kind: 'confirmation' | 'input' | 'connect';
  data: Readonly<Record<string, unknown>>;
  /** To be called once. */
  answer: (value: unknown) => void;
}

export interface ChatListener {
  onFrame: (frame: Frame) => void;
  /** The session was taken up; frames may have been lost with its connection. */
  onResumed: () => void;
  /** Nothing more comes. */
  onEnd: (error: { code: string; message: string } | undefined) => void;
}

export type Connection = 'idle' | 'connecting' | 'open' | 'waiting' | 'closed';

/** `waiting`: the connection was lost, and is taken up again in a moment. */
export const connection = signal<Connection>('idle');

/** What the gateway asks and nobody has answered. */
export const inputRequests = signal<readonly InputRequest[]>([]);

let session: { worker: Worker; of: string | undefined; id?: string } | undefined;
let servers: readonly AllowedServer[] = [];
const chats = new Map<string, ChatListener>();
const readings = new Map<string, (read: { document?: unknown; error?: string }) => void>();

/**
 * Starts a chat over the session of this page, which is opened for the first one and taken up again when its connection drops.
 * @param fields of the frame `message`; `id` names the chat here, too
 * @returns what cancels it
 */
export function startChat(id: string, fields: Readonly<Record<string, unknown>>, listener: ChatListener): () => void {
  const worker = openSession();
  chats.set(id, listener);
  send(worker, { type: 'chat', id, fields: { ...fields, id } });
  return () => send(worker, { type: 'cancel', id });
}

/**
 * Why the gateway takes no key of this person, who was asked for another one, as by any request: a socket that is refused cannot do that. Undefined also while
 * the gateway does not answer, as a session waits for that.
 */
export async function findRefusal(): Promise<{ code: string; message: string } | undefined> {
  if (isUsable()) return undefined;
  const error: unknown = await call('GET /api/version').catch((failed: unknown) => failed);
  return error instanceof ApiError && error.status === 401 ? { code: error.code, message: error.message } : undefined;
}

interface LeftSession {
  id: string;
  chats: readonly string[];
}

/** Of a tab, over a reload. It is taken out at once, so that a copy of the tab does not take the session away. */
const leftPlace = 'toolwharf.session';
const left = takeLeft();
let isLeftOpen = false;

function takeLeft(): LeftSession | undefined {
  const text = sessionStorage.getItem(leftPlace);
  sessionStorage.removeItem(leftPlace);
  return text === null ? undefined : (JSON.parse(text) as LeftSession);
}

addEventListener('pagehide', () => {
  if (session?.id === undefined || chats.size === 0) return;
  const leaving: LeftSession = { id: session.id, chats: [...chats.keys()] };
  sessionStorage.setItem(leftPlace, JSON.stringify(leaving));
});

/**
 * Goes on with a chat that was running when this tab was loaded again: the gateway keeps its session for some seconds.
 * @returns what cancels it; undefined where it was not left by this tab
 */
export function followChat(id: string, runId: string, listener: ChatListener): (() => void) | undefined {
  const isLost = isLeftOpen && session?.id !== undefined && session.id !== left?.id;
  if (left?.chats.includes(id) !== true || isLost) return undefined;
  const worker = openSession();
  chats.set(id, listener);
  send(worker, { type: 'follow', id, runId });
  // It is taken up already; otherwise this is told when it is.
  if (session?.id !== undefined) queueMicrotask(listener.onResumed);
  return () => send(worker, { type: 'cancel', id });
}

/** Where calls of this browser may go. */
export function allowServers(known: readonly AllowedServer[]): void {
  servers = known;
  if (session !== undefined) send(session.worker, { type: 'servers', servers });
}

/** The OpenAPI document of a server that this browser reaches. @throws Error with the cure */
export async function readDocument(server: AllowedServer): Promise<unknown> {
  const worker = openSession();
  const id = server.url;
  const { document, error } = await new Promise<{ document?: unknown; error?: string }>((resolve) => {
    readings.set(id, resolve);
    send(worker, { type: 'read', id, server });
  });
  if (error !== undefined) throw new Error(error);
  return document;
}

/** A session is bound to whoever opened it. */
function isUsable(): boolean {
  return session !== undefined && session.of === identity.value && connection.value !== 'closed';
}

function openSession(): Worker {
  if (session !== undefined && isUsable()) return session.worker;
  session?.worker.terminate();
  endAll('The session was opened anew.');
  const worker = createWorker();
  session = { worker, of: identity.value };
  worker.addEventListener('message', ({ data }: MessageEvent<FromSession>) => receive(worker, data));
  send(worker, { type: 'servers', servers });
  const canRenew = key.value === undefined && credential.value !== undefined;
  send(worker, { type: 'open', token: credential.value, canRenew, sessionId: isLeftOpen ? undefined : left?.id });
  isLeftOpen = true;
  return worker;
}

function send(worker: Worker, message: ToSession): void {
  worker.postMessage(message);
}

function receive(worker: Worker, message: FromSession): void {
  if (worker !== session?.worker) return;
  if (message.type === 'status') connection.value = message.status;
  else if (message.type === 'session') {
    session.id = message.id;
    if (message.isResumed) for (const { onResumed } of chats.values()) onResumed();
  } else if (message.type === 'renew') void renewToken(worker);
  else if (message.type === 'frame') chats.get(message.id)?.onFrame(message.frame);
  else if (message.type === 'end') {
    const listener = chats.get(message.id);
    chats.delete(message.id);
    listener?.onEnd(message.error);
  } else if (message.type === 'read') {
    readings.get(message.id)?.(message);
    readings.delete(message.id);
  } else if (message.type === 'ask') addAsk(worker, message);
  else dropAsk(message.id);
}

/** The token of the session has ended. That of somebody else, who has signed in meanwhile, is none for it. */
async function renewToken(worker: Worker): Promise<void> {
  const found = await askForLogin().catch(() => undefined);
  send(worker, { type: 'renewed', token: found?.caller === session?.of ? found?.token : undefined });
}

function addAsk(worker: Worker, { kind, data }: FromSession & { type: 'ask' }): void {
  const id = data['id'] as string;
  const answer = (value: unknown): void => {
    dropAsk(id);
    send(worker, { type: 'answer', id, value });
  };
  inputRequests.value = [...inputRequests.value, { id, kind, data, answer }];
}

function dropAsk(id: string): void {
  inputRequests.value = inputRequests.value.filter((ask) => ask.id !== id);
}

function endAll(message: string): void {
  const ended = [...chats.values()];
  chats.clear();
  inputRequests.value = [];
  for (const { onEnd } of ended) onEnd({ code: 'client_disconnected', message });
}

interface TrustedTypes {
  createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => { createScriptURL: (url: string) => string };
}

/** The one script that the page's policy lets it start by its address. */
function createWorker(): Worker {
  const url = new URL('./session-worker.ts', import.meta.url).href;
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  policy ??= trustedTypes?.createPolicy('toolwharf', { createScriptURL: (asked) => (asked === url ? asked : '') });
  return new Worker(policy?.createScriptURL(url) ?? url, { type: 'module' });
}

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined;
