import { effect, signal } from '@preact/signals';
import { waitingChats } from '../pages/chat/state/waiting-chats.ts';

const title = signal<string>();

/** Sets the title of the browser tab and its history entry. */
export function setTitle(text: string): void {
  title.value = text;
}

effect(() => {
  const { length } = waitingChats.value;
  if (title.value !== undefined) document.title = `${length === 0 ? '' : `(${length}) `}${title.value} – toolwharf`;
});
