import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { showError } from '../../parts/toasts.tsx';
import { focusQuestion } from './composer.tsx';
import { saveAsMarkdown } from './export-chat.ts';
import { deleteChat } from './state/saved-chats.ts';
import { forgetChat } from './state/open-chats.ts';
import type { OpenChat } from './state/open-chat.ts';

/** The title of a chat, and the actions for the whole chat. */
export function ChatHead({ open }: { open: OpenChat }): JSX.Element {
  const [, go] = useLocation();
  const [isRenaming, setRenaming] = useState(false);
  const chat = open.chat.value;
  const remove = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: 'Delete this chat?',
      text: 'It is deleted from this browser. This can’t be undone.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    forgetChat(chat.id);
    await deleteChat(chat.id);
    go('/');
  };
  return (
    <header class="chat-head">
      {isRenaming ? (
        <Rename
          title={chat.title}
          onDone={(title) => {
            if (title !== undefined) open.rename(title);
            setRenaming(false);
            focusQuestion();
          }}
        />
      ) : (
        <>
          <h1 class="cut" dir="auto">
            {chat.title}
          </h1>
          <Button kind="quiet" icon="edit" label="Rename chat" onClick={() => setRenaming(true)} />
        </>
      )}
      <Button
        kind="quiet"
        icon="pin"
        label={chat.isPinned === true ? 'Unpin chat' : 'Pin chat'}
        isPressed={chat.isPinned === true}
        onClick={() => open.pin(chat.isPinned !== true)}
      />
      <Button kind="quiet" icon="download" label="Export chat" onClick={() => saveAsMarkdown(chat)} />
      <Button kind="quiet" icon="trash" label="Delete chat" onClick={() => void remove().catch(showError)} />
      <Button kind="quiet" icon="add" label="New chat" class="chat-new" onClick={() => go('/')}>
        <span class="minor">New chat</span>
      </Button>
    </header>
  );
}

/** `onDone`: undefined if the title stays the same. */
function Rename({ title, onDone }: { title: string; onDone: (title: string | undefined) => void }): JSX.Element {
  const [text, setText] = useState(title);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.select(), []);
  return (
    <form
      class="chat-rename"
      onSubmit={(event) => {
        event.preventDefault();
        onDone(text.trim() === '' ? undefined : text.trim());
      }}
    >
      <input
        ref={input}
        dir="auto"
        aria-label="Chat title"
        value={text}
        maxLength={200}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={({ key }) => key === 'Escape' && onDone(undefined)}
      />
      <Button kind="main" isSmall type="submit">
        Rename
      </Button>
    </form>
  );
}
