import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { keepDraft, readDraft } from './kept-chats.ts';

export interface ComposerProps {
  /** Undefined for a chat that has no message yet. */
  chatId: string | undefined;
  isRunning: boolean;
  onSend: (text: string) => void;
  onCancel: () => void;
  /** Beside the button: model, tools. */
  children: ComponentChildren;
}

/** Where a question is typed. What is not sent is kept. */
export function Composer({ chatId, isRunning, onSend, onCancel, children }: ComposerProps): JSX.Element {
  const [text, setText] = useState(() => readDraft(chatId));
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    setText(readDraft(chatId));
    // On a phone the keyboard would cover half of the page.
    if (matchMedia('(pointer: fine)').matches) input.current?.focus();
  }, [chatId]);
  const change = (changed: string): void => {
    setText(changed);
    keepDraft(chatId, changed);
  };
  const send = (): void => {
    if (text.trim() === '' || isRunning) return;
    change('');
    onSend(text.trim());
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={input}
        rows={1}
        aria-label="Your question"
        placeholder="Ask something"
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => {
          // A line may be under way in an input method.
          if (event.key === 'Escape' && isRunning) onCancel();
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="composer-row">
        {children}
        <span class="grow" />
        {isRunning ? (
          <Button kind="main" icon="stop" label="Stop (Esc)" onClick={onCancel} />
        ) : (
          <Button kind="main" type="submit" icon="arrowUp" label="Send (Enter)" isDisabled={text.trim() === ''} />
        )}
      </div>
    </form>
  );
}
