import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call as request } from '../../../api/request.ts';
import { Button } from '../../../parts/button.tsx';
import { formatDuration } from '../../../parts/text/formats.ts';
import { Icon } from '../../../parts/icon.tsx';
import { JsonView } from '../../../parts/json-view.tsx';
import { showError } from '../../../parts/toasts.tsx';
import { VisibleText } from '../../../parts/text/visible-text.tsx';
import type { CallPart } from '../state/chat.ts';
import { Files, ResultView } from './result-view.tsx';

/** Characters of the arguments in the summary line. */
const maxBrief = 90;

const decisions: Readonly<Record<string, string>> = {
  approve: 'approved',
  changed: 'approved with changes',
  reject: 'rejected',
  expired: 'approval expired',
  unavailable: 'approval unavailable',
};

interface CallCardProps {
  part: CallPart;
  /** Undefined if the call can no longer be cancelled. */
  runId: string | undefined;
  /** Renders the card again, because a running call is changed in place. */
  revision: number;
}

/** One call of a function, while it runs and afterwards. */
export function CallCard({ part, runId }: CallCardProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { tool, args, state, progress, share, files, durationMs, decision } = part;
  const images = files?.filter(({ type }) => type.startsWith('image/')) ?? [];
  const isRunning = state === 'running';
  return (
    <div class={`call ${state}`}>
      <details open={isOpen} onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
        <summary>
          <span class="call-state" aria-hidden="true">
            {isRunning ? <span class="spinner" /> : <Icon name={stateIcons[state]} size={15} />}
          </span>
          <span class="call-name cut">
            <VisibleText text={tool} isName />
          </span>
          <span class="call-brief cut">
            <VisibleText text={progress ?? briefOf(args)} />
          </span>
          {decision !== undefined && <span class="chip">{decisions[decision] ?? decision}</span>}
          <span class="call-time">{state === 'waiting' ? 'waiting for you' : isRunning ? '' : formatDuration(durationMs)}</span>
          <span class="unseen">{state}</span>
          <Icon name="down" size={15} />
        </summary>
        {isOpen && <CallDetails part={part} />}
      </details>
      {share !== undefined && <progress value={share} aria-label={`Progress of ${tool}`} />}
      {isRunning && runId !== undefined && <CancelCall runId={runId} id={part.id} tool={tool} />}
      {images.length > 0 && <Files files={images} />}
    </div>
  );
}

const stateIcons = { done: 'check', failed: 'alert', waiting: 'lock' } as const;

function CallDetails({ part: { args, modelArgs, error, response, files = [], isTruncated } }: { part: CallPart }): JSX.Element {
  const otherFiles = files.filter(({ type }) => !type.startsWith('image/'));
  return (
    <div class="call-content">
      <h3>{modelArgs === undefined ? 'Arguments' : 'Approved arguments'}</h3>
      <JsonView value={args ?? {}} label="Arguments" />
      {modelArgs !== undefined && (
        <>
          <h3>Arguments from the model</h3>
          <JsonView value={modelArgs} label="Arguments from the model" />
        </>
      )}
      {error !== undefined && (
        <>
          <h3>Error</h3>
          <p class="bad">
            <VisibleText text={error.message} /> <span class="soft mono">{error.code}</span>
          </p>
        </>
      )}
      {response !== undefined && (
        <>
          <h3>Result{isTruncated === true && <span class="soft"> (shortened for the model)</span>}</h3>
          <ResultView value={response} />
        </>
      )}
      {otherFiles.length > 0 && <Files files={otherFiles} />}
    </div>
  );
}

function CancelCall({ runId, id, tool }: { runId: string; id: string; tool: string }): JSX.Element {
  const cancel = (): void =>
    void request('POST /api/runs/:id/calls/:call_id/cancel', { params: { id: runId, call_id: id } }).catch(showError);
  return <Button class="call-cancel" kind="quiet" isSmall icon="close" label={`Cancel ${tool}`} onClick={cancel} />;
}

function briefOf(args: unknown): string {
  if (typeof args !== 'object' || args === null) return '';
  const brief = Object.entries(args)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
  return brief.length > maxBrief ? `${brief.slice(0, maxBrief)}…` : brief;
}
