import { effect } from '@preact/signals';
import { navigate } from 'wouter-preact/use-browser-location';
import { key } from '../../../api/key.ts';
import { readyLogin } from '../../../api/login.ts';
import { inputRequests } from '../../../api/session.ts';
import { announce, showError } from '../../../parts/toasts.tsx';
import { newId, type Chat } from './chat.ts';
import { notifyWaiting } from './notify.ts';
import { OpenChat } from './open-chat.ts';
import { chatsWithPendingAnswer, savePendingAnswer, takePendingAnswer } from './pending-answers.ts';
import { loadChat, onSavedElsewhere, saveChat } from './saved-chats.ts';
import { waitingChats } from './waiting-chats.ts';

/** Chats that stay open. Those with a running answer always do. */
const maxOpen = 8;

const opened = new Map<string, OpenChat>();

effect(() => {
  const before = waitingChats.peek().length;
  waitingChats.value = inputRequests.value.flatMap(({ data }) =>
    [...opened.values()].filter(({ running }) => running.value?.runId === data['run_id']).map(({ chat }) => chat.peek().id),
  );
  if (waitingChats.peek().length <= before) return;
  announce('Your input is needed.');
  const id = waitingChats.peek().at(-1);
  const title = id === undefined ? undefined : opened.get(id)?.chat.peek().title;
  if (title !== undefined) notifyWaiting(title, () => navigate(`/console/chats/${id}`));
});

/** A new chat. It is saved with its first message. */
export function newChat(): OpenChat {
  return open({ id: newId(), title: 'New chat', updated: 0, settings: {}, messages: {}, leaf: undefined });
}

/** Undefined if it is not in this browser. */
export async function openChat(id: string): Promise<OpenChat | undefined> {
  const known = opened.get(id);
  if (known !== undefined) return known;
  const chat = await loadChat(id);
  // Resuming the session of a running answer needs the token of whoever is signed in.
  if (key.value === undefined) await readyLogin();
  return chat === undefined ? undefined : (opened.get(id) ?? open(withPendingAnswer(chat)));
}

export function forgetChat(id: string): void {
  opened.get(id)?.cancel();
  opened.delete(id);
}

/** Opens the chats whose answers were running when their page was closed or reloaded. */
export async function resumePendingChats(): Promise<void> {
  for (const id of chatsWithPendingAnswer()) await openChat(id);
}

addEventListener('pagehide', () => {
  for (const { chat, unsaved } of opened.values()) if (unsaved !== undefined) savePendingAnswer(chat.value.id, unsaved);
});

onSavedElsewhere((id) => {
  if (opened.has(id)) loadChat(id).then((saved) => saved && opened.get(id)?.mergeSaved(saved), showError);
});

function open(chat: Chat): OpenChat {
  const added = new OpenChat(chat);
  opened.set(chat.id, added);
  added.resumeRunning();
  for (const [id, other] of opened) if (opened.size > maxOpen && other !== added && other.running.value === undefined) opened.delete(id);
  return added;
}

/** Adds everything that had arrived when the page of its running answer was closed or reloaded. */
function withPendingAnswer(chat: Chat): Chat {
  const pending = takePendingAnswer(chat.id);
  const saved = pending && chat.messages[pending.id];
  if (pending === undefined || saved?.role !== 'assistant' || saved.state !== 'running') return chat;
  const whole = { ...chat, messages: { ...chat.messages, [pending.id]: pending } };
  if (pending.state !== 'running') void saveChat(whole).catch(showError);
  return whole;
}
