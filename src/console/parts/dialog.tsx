import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { confirm } from './confirm.ts';
import { Button } from './button.tsx';
import { showToastsIn, Toasts } from './toasts.tsx';

interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** The buttons at its end. */
  actions?: ComponentChildren;
  /** Escape, the cross, or a click beside it. */
  onClose: () => void;
  /** `side`: on the right edge, for what is looked at beside the page. */
  kind?: 'middle' | 'side';
  isWide?: boolean;
  /** What is entered in it is lost when it closes, so that it asks first where something was. */
  isForm?: true;
}

/** A modal dialog for as long as it is rendered. Focus goes to `autofocus`, else to its first control, and back when it closes. */
export function Dialog({ title, children, actions, onClose, kind = 'middle', isWide, isForm }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isBegun = useRef(false);
  const close = async (): Promise<void> => {
    const isConfirmed =
      !isBegun.current ||
      (await confirm({
        title: 'Discard what you have entered?',
        text: 'It is not saved, and cannot be brought back.',
        action: 'Discard',
        isDangerous: true,
      }));
    if (isConfirmed) onClose();
  };
  // Before the browser goes on: what is typed at once belongs to the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    const endToasts = showToastsIn(id);
    return () => {
      endToasts();
      // Nothing behind an open modal dialog can have the focus.
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${kind}${isWide === true ? ' wide' : ''}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        void close();
      }}
      onInput={() => (isBegun.current = isForm === true)}
      // The second half of a double click is meant for what was there before.
      onMouseDown={(event) => event.target === element.current && event.detail < 2 && void close()}
    >
      <div class="dialog-frame">
        <header>
          <h2 id={id}>{title}</h2>
          <Button kind="quiet" icon="close" label="Close" onClick={() => void close()} />
        </header>
        <div class="dialog-content">{children}</div>
        {actions !== undefined && <footer>{actions}</footer>}
      </div>
      <Toasts dialog={id} />
    </dialog>
  );
}
