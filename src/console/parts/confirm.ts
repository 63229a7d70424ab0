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
export const askedFirst = signal<(Question & { answer(isYes: boolean): void }) | undefined>(undefined);

/** Asks before something that cannot be undone: `if (await askFirst({ title: 'Delete this key?', … }))`. */
export function askFirst(asked: Question): Promise<boolean> {
  askedFirst.value?.answer(false);
  return new Promise((resolve) => {
    askedFirst.value = {
      ...asked,
      answer(isYes) {
        askedFirst.value = undefined;
        resolve(isYes);
      },
    };
  });
}
