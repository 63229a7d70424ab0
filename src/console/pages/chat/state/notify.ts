import { signal } from '@preact/signals';

const isSupported = 'Notification' in globalThis;

/** `default`: the person has not been asked yet. Undefined: this browser has no notifications here, for example without TLS. */
export const notificationState = signal<NotificationPermission | undefined>(
  isSupported && isSecureContext ? Notification.permission : undefined,
);

/** Browsers show their question only after a click. */
export async function askToNotify(): Promise<void> {
  notificationState.value = await Notification.requestPermission();
}

/** Shows that a chat waits, unless the person sees this page anyway. `open`: called on a click. */
export function notifyWaiting(title: string, open: () => void): void {
  if (notificationState.value !== 'granted' || document.visibilityState === 'visible') return;
  try {
    const shown = new Notification('Your input is needed', { body: title, tag: 'toolwharf-input' });
    shown.addEventListener('click', () => {
      focus();
      shown.close();
      open();
    });
  } catch {
    // Chrome on Android shows notifications of service workers only.
  }
}
