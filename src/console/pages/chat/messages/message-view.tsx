import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../../../parts/button.tsx';
import { CopyButton } from '../../../parts/copy-button.tsx';
import { formatNumber } from '../../../parts/text/formats.ts';
import { takeFocus } from '../../../parts/forms/take-focus.ts';
import { AnswerView } from './answer-view.tsx';
import { AttachedFiles } from '../attached-files.tsx';
import { leafBelow, versionsOf } from '../state/chat.ts';
import type { ChatSettings, Message, UserMessage } from '../state/chat.ts';
import { focusQuestion } from '../composer.tsx';
import type { OpenChat } from '../state/open-chat.ts';

interface MessageViewProps {
  message: Message;
  open: OpenChat;
  settings: ChatSettings;
}

export function MessageView({ message, open, settings }: MessageViewProps): JSX.Element {
  const isRunning = open.running.value !== undefined;
  const isLive = open.running.value?.id === message.id;
  return (
    <li class={`chat-message ${message.role}`}>
      <h2 class="unseen">{message.role === 'user' ? 'You' : 'Answer'}</h2>
      {message.role === 'user' ? (
        <QuestionView question={message} open={open} settings={settings} isRunning={isRunning} />
      ) : (
        <AnswerView
          answer={isLive ? (open.running.value ?? message) : message}
          revision={isLive ? open.revision.value : 0}
          onRetry={isRunning ? undefined : () => (open.retry(message, settings), focusQuestion())}
        />
      )}
      <Versions message={message} open={open} isRunning={isRunning} />
    </li>
  );
}

function QuestionView({
  question,
  open,
  settings,
  isRunning,
}: {
  question: UserMessage;
  open: OpenChat;
  settings: ChatSettings;
  isRunning: boolean;
}): JSX.Element {
  const [draft, setDraft] = useState<string>();
  const close = (): void => {
    setDraft(undefined);
    focusQuestion();
  };
  if (draft === undefined)
    return (
      <>
        <AttachedFiles files={question.attachments ?? []} />
        {question.text !== '' && <QuestionText text={question.text} />}
        <div class="chat-foot">
          {question.text !== '' && <CopyButton text={() => question.text} label="Copy question" />}
          {!isRunning && <Button kind="quiet" isSmall icon="edit" label="Edit" onClick={() => setDraft(question.text)} />}
        </div>
      </>
    );
  return (
    <form
      class="chat-edit"
      onSubmit={(event) => {
        event.preventDefault();
        close();
        if (draft.trim() !== '' || question.attachments !== undefined) open.edit(question, draft.trim(), settings);
      }}
    >
      <textarea
        dir="auto"
        aria-label="Your question"
        value={draft}
        rows={3}
        ref={takeFocus}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') close();
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
      />
      <div class="row">
        <Button kind="main" isSmall type="submit">
          Send
        </Button>
        <Button isSmall onClick={close}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

/** Only the beginning of a longer question is shown. */
const maxCharacters = 8_000;
const maxLines = 100;

/** The hidden part is not in the document, so that a pasted book does not block the page. */
function QuestionText({ text }: { text: string }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > maxCharacters || text.split('\n', maxLines + 1).length > maxLines;
  if (!isLong)
    return (
      <div class="chat-question" dir="auto">
        {text}
      </div>
    );
  return (
    <div class="chat-question long" dir="auto">
      {isWhole ? (
        piecesOf(text).map((piece, index) => (
          <div key={index} class="chat-question-piece">
            {piece}
          </div>
        ))
      ) : (
        <div class="chat-question-begin">{text.slice(0, maxCharacters)}</div>
      )}
      <button type="button" class="more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? 'Show less' : `Show all ${formatNumber(text.length)} characters`}
      </button>
    </div>
  );
}

/** Pieces of whole lines, so that the browser only lays out the visible ones. */
function piecesOf(text: string): string[] {
  return Array.from(text.matchAll(/[^]{1,8000}(?:\n|$)|[^]+?(?:\n|$)/g), ([piece]) => piece.replace(/\n$/, ''));
}

/** Switches to another version of a message, and to the messages after it. */
function Versions({ message, open, isRunning }: { message: Message; open: OpenChat; isRunning: boolean }): JSX.Element | null {
  const versions = versionsOf(open.chat.value, message);
  if (versions.length < 2) return null;
  const at = versions.findIndex(({ id }) => id === message.id);
  const show = (step: number): void => {
    const other = versions[at + step];
    if (other !== undefined) open.show(leafBelow(open.chat.value, other.id));
  };
  return (
    <div class="chat-versions">
      <Button kind="quiet" isSmall icon="back" label="Previous version" isDisabled={isRunning || at === 0} onClick={() => show(-1)} />
      <span>
        {at + 1} of {versions.length}
      </span>
      <Button
        kind="quiet"
        isSmall
        icon="back"
        label="Next version"
        class="chat-next"
        isDisabled={isRunning || at === versions.length - 1}
        onClick={() => show(1)}
      />
    </div>
  );
}
