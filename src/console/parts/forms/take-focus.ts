/** A `ref` that focuses an element when it appears. `autofocus` only works for pages and dialogs that open. */
export function takeFocus(element: HTMLElement | null): void {
  element?.focus();
}
