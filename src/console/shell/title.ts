import { effect, signal } from '@preact/signals';
import { waitingChats } from '../pages/chat/state/waiting-chats.ts';

const shown = signal<string>();

/** Names the tab of the browser and the entry of its history. */
export function setTitle(title: string): void {
  shown.value = title;
}

effect(() => {
  const { length } = waitingChats.value;
  if (shown.value !== undefined) document.title = `${length === 0 ? '' : `(${length}) `}${shown.value} – toolwharf`;
});
