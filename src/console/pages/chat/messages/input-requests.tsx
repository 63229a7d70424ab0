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
import { askToNotify, notificationState } from '../state/notify.ts';

/** Forms for the input that calls of a chat are waiting for. */
export function InputRequests({ requests }: { requests: readonly InputRequest[] }): JSX.Element {
  const previousCount = useRef(0);
  // In the same step: what the person types at once must not be lost.
  useLayoutEffect(() => {
    if (requests.length < previousCount.current && document.activeElement === document.body) focusQuestion();
    previousCount.current = requests.length;
  }, [requests.length]);
  return (
    <div class="questions" onClickCapture={ignoreDoubleClick}>
      {requests.map((request) => {
        const Form = forms[request.kind];
        return (
          <section key={request.id} class="question" aria-label="Your input is needed" dir="auto">
            <Form request={request} />
          </section>
        );
      })}
      {requests.length > 0 && notificationState.value === 'default' && (
        <Button kind="quiet" isSmall icon="info" class="notify" onClick={() => void askToNotify()}>
          Notify me when input is needed
        </Button>
      )}
    </div>
  );
}

/** After an answer, the next form moves up. The second half of a double click is not meant for that one. */
function ignoreDoubleClick(event: JSX.TargetedMouseEvent<HTMLElement>): void {
  if (event.detail < 2 || !(event.target instanceof Element) || event.target.closest('.question-actions') === null) return;
  event.preventDefault();
  event.stopPropagation();
}

function textIn({ data }: InputRequest, name: string): string {
  const value = data[name];
  return typeof value === 'string' ? value : '';
}

function ApprovalForm({ request }: { request: InputRequest }): JSX.Element {
  const { id, data, answer } = request;
  const tool = textIn(request, 'tool');
  const [params, setParams] = useState<unknown>(data['params']);
  const [isEditing, setEditing] = useState(false);
  const [isRemembered, setRemembered] = useState(false);
  const [message, setMessage] = useState<string>();
  const schema = useParameters(tool);
  const isChanged = JSON.stringify(params) !== JSON.stringify(data['params']);
  const submit = (): void =>
    message === undefined
      ? answer({ decision: 'approve', ...(isChanged && { params }), ...(isRemembered && { remember: true }) })
      : answer({ decision: 'reject', ...(message !== '' && { message }) });
  return (
    <form onSubmit={(event) => (event.preventDefault(), submit())}>
      <h2>
        <Icon name="lock" /> {textIn(request, 'title') || `Approve ${tool}?`}
      </h2>
      {textIn(request, 'message') !== '' && <p class="soft">{textIn(request, 'message')}</p>}
      {isEditing ? (
        <SchemaForm schema={schema ?? {}} value={params} onChange={setParams} />
      ) : (
        <JsonView value={params ?? {}} label={`Arguments of ${tool}`} />
      )}
      {message === undefined ? (
        <div class="row question-actions">
          <Button kind="main" type="submit" icon="check">
            Approve
          </Button>
          <Button onClick={() => setMessage('')}>Reject…</Button>
          <Button kind="quiet" icon="edit" label="Edit arguments" isPressed={isEditing} onClick={() => setEditing(!isEditing)}>
            <span class="minor">Edit arguments</span>
          </Button>
          <label class="question-remember">
            <input type="checkbox" checked={isRemembered} onChange={(event) => setRemembered(event.currentTarget.checked)} /> Don’t ask
            again in this chat
          </label>
        </div>
      ) : (
        <Rejection id={id} message={message} onChange={setMessage} />
      )}
    </form>
  );
}

interface RejectionProps {
  id: string;
  message: string;
  /** Undefined goes back to the approval. */
  onChange: (message: string | undefined) => void;
}

function Rejection({ id, message, onChange }: RejectionProps): JSX.Element {
  return (
    <>
      <div class="field">
        <label for={`message-${id}`}>Message to the model</label>
        <input
          id={`message-${id}`}
          value={message}
          ref={takeFocus}
          placeholder="Optional"
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </div>
      <div class="row question-actions">
        <Button kind="danger" type="submit">
          Reject
        </Button>
        <Button onClick={() => onChange(undefined)}>Back</Button>
      </div>
    </>
  );
}

function useParameters(tool: string): JsonSchema | undefined {
  const tools = useQuery('GET /api/tools');
  return tools.data?.data.find(({ name, id }) => name === tool || id === tool)?.parameters;
}

function ElicitationForm({ request }: { request: InputRequest }): JSX.Element {
  const { data, answer } = request;
  const schema = (data['schema'] ?? { type: 'string' }) as JsonSchema;
  const [value, setValue] = useState<unknown>(() => initialValue(schema));
  return (
    <form onSubmit={(event) => (event.preventDefault(), answer(value ?? ''))}>
      <h2>
        <Icon name="chat" /> {textIn(request, 'title') || 'A function needs your input'}
      </h2>
      <p>{textIn(request, 'message')}</p>
      <SchemaForm schema={schema} value={value} onChange={setValue} />
      <div class="row question-actions">
        <Button kind="main" type="submit">
          Submit
        </Button>
        <Button onClick={() => answer(undefined)}>Skip</Button>
      </div>
    </form>
  );
}

/** Links to the gateway's connect page. The chat continues by itself when the person has signed in there. */
function SignInForm({ request }: { request: InputRequest }): JSX.Element {
  const name = textIn(request, 'name') || textIn(request, 'server');
  const url = URL.canParse(textIn(request, 'url'), location.href) ? new URL(textIn(request, 'url'), location.href) : undefined;
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol);
  return (
    <>
      <h2>
        <Icon name="key" /> Sign in to {name} to continue
      </h2>
      <p class="soft">The sign-in page opens in a new tab. The answer continues when you have signed in.</p>
      <div class="row question-actions">
        {isWeb && (
          <a class="button main" href={url.href} target="_blank" rel="noopener noreferrer">
            <Icon name="external" /> Sign in to {name}
          </a>
        )}
        <Button onClick={() => request.answer(false)}>Continue without signing in</Button>
      </div>
    </>
  );
}

const forms = { confirmation: ApprovalForm, input: ElicitationForm, connect: SignInForm } as const;
