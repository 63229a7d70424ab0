import { signal } from '@preact/signals';

/** The ids of the chats that wait for input from this person, once per request. The chats themselves are loaded on demand. */
export const waitingChats = signal<readonly string[]>([]);
