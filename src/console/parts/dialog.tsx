import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { confirm } from './confirm.ts';
import { Button } from './button.tsx';
import { showToastsIn, Toasts } from './toasts.tsx';

interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** The buttons at the bottom. */
  actions?: ComponentChildren;
  /** Called for Escape, the close button, or a click outside. */
  onClose: () => void;
  /** `side`: at the right edge, for details beside the page. `picture`: as large as the window. */
  kind?: 'middle' | 'side' | 'picture';
  isWide?: boolean;
  /** What is entered is lost when the dialog closes, so it asks for confirmation. */
  isForm?: true;
}

/** A modal dialog that is open while it is rendered. Focus goes to `autofocus`, else to its first control, and returns when it closes. */
export function Dialog({ title, children, actions, onClose, kind = 'middle', isWide, isForm }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isEdited = useRef(false);
  const close = async (): Promise<void> => {
    const isConfirmed =
      !isEdited.current ||
      (await confirm({
        title: 'Discard your changes?',
        text: 'Your changes have not been saved and will be lost.',
        action: 'Discard',
        isDangerous: true,
      }));
    if (isConfirmed) onClose();
  };
  // In the same step, so that what is typed at once goes into the dialog.
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
      onInput={() => (isEdited.current = isForm === true)}
      // The second half of a double click was meant for the element underneath.
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
