import { itemsBelow, readItem, writeItem } from '../../../storage/local-items.ts';
import type { Answer } from './chat.ts';

/** Answers that were running when their page was closed or reloaded, one per chat, until the next page resumes them. */
const start = 'pending.';

/** In `localStorage`, because a transaction of IndexedDB might not finish before the page is gone. */
export function savePendingAnswer(chatId: string, answer: Answer): void {
  try {
    writeItem(start + chatId, JSON.stringify(answer));
  } catch {
    // No space is left. The chat keeps what was saved last.
  }
}

/** Reads the answer and removes it. */
export function takePendingAnswer(chatId: string): Answer | undefined {
  const text = readItem(start + chatId);
  removePendingAnswer(chatId);
  return text === undefined ? undefined : (JSON.parse(text) as Answer);
}

export function removePendingAnswer(chatId: string): void {
  writeItem(start + chatId, undefined);
}

export function chatsWithPendingAnswer(): string[] {
  return itemsBelow(start);
}
