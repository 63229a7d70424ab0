import { signal } from '@preact/signals';

interface Question {
  title: string;
  /** What happens, and whether it can be undone. */
  text: string;
  /** The verb on the button. */
  action: string;
  isDangerous?: boolean;
}

/** The question that is shown at the moment. */
export const confirmation = signal<(Question & { answer(isYes: boolean): void }) | undefined>(undefined);

/** Asks before something that cannot be undone: `if (await askFirst({ title: 'Delete this key?', … }))`. */
export function confirm(asked: Question): Promise<boolean> {
  confirmation.value?.answer(false);
  return new Promise((resolve) => {
    confirmation.value = {
      ...asked,
      answer(isYes) {
        confirmation.value = undefined;
        resolve(isYes);
      },
    };
  });
}
