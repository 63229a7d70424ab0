import { signal } from '@preact/signals';
import { connect } from '../../client/toolwharf-client.js';
import { key } from './key.ts';

/** A frame of the gateway; docs/browser-tools.md lists them. */
export interface Frame {
  type: string;
  data: Readonly<Record<string, unknown>>;
}

/** What the gateway asks during a chat. `answer` may be called once; `signal` is aborted when the answer is no longer wanted. */
export interface Ask {
  kind: 'confirmation' | 'input';
  data: Readonly<Record<string, unknown>>;
  signal: AbortSignal;
  answer(value: unknown): void;
}

export interface SocketChat extends AsyncIterable<Frame> {
  cancel(): void;
}

export type Connection = 'idle' | 'connecting' | 'open' | 'waiting' | 'closed';

/** `waiting`: the connection was lost, and is taken up again in a moment. */
export const connection = signal<Connection>('idle');

type Client = ReturnType<typeof connect>;
let client: { of: string | undefined; it: Client } | undefined;
const listeners = new Set<(ask: Ask) => void>();

/** Called with each question of the gateway. @returns what ends it */
export function onAsk(listener: (ask: Ask) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Starts a chat over the session of this page, which is opened for the first one and taken up again when its connection drops. */
export function startChat(fields: Readonly<Record<string, unknown>>): SocketChat {
  const { it } = openClient();
  return it.chat({ ...fields }) as SocketChat;
}

function openClient(): NonNullable<typeof client> {
  if (client !== undefined && client.of === key.value && connection.value !== 'closed') return client;
  client?.it.close();
  const of = key.value;
  const ask =
    (kind: Ask['kind']) =>
    (data: Ask['data'], signal: AbortSignal): Promise<unknown> =>
      new Promise((answer) => {
        for (const listener of listeners) listener({ kind, data, signal, answer });
      });
  const opened = { of, it: undefined as unknown as Client };
  opened.it = connect({
    ...(of !== undefined && { token: of }),
    confirm: ask('confirmation'),
    input: ask('input'),
    onStatus: (status) => {
      if (client === opened || client === undefined) connection.value = status;
    },
  });
  client = opened;
  return opened;
}
