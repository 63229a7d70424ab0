import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { showError } from '../../parts/toasts.tsx';
import { AttachedFiles } from './attached-files.tsx';
import { readAttachment } from './attachments.ts';
import type { Attachment } from './state/chat.ts';
import { readDraft, saveDraft } from './state/drafts.ts';

export interface ComposerProps {
  /** Undefined for a chat without messages. */
  chatId: string | undefined;
  isRunning: boolean;
  onSend: (text: string, attachments: readonly Attachment[]) => void;
  onCancel: () => void;
  /** Controls beside the send button: model and tools. */
  children: ComponentChildren;
}

/** Focuses the question field, for example when the focused element disappears. Not on phones, whose keyboard would cover half of the page. */
export function focusQuestion(): void {
  if (matchMedia('(pointer: fine)').matches) document.querySelector<HTMLElement>('.composer textarea')?.focus();
}

/** More files belong in a tool server. */
const maxAttachments = 8;

/** The field where a question is typed. A draft is saved until it is sent. */
export function Composer({ chatId, isRunning, onSend, onCancel, children }: ComposerProps): JSX.Element {
  const [text, setText] = useState(() => readDraft(chatId));
  const input = useRef<HTMLTextAreaElement>(null);
  const { attachments, setAttachments, attach } = useAttachments(() => input.current?.focus());
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
  return (
    <form
      class="composer"
      onSubmit={(event) => (event.preventDefault(), send())}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => (event.preventDefault(), void attach(event.dataTransfer?.files))}
    >
      <AttachedFiles files={attachments} onRemove={(file) => setAttachments(attachments.filter((other) => other !== file))} />
      <textarea
        ref={input}
        dir="auto"
        rows={1}
        aria-label="Your question"
        placeholder="Ask anything"
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
        onPaste={(event) => {
          if (event.clipboardData === null || event.clipboardData.files.length === 0) return;
          event.preventDefault();
          void attach(event.clipboardData.files);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && isRunning) onCancel();
          // While an input method composes text, Enter belongs to it.
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="composer-row">
        <FilePicker attach={attach} />
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

interface Attachments {
  attachments: readonly Attachment[];
  setAttachments: (attachments: readonly Attachment[]) => void;
  attach: (files: FileList | null | undefined) => Promise<void>;
}

function useAttachments(onAttached: () => void): Attachments {
  const [attachments, setAttachments] = useState<readonly Attachment[]>([]);
  const attach = async (list: FileList | null | undefined): Promise<void> => {
    const files = Array.from(list ?? []);
    const room = maxAttachments - attachments.length;
    if (files.length > room) showError(`A question can have ${maxAttachments} files. Attach the others to your next question.`);
    for (const file of files.slice(0, room))
      try {
        const attachment = await readAttachment(file);
        setAttachments((before) => [...before, attachment].slice(0, maxAttachments));
      } catch (error) {
        showError(error);
      }
    onAttached();
  };
  return { attachments, setAttachments, attach };
}

function FilePicker({ attach }: Pick<Attachments, 'attach'>): JSX.Element {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
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
      <Button kind="quiet" isSmall icon="attach" label="Attach images, PDFs or text files" onClick={() => picker.current?.click()} />
    </>
  );
}
