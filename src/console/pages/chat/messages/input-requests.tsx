import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { InputRequest } from '../../../api/session.ts';
import { useQuery } from '../../../api/use-query.ts';
import { Button } from '../../../parts/button.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { initialValue } from '../../../parts/forms/json-schema.ts';
import type { JsonSchema } from '../../../parts/forms/json-schema.ts';
import { JsonView } from '../../../parts/json-view.tsx';
import { SchemaForm } from '../../../parts/forms/schema-form.tsx';
import { takeFocus } from '../../../parts/forms/take-focus.ts';
import { focusQuestion } from '../composer.tsx';

/** What the gateway wants to know before a call goes on. */
export function InputRequests({ inputRequests }: { inputRequests: readonly InputRequest[] }): JSX.Element {
  const before = useRef(0);
  // Before the browser goes on: what is typed at once must not be lost.
  useLayoutEffect(() => {
    if (inputRequests.length < before.current && document.activeElement === document.body) focusQuestion();
    before.current = inputRequests.length;
  }, [inputRequests.length]);
  return (
    <div class="questions" onClickCapture={takeNoSecondClick}>
      {inputRequests.map((ask) => (
        <section key={ask.id} class="question" aria-label="A question waits for you">
          {ask.kind === 'confirmation' ? <Approval ask={ask} /> : ask.kind === 'input' ? <Input ask={ask} /> : <SignIn ask={ask} />}
        </section>
      ))}
    </div>
  );
}

/** When a question is answered, another one moves to its place: the second half of a double click is not meant for that. */
function takeNoSecondClick(event: JSX.TargetedMouseEvent<HTMLElement>): void {
  if (event.detail < 2 || !(event.target instanceof Element) || event.target.closest('.question-actions') === null) return;
  event.preventDefault();
  event.stopPropagation();
}

function textIn({ data }: InputRequest, name: string): string {
  const value = data[name];
  return typeof value === 'string' ? value : '';
}

function Approval({ ask }: { ask: InputRequest }): JSX.Element {
  const tool = textIn(ask, 'tool');
  const [params, setParams] = useState<unknown>(ask.data['params']);
  const [isEditing, setEditing] = useState(false);
  const [isRemembered, setRemembered] = useState(false);
  const [reason, setReason] = useState<string>();
  const tools = useQuery('GET /api/tools');
  const schema = tools.data?.data.find(({ name, id }) => name === tool || id === tool)?.parameters as JsonSchema | undefined;
  const isChanged = JSON.stringify(params) !== JSON.stringify(ask.data['params']);
  const approve = (): void => ask.answer({ decision: 'approve', ...(isChanged && { params }), ...(isRemembered && { remember: true }) });
  const reject = (): void => ask.answer({ decision: 'reject', ...(reason !== undefined && reason !== '' && { message: reason }) });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (reason === undefined) approve();
        else reject();
      }}
    >
      <h2>
        <Icon name="lock" /> {textIn(ask, 'title') || `Allow ${tool}?`}
      </h2>
      {textIn(ask, 'message') !== '' && <p class="soft">{textIn(ask, 'message')}</p>}
      {isEditing ? (
        <SchemaForm schema={schema ?? {}} value={params} onChange={setParams} />
      ) : (
        <JsonView value={params ?? {}} label={`Arguments of ${tool}`} />
      )}
      {reason !== undefined && (
        <div class="field">
          <label for={`reason-${ask.id}`}>What the model should know</label>
          <input
            id={`reason-${ask.id}`}
            value={reason}
            ref={takeFocus}
            placeholder="Optional"
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </div>
      )}
      <div class="row question-actions">
        {reason === undefined ? (
          <>
            <Button kind="main" type="submit" icon="check">
              Allow
            </Button>
            <Button onClick={() => setReason('')}>Reject…</Button>
            <Button kind="quiet" icon="edit" label="Change arguments" isPressed={isEditing} onClick={() => setEditing(!isEditing)}>
              <span class="minor">Change arguments</span>
            </Button>
            <label class="question-remember">
              <input type="checkbox" checked={isRemembered} onChange={(event) => setRemembered(event.currentTarget.checked)} /> Do not ask
              again in this chat
            </label>
          </>
        ) : (
          <>
            <Button kind="danger" type="submit">
              Reject
            </Button>
            <Button onClick={() => setReason(undefined)}>Back</Button>
          </>
        )}
      </div>
    </form>
  );
}

function Input({ ask }: { ask: InputRequest }): JSX.Element {
  const schema = (ask.data['schema'] ?? { type: 'string' }) as JsonSchema;
  const [value, setValue] = useState<unknown>(() => initialValue(schema));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        ask.answer(value ?? '');
      }}
    >
      <h2>
        <Icon name="chat" /> {textIn(ask, 'title') || 'A function asks'}
      </h2>
      <p>{textIn(ask, 'message')}</p>
      <SchemaForm schema={schema} value={value} onChange={setValue} />
      <div class="row question-actions">
        <Button kind="main" type="submit">
          Answer
        </Button>
        <Button onClick={() => ask.answer(undefined)}>Do not answer</Button>
      </div>
    </form>
  );
}

/** The page that it leads to is the gateway's own; when the person is through, the chat goes on by itself. */
function SignIn({ ask }: { ask: InputRequest }): JSX.Element {
  const name = textIn(ask, 'name') || textIn(ask, 'server');
  const url = URL.canParse(textIn(ask, 'url'), location.href) ? new URL(textIn(ask, 'url'), location.href) : undefined;
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol);
  return (
    <>
      <h2>
        <Icon name="key" /> {name} needs you to sign in
      </h2>
      <p class="soft">It opens in a tab of its own. The answer goes on by itself when you are through.</p>
      <div class="row question-actions">
        {isWeb && (
          <a class="button main" href={url.href} target="_blank" rel="noopener noreferrer">
            <Icon name="external" /> Sign in to {name}
          </a>
        )}
        <Button onClick={() => ask.answer(false)}>Go on without</Button>
      </div>
    </>
  );
}
