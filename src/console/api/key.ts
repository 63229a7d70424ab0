import { signal } from '@preact/signals';
import { readItem, writeItem } from '../storage/local-items.ts';

/** The key that requests are sent with. Undefined as long as the gateway needs none. */
export const key = signal<string | undefined>(readItem('key'));

export function saveKey(value: string | undefined): void {
  key.value = value;
  writeItem('key', value);
}

/** The characters that a header may contain. A key that was copied with curly quotes does not match. */
export const keyPattern = '[ -~]+';

export interface KeyQuestion {
  /** Why a key is needed. */
  message: string;
  answer(value: string | undefined): void;
}

/** The question that is shown now. */
export const keyQuestion = signal<KeyQuestion | undefined>(undefined);
let asking: Promise<boolean> | undefined;

/** Asks for a key, once for all requests that need one. @returns whether there is a new key now */
export function askForKey(message: string): Promise<boolean> {
  asking ??= new Promise<boolean>((resolve) => {
    keyQuestion.value = {
      message,
      answer(value) {
        if (value !== undefined) saveKey(value);
        keyQuestion.value = undefined;
        asking = undefined;
        resolve(value !== undefined);
      },
    };
  });
  return asking;
}
