import { signal } from '@preact/signals';

/** The ids of the chats in which questions of the gateway wait for this person, one for each question. The chats themselves are loaded when they are needed. */
export const waitingChats = signal<readonly string[]>([]);
