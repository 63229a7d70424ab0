import { signal } from '@preact/signals';
import { startWorker } from '../workers.ts';
import { credential, identity } from './credential.ts';
import { key } from './key.ts';
import { askForLogin } from './login.ts';
import { ApiError, call } from './request.ts';
import type { AllowedServer, ConnectionStatus, Frame, FromSession, ToSession } from './session-messages.ts';

/** Input from the person that the gateway needs before a chat continues. */
export interface InputRequest {
  id: string;
  kind: 'confirmation' | 'input' | 'connect';
  data: Readonly<Record<string, unknown>>;
  /** May be called once. */
  answer: (value: unknown) => void;
}

export interface ChatListener {
  onFrame: (frame: Frame) => void;
  /** The session was resumed. Frames may have been lost with its connection. */
  onResumed: () => void;
  /** The chat has ended. */
  onEnd: (error: { code: string; message: string } | undefined) => void;
}

export type Connection = 'idle' | ConnectionStatus;

export const connection = signal<Connection>('idle');

/** Requests that the person has not answered yet. */
export const inputRequests = signal<readonly InputRequest[]>([]);

let session: { worker: Worker; owner: string | undefined; id?: string } | undefined;
let servers: readonly AllowedServer[] = [];
const chats = new Map<string, ChatListener>();
const documentReads = new Map<string, (read: { document?: unknown; error?: string }) => void>();

/**
 * Starts a chat over the session of this page. The first chat opens the session, and it is resumed when its connection drops.
 * @param fields of the `message` frame, without `id`
 * @returns a function that cancels the chat
 */
export function startChat(id: string, fields: Readonly<Record<string, unknown>>, listener: ChatListener): () => void {
  const worker = openSession();
  chats.set(id, listener);
  send(worker, { type: 'chat', id, fields: { ...fields, id } });
  return () => send(worker, { type: 'cancel', id });
}

/**
 * The error if the gateway does not accept this person's key. As with any request, the person is asked for another key first, which a refused socket cannot
 * do. Undefined if the gateway does not answer, because the session then waits for it.
 */
export async function findRefusal(): Promise<{ code: string; message: string } | undefined> {
  if (isUsable()) return undefined;
  const error: unknown = await call('GET /api/version').catch((failed: unknown) => failed);
  return error instanceof ApiError && error.status === 401 ? { code: error.code, message: error.message } : undefined;
}

interface StoredSession {
  id: string;
  chats: readonly string[];
}

/** The session of this tab before a reload. It is removed at once, so that a copy of the tab does not take over the session. */
const sessionItem = 'toolwharf.session';
const storedSession = takeStoredSession();
/** Whether this page has tried to resume it. */
let isResumeTried = false;

function takeStoredSession(): StoredSession | undefined {
  const text = sessionStorage.getItem(sessionItem);
  sessionStorage.removeItem(sessionItem);
  return text === null ? undefined : (JSON.parse(text) as StoredSession);
}

addEventListener('pagehide', () => {
  if (session?.id === undefined || chats.size === 0) return;
  const stored: StoredSession = { id: session.id, chats: [...chats.keys()] };
  sessionStorage.setItem(sessionItem, JSON.stringify(stored));
});

/**
 * Follows a chat that was running when this tab was reloaded. The gateway keeps its session for some seconds.
 * @returns a function that cancels the chat; undefined if it was not running in this tab
 */
export function followChat(id: string, runId: string, listener: ChatListener): (() => void) | undefined {
  const isLost = isResumeTried && session?.id !== undefined && session.id !== storedSession?.id;
  if (storedSession?.chats.includes(id) !== true || isLost) return undefined;
  const worker = openSession();
  chats.set(id, listener);
  send(worker, { type: 'follow', id, runId });
  // If the session is not resumed yet, the listener is called when it is.
  if (session?.id !== undefined) queueMicrotask(listener.onResumed);
  return () => send(worker, { type: 'cancel', id });
}

/** Sets the servers that calls from this browser may be sent to. */
export function allowServers(allowed: readonly AllowedServer[]): void {
  servers = allowed;
  if (session !== undefined) send(session.worker, { type: 'servers', servers });
}

/** Reads the OpenAPI document of a server from this browser. @throws Error with the fix */
export async function readDocument(server: AllowedServer): Promise<unknown> {
  const worker = openSession();
  const id = server.url;
  const { document, error } = await new Promise<{ document?: unknown; error?: string }>((resolve) => {
    documentReads.set(id, resolve);
    send(worker, { type: 'read', id, server });
  });
  if (error !== undefined) throw new Error(error);
  return document;
}

/** A session belongs to the caller who opened it. */
function isUsable(): boolean {
  return session !== undefined && session.owner === identity.value && connection.value !== 'closed';
}

function openSession(): Worker {
  if (session !== undefined && isUsable()) return session.worker;
  session?.worker.terminate();
  endAll('The session was replaced by a new one.');
  const worker = startWorker('session');
  session = { worker, owner: identity.value };
  worker.addEventListener('message', ({ data }: MessageEvent<FromSession>) => receive(worker, data));
  send(worker, { type: 'servers', servers });
  const canRenew = key.value === undefined && credential.value !== undefined;
  send(worker, { type: 'open', token: credential.value, canRenew, sessionId: isResumeTried ? undefined : storedSession?.id });
  isResumeTried = true;
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
    documentReads.get(message.id)?.(message);
    documentReads.delete(message.id);
  } else if (message.type === 'input-request') addInputRequest(worker, message);
  else dropInputRequest(message.id);
}

/** The token of the session has expired. If another person has signed in meanwhile, their token is not sent. */
async function renewToken(worker: Worker): Promise<void> {
  const found = await askForLogin().catch(() => undefined);
  send(worker, { type: 'renewed', token: found?.caller === session?.owner ? found?.token : undefined });
}

function addInputRequest(worker: Worker, { kind, data }: FromSession & { type: 'input-request' }): void {
  const id = data['id'] as string;
  const answer = (value: unknown): void => {
    dropInputRequest(id);
    send(worker, { type: 'answer', id, value });
  };
  inputRequests.value = [...inputRequests.value, { id, kind, data, answer }];
}

function dropInputRequest(id: string): void {
  inputRequests.value = inputRequests.value.filter((request) => request.id !== id);
}

function endAll(message: string): void {
  const ended = [...chats.values()];
  chats.clear();
  inputRequests.value = [];
  for (const { onEnd } of ended) onEnd({ code: 'client_disconnected', message });
}
