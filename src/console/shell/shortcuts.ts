import { signal } from '@preact/signals';
import { navigate } from 'wouter-preact/use-browser-location';

/** What the keyboard has opened over the page. */
export const overlay = signal<'palette' | 'shortcuts' | undefined>(undefined);

export const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Keys that work on every page. @returns a function that ends them */
export function listenToShortcuts(): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const isCommand = isMac ? event.metaKey : event.ctrlKey;
    const key = event.key.toLowerCase();
    if (isCommand && !event.altKey && !event.shiftKey && key === 'k') {
      event.preventDefault();
      if (overlay.value === 'palette') overlay.value = undefined;
      else if (!isBehindDialog()) overlay.value = 'palette';
    } else if (isCommand && event.shiftKey && key === 'o') {
      event.preventDefault();
      if (!isBehindDialog()) navigate('/');
    } else if (event.key === '?' && !isTyping(event.target) && !isBehindDialog()) {
      event.preventDefault();
      overlay.value = 'shortcuts';
    } else if (event.key === '/' && !isTyping(event.target) && !isBehindDialog()) {
      const field = document.querySelector<HTMLElement>('.composer textarea');
      if (field === null) return;
      event.preventDefault();
      field.focus();
    }
  };
  addEventListener('keydown', onKey);
  return () => removeEventListener('keydown', onKey);
}

/** The keys belong to the dialog then. */
function isBehindDialog(): boolean {
  return document.querySelector('dialog[open]') !== null;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.matches('input, textarea, select') || target.isContentEditable);
}
