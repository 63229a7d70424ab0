import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface Toast {
  id: number;
  text: string;
  kind: 'done' | 'problem';
}

const shownMs = 5_000;
/** Nobody reads more at once. */
const maxToasts = 3;

const toasts = signal<readonly Toast[]>([]);
const announced = signal('');
/** Appended to a repeated text, because screen readers do not read unchanged text again. */
const repetitionMark = '\u00A0';
let next = 0;
/** The open modal dialogs, topmost last. Nothing outside the topmost one can be used or is read by screen readers. */
const dialogs = signal<readonly string[]>([]);

/** Called by a modal dialog, which has its own `Toasts`. @returns a function to call when it closes */
export function showToastsIn(dialog: string): () => void {
  dialogs.value = [...dialogs.value, dialog];
  return () => void (dialogs.value = dialogs.value.filter((other) => other !== dialog));
}

/** Shows that something was done, or what went wrong. Problems stay until they are closed. */
export function showToast(text: string, kind: Toast['kind'] = 'done'): void {
  const toast = { id: next++, text, kind };
  toasts.value = [...toasts.value.slice(1 - maxToasts), toast];
  announce(text);
  if (kind === 'done') setTimeout(() => close(toast), shownMs);
}

export function showError(error: unknown): void {
  showToast(error instanceof Error ? error.message : String(error), 'problem');
}

/** Only for screen readers. */
export function announce(text: string): void {
  announced.value = text === announced.peek() ? text + repetitionMark : text;
}

function close(toast: Toast): void {
  toasts.value = toasts.value.filter((other) => other !== toast);
}

/** Rendered in the shell and in each modal dialog. */
export function Toasts({ dialog }: { dialog?: string }): JSX.Element {
  const [before] = useState(announced.peek());
  return (
    <>
      <div class="unseen" role="status" aria-live="polite">
        {announced.value === before ? '' : announced.value}
      </div>
      {dialogs.value.at(-1) === dialog && (
        <div class="toasts">
          {toasts.value.map((toast) => (
            <div key={toast.id} class={`toast ${toast.kind}`}>
              <Icon name={toast.kind === 'done' ? 'check' : 'alert'} />
              <span>{toast.text}</span>
              <Button kind="quiet" icon="close" label="Close message" isSmall onClick={() => close(toast)} />
            </div>
          ))}
        </div>
      )}
    </>
  );
}
