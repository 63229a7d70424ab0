import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { Run } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatClock, formatCount, formatDateTime, formatDuration, formatNumber } from '../../parts/formats.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { Answered } from '../../parts/states.tsx';
import { sayProblem } from '../../parts/toasts.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { Status } from './run-status.tsx';
import { stepsOf } from './steps.ts';
import type { Step } from './steps.ts';

/** While it runs, in milliseconds. */
const refreshMs = 1_000;

/** One run as a timeline: each question to the model and each call on one axis. */
export function RunView({ id }: { id: string }): JSX.Element {
  const [isOver, setOver] = useState(false);
  const asked = useAnswer('GET /api/runs/:id', { params: { id }, ...(!isOver && { everyMs: refreshMs }) });
  const status = asked.data?.status;
  if (status !== undefined && status !== 'running' && status !== 'waiting' && !isOver) setOver(true);
  return (
    <div class="page run">
      <Answered asked={asked}>{(run) => <Timeline run={run} />}</Answered>
    </div>
  );
}

function Timeline({ run }: { run: Run }): JSX.Element {
  const steps = useMemo(() => stepsOf(run), [run]);
  const [opened, setOpened] = useState<Step>();
  const end = Math.max(1, ...steps.map(({ start, end }) => end ?? start), spanOf(run));
  const cancel = (): void => void call('POST /api/runs/:id/cancel', { params: { id: run.id } }).catch(sayProblem);
  const isRunning = run.status === 'running' || run.status === 'waiting';
  const usage = run.usage as { prompt_tokens?: number; completion_tokens?: number } | null;
  return (
    <>
      <header>
        <Link href="/console/runs" class="soft">
          Runs
        </Link>
        <h1 class="cut">{run.model}</h1>
        <Status status={run.status} />
        {isRunning && (
          <Button kind="danger" icon="stop" onClick={cancel}>
            Cancel
          </Button>
        )}
      </header>
      <dl class="run-facts">
        <Fact name="Started">{formatDateTime(run.created)}</Fact>
        <Fact name="Took">{formatDuration(run.finished === null ? undefined : spanOf(run))}</Fact>
        <Fact name="Mode">{run.mode ?? '–'}</Fact>
        <Fact name="Tokens in, out">
          {formatNumber(usage?.prompt_tokens)}, {formatNumber(usage?.completion_tokens)}
        </Fact>
        {run.caller !== undefined && (
          <Fact name="Caller">
            <span class="mono small">{run.caller}</span>
          </Fact>
        )}
        <Fact name="Id">
          <span class="mono small">{run.id}</span> <CopyButton text={() => run.id} label="Copy the id" />
        </Fact>
      </dl>
      <div class="run-axis soft small" aria-hidden="true">
        <span>0</span>
        <span>{formatDuration(end / 2)}</span>
        <span>{formatDuration(end)}</span>
      </div>
      <VirtualList
        class="run-steps"
        label={`What happened, ${formatCount(steps.length, 'step')}`}
        items={steps}
        estimate={54}
        keyOf={({ key }) => key}
        render={(step) => <StepLine step={step} end={end} onOpen={() => setOpened(step)} />}
      />
      {run.prompts !== undefined && (
        <details>
          <summary>What models were asked ({run.prompts.length})</summary>
          <JsonView value={run.prompts} openTo={1} label="Prompts" />
        </details>
      )}
      {opened !== undefined && <StepDialog step={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

function Fact({ name, children }: { name: string; children: JSX.Element | string | (JSX.Element | string)[] }): JSX.Element {
  return (
    <div>
      <dt class="soft small">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function StepLine({ step, end, onOpen }: { step: Step; end: number; onOpen: () => void }): JSX.Element {
  const { kind, title, about, start, end: stop, isFailed } = step;
  const isMoment = stop === start;
  const width = Math.max(0.4, (((stop ?? end) - start) / end) * 100);
  const bar = isMoment ? { left: `min(${(start / end) * 100}%, 100% - 3px)` } : { left: `${(start / end) * 100}%`, width: `${width}%` };
  return (
    <button type="button" class={`run-step ${kind}${isFailed ? ' failed' : ''}`} onClick={onOpen}>
      <span class="run-step-words">
        <span class="run-step-title">{title}</span>
        <span class="soft small cut">{about}</span>
      </span>
      <span class="run-step-time small soft">
        {isMoment ? `at ${formatDuration(start)}` : formatDuration(stop === undefined ? undefined : stop - start)}
      </span>
      <span class="run-step-track" aria-hidden="true">
        <span class={isMoment ? 'run-moment' : 'run-bar'} style={bar} />
      </span>
    </button>
  );
}

function StepDialog({ step, onClose }: { step: Step; onClose: () => void }): JSX.Element {
  return (
    <Dialog title={step.title} kind="side" onClose={onClose}>
      {step.events.map(({ type, time, data }, index) => (
        <section key={index} class="stack">
          <h3>
            <span class="mono">{type}</span> <span class="soft small">{formatClock(time)}</span>
          </h3>
          <JsonView value={data} openTo={3} label={type} />
        </section>
      ))}
    </Dialog>
  );
}

function spanOf({ created, finished, events }: Run): number {
  const last = finished ?? events.at(-1)?.time ?? created;
  return Math.max(0, new Date(last).getTime() - new Date(created).getTime());
}
