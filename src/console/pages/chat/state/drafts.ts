import { readItem, writeItem } from '../../../storage/local-items.ts';

/** What was typed and not sent, for each chat. Undefined stands for a new chat. */
const draftName = (chatId: string | undefined): string => `draft.${chatId ?? 'new'}`;
/** A longer text is not saved on each key press. */
const maxDraftCharacters = 100_000;

export function readDraft(chatId: string | undefined): string {
  return readItem(draftName(chatId)) ?? '';
}

export function saveDraft(chatId: string | undefined, text: string): void {
  if (text === '') removeDraft(chatId);
  else if (text.length <= maxDraftCharacters) writeItem(draftName(chatId), text);
}

export function removeDraft(chatId: string | undefined): void {
  writeItem(draftName(chatId), undefined);
}

const modelName = 'model';

/** The model that was chosen last, for new chats. It may no longer exist. */
export function readModel(): string | undefined {
  return readItem(modelName);
}

export function saveModel(model: string): void {
  writeItem(modelName, model);
}
