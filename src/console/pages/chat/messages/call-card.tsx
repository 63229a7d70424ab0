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

/** Of the arguments in its head. */
const maxBrief = 90;

const decisions: Readonly<Record<string, string>> = {
  approve: 'approved',
  changed: 'approved with changes',
  reject: 'rejected',
  expired: 'not decided in time',
  unavailable: 'nobody could be asked',
};

/** One call of a function, as it happens. */
export function CallCard({
  part,
  runId,
  revision: _revision,
}: {
  part: CallPart;
  runId: string | undefined;
  revision: number;
}): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { tool, args, modelArgs, state, progress, share, error, response, files, durationMs, isTruncated, decision } = part;
  const pictures = files?.filter(({ type }) => type.startsWith('image/')) ?? [];
  const isRunning = state === 'running';
  return (
    <div class={`call ${state}`}>
      <details open={isOpen} onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
        <summary>
          <span class="call-state" aria-hidden="true">
            {state === 'done' ? (
              <Icon name="check" size={15} />
            ) : state === 'failed' ? (
              <Icon name="alert" size={15} />
            ) : state === 'waiting' ? (
              <Icon name="lock" size={15} />
            ) : (
              <span class="spinner" />
            )}
          </span>
          <span class="call-name cut">
            <VisibleText text={tool} isName />
          </span>
          <span class="call-brief cut">
            <VisibleText text={progress ?? briefOf(args)} />
          </span>
          {decision !== undefined && <span class="chip">{decisions[decision] ?? decision}</span>}
          <span class="call-time">{state === 'waiting' ? 'waits for you' : isRunning ? '' : formatDuration(durationMs)}</span>
          <span class="unseen">{{ done: 'done', failed: 'failed', waiting: 'waiting', running: 'running' }[state]}</span>
          <Icon name="down" size={15} />
        </summary>
        {isOpen && (
          <div class="call-content">
            <h3>Arguments{modelArgs !== undefined && ', as the person approved them'}</h3>
            <JsonView value={args ?? {}} label="Arguments" />
            {modelArgs !== undefined && (
              <>
                <h3>Arguments, as the model gave them</h3>
                <JsonView value={modelArgs} label="Arguments of the model" />
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
                <h3>Result{isTruncated === true && <span class="soft"> (cut for the model)</span>}</h3>
                <ResultView value={response} />
              </>
            )}
            {files !== undefined && files.length > pictures.length && <Files files={files.filter((file) => !pictures.includes(file))} />}
          </div>
        )}
      </details>
      {share !== undefined && <progress value={share} aria-label={`Progress of ${tool}`} />}
      {isRunning && runId !== undefined && <CancelCall runId={runId} id={part.id} tool={tool} />}
      {pictures.length > 0 && <Files files={pictures} />}
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
