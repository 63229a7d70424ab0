import type { JSX } from 'preact';
import { inputRequests } from '../../api/session.ts';
import type { Run } from '../../api/api-types.ts';
import { Icon } from '../../parts/icon.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { textOf } from '../../parts/text/text-of.ts';
import { VisibleText } from '../../parts/text/visible-text.tsx';
import { InputRequests } from '../chat/messages/input-requests.tsx';
import { titleOf } from './step-words.ts';
import { eventOf } from './steps.ts';
import type { Step } from './steps.ts';

/**
 * The input that a run is waiting for. For a chat of this page, the form is shown here too. For other chats, only their client gets the link and the token of
 * an approval, so that people who may read a run cannot decide for its caller.
 */
export function WaitingCalls({ run, steps }: { run: Run; steps: readonly Step[] }): JSX.Element | null {
  const own = inputRequests.value.filter(({ data }) => data['run_id'] === run.id);
  const waiting = steps.filter(({ kind, end, events }) => kind === 'call' && end === undefined && isRequest(events.at(-1)?.type));
  if (own.length > 0) return <InputRequests requests={own} />;
  if (waiting.length === 0) return null;
  return (
    <section class="run-waiting" aria-label="Waiting for input">
      {waiting.map((step) => (
        <WaitingCall key={step.key} step={step} />
      ))}
      <p class="soft small">
        Only the caller can decide: in the chat, or on the approval page that the chat links to. To stop waiting, cancel the run.
      </p>
    </section>
  );
}

function isRequest(type: string | undefined): boolean {
  return type === 'approval.request' || type === 'connect.request';
}

function WaitingCall({ step }: { step: Step }): JSX.Element {
  const sign = eventOf(step, 'connect.request');
  const name = <VisibleText text={titleOf(step)} isName />;
  if (step.events.at(-1)?.type === 'connect.request')
    return (
      <h2>
        <Icon name="key" />{' '}
        <span>
          {name} is waiting for the caller to sign in to {textOf(sign?.data['name'] ?? sign?.data['server'])}
        </span>
      </h2>
    );
  return (
    <>
      <h2>
        <Icon name="lock" /> <span>{name} is waiting for approval</span>
      </h2>
      <JsonView value={eventOf(step, 'approval.request')?.data['args'] ?? {}} label="Arguments to approve" />
    </>
  );
}
