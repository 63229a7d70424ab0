import { signal } from '@preact/signals';

/** In the browser's storage for this origin. */
const place = 'toolwharf.key';

/** The key that requests are sent with; undefined while the gateway asks for none. */
export const key = signal<string | undefined>(localStorage.getItem(place) ?? undefined);

export function saveKey(value: string | undefined): void {
  key.value = value;
  if (value === undefined) localStorage.removeItem(place);
  else localStorage.setItem(place, value);
}

/** What can be sent in a header: a key that came along with curly quotes cannot. */
export const keyPattern = '[ -~]+';

export interface KeyQuestion {
  /** Why a key is needed. */
  message: string;
  answer(value: string | undefined): void;
}

/** The question that is shown at the moment. */
export const keyQuestion = signal<KeyQuestion | undefined>(undefined);
let asking: Promise<boolean> | undefined;

/** Asks for a key, once for all requests that need one. @returns whether there is another key now */
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
