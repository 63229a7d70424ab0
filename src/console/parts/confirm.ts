import { signal } from '@preact/signals';

interface Confirmation {
  title: string;
  /** What happens, and whether it can be undone. */
  text: string;
  /** The verb on the button. */
  action: string;
  isDangerous?: boolean;
}

/** The confirmation that is open. */
export const confirmation = signal<(Confirmation & { answer(isConfirmed: boolean): void }) | undefined>(undefined);

/** Asks the person before something that cannot be undone: `if (await confirm({ title: 'Delete this key?', … }))`. */
export function confirm(asked: Confirmation): Promise<boolean> {
  confirmation.value?.answer(false);
  return new Promise((resolve) => {
    confirmation.value = {
      ...asked,
      answer(isConfirmed) {
        confirmation.value = undefined;
        resolve(isConfirmed);
      },
    };
  });
}
