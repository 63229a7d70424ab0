/** A `ref`: what appears has the focus. `autofocus` does so in pages and dialogs that open, and nowhere else. */
export function takeFocus(element: HTMLElement | null): void {
  element?.focus();
}
