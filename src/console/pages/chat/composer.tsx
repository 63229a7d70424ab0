import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { showError } from '../../parts/toasts.tsx';
import { AttachedFiles } from './attached-files.tsx';
import { readAttachment } from './attachments.ts';
import type { Attachment } from './state/chat.ts';
import { readDraft, saveDraft } from './state/drafts.ts';

interface ComposerProps {
  /** Undefined for a chat that has no message yet. */
  chatId: string | undefined;
  isRunning: boolean;
  onSend: (text: string, attachments: readonly Attachment[]) => void;
  onCancel: () => void;
  /** Beside the button: model, tools. */
  children: ComponentChildren;
}

/** Puts the focus where a question is typed, such as when what had it is gone. Not on a phone, whose keyboard would cover half of the page. */
export function focusQuestion(): void {
  if (matchMedia('(pointer: fine)').matches) document.querySelector<HTMLElement>('.composer textarea')?.focus();
}

/** More belong in a tool server. */
const maxAttachments = 8;

/** Where a question is typed. What is typed and not sent is kept. */
export function Composer({ chatId, isRunning, onSend, onCancel, children }: ComposerProps): JSX.Element {
  const [text, setText] = useState(() => readDraft(chatId));
  const [attachments, setAttachments] = useState<readonly Attachment[]>([]);
  const input = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  useEffect(() => {
    setText(readDraft(chatId));
    focusQuestion();
  }, [chatId]);
  const change = (changed: string): void => {
    setText(changed);
    saveDraft(chatId, changed);
  };
  const isEmpty = text.trim() === '' && attachments.length === 0;
  const send = (): void => {
    if (isEmpty || isRunning) return;
    change('');
    setAttachments([]);
    onSend(text.trim(), attachments);
  };
  const attach = async (files: FileList | null | undefined): Promise<void> => {
    const given = Array.from(files ?? []);
    const room = maxAttachments - attachments.length;
    if (given.length > room) showError(`A question takes ${maxAttachments} files. Attach the others to the next one.`);
    for (const file of given.slice(0, room))
      try {
        const attachment = await readAttachment(file);
        setAttachments((before) => [...before, attachment].slice(0, maxAttachments));
      } catch (error) {
        showError(error);
      }
    input.current?.focus();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer?.files);
      }}
    >
      <AttachedFiles files={attachments} onRemove={(file) => setAttachments(attachments.filter((other) => other !== file))} />
      <textarea
        ref={input}
        rows={1}
        aria-label="Your question"
        placeholder="Ask something"
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
        onPaste={(event) => {
          if (event.clipboardData === null || event.clipboardData.files.length === 0) return;
          event.preventDefault();
          void attach(event.clipboardData.files);
        }}
        onKeyDown={(event) => {
          // A line may be under way in an input method.
          if (event.key === 'Escape' && isRunning) onCancel();
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="composer-row">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={({ currentTarget }) => {
            void attach(currentTarget.files).finally(() => (currentTarget.value = ''));
          }}
        />
        <Button kind="quiet" isSmall icon="attach" label="Attach a picture or a text" onClick={() => picker.current?.click()} />
        {children}
        <span class="grow" />
        {isRunning ? (
          <Button kind="main" icon="stop" label="Stop (Esc)" onClick={() => (onCancel(), focusQuestion())} />
        ) : (
          <Button kind="main" type="submit" icon="arrowUp" label="Send (Enter)" isDisabled={isEmpty} />
        )}
      </div>
    </form>
  );
}
