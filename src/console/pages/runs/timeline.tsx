import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Run } from '../../api/api-types.ts';
import { formatCount, formatDuration } from '../../parts/text/formats.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { StepDialog } from './step-dialog.tsx';
import { marksOf, outcomeOf, titleOf, waitIn, whyOf } from './step-words.ts';
import { eventOf } from './steps.ts';
import type { Step } from './steps.ts';

const shows = {
  all: { words: 'All steps', isShown: () => true },
  model: { words: 'Model requests', isShown: ({ kind }: Step) => kind === 'model' },
  call: { words: 'Calls', isShown: ({ kind }: Step) => kind === 'call' },
  problem: { words: 'Problems', isShown: ({ kind, isFailed }: Step) => kind === 'problem' || isFailed },
} as const;

type Shown = keyof typeof shows | 'raw';

/** Every step of a run on one time axis. */
export function Timeline({ run, steps }: { run: Run; steps: readonly Step[] }): JSX.Element {
  const [shown, setShown] = useState<Shown>('all');
  const [openKey, setOpenKey] = useState<string>();
  const listed = useMemo(() => (shown === 'all' || shown === 'raw' ? steps : steps.filter(shows[shown].isShown)), [steps, shown]);
  const end = Math.max(1, spanOf(run, steps));
  const open = openKey === undefined ? -1 : listed.findIndex(({ key }) => key === openKey);
  const openedStep = listed[open];
  const goTo = (index: number): (() => void) | undefined => {
    const step = listed[index];
    return step && (() => setOpenKey(step.key));
  };
  return (
    <>
      <div class="run-head">
        <label>
          <span class="unseen">Steps to show</span>
          <select value={shown} onChange={(event) => setShown(event.currentTarget.value as Shown)}>
            {Object.entries(shows).map(([name, { words, isShown }]) => (
              <option key={name} value={name}>
                {words} ({steps.filter(isShown).length})
              </option>
            ))}
            <option value="raw">Raw events ({run.events.length})</option>
          </select>
        </label>
        <div class="run-axis soft small" aria-hidden="true" hidden={shown === 'raw'}>
          {[0, 0.25, 0.5, 0.75, 1].map((part) => (
            <span key={part}>{part === 0 ? '0' : formatDuration(end * part)}</span>
          ))}
        </div>
      </div>
      {shown === 'raw' ? (
        <JsonView value={run.events} openTo={2} label="Raw events" />
      ) : (
        <VirtualList
          class="run-steps"
          label={`Timeline, ${formatCount(listed.length, 'step')}`}
          items={listed}
          estimate={54}
          keyOf={({ key }) => key}
          render={(step) => <StepLine step={step} end={end} onOpen={() => setOpenKey(step.key)} />}
        />
      )}
      {openedStep !== undefined && (
        <StepDialog
          step={openedStep}
          prompts={run.prompts}
          onClose={() => setOpenKey(undefined)}
          onPrevious={goTo(open - 1)}
          onNext={goTo(open + 1)}
        />
      )}
    </>
  );
}

interface StepLineProps {
  step: Step;
  /** The end of the axis, in milliseconds. */
  end: number;
  onOpen: () => void;
}

function StepLine({ step, end, onOpen }: StepLineProps): JSX.Element {
  const { kind, depth, start, end: stop, isFailed } = step;
  const isMoment = stop === start;
  const isOpen = stop === undefined;
  const server = kind === 'call' ? eventOf(step, 'tool.call')?.data['server'] : undefined;
  const about = [whyOf(step), outcomeOf(step)].filter((text) => text !== '').join(' → ');
  const barStyle = (from: number, to: number): { left: string; width: string } => ({
    left: `${Math.min(99.5, (from / end) * 100)}%`,
    width: `${Math.max(0.5, ((Math.min(to, end) - from) / end) * 100)}%`,
  });
  const waited = waitIn(step);
  return (
    <button
      type="button"
      class={`run-step ${kind}${isFailed ? ' failed' : ''}${isOpen ? ' open' : ''} depth-${Math.min(depth, maxDepth)}`}
      onClick={onOpen}
      onKeyDown={moveFocus}
    >
      <span class="run-step-words">
        <span class="run-step-title">
          <span>{titleOf(step)}</span>
          {typeof server === 'string' && <span class="soft small run-step-server">{server}</span>}
          {marksOf(step).map(({ words, tone = '' }) => (
            <span key={words} class={`chip ${tone}`}>
              {words}
            </span>
          ))}
        </span>
        <span class="soft small run-step-about">{about}</span>
      </span>
      <span class="run-step-time small soft">
        {isMoment ? <span>at {formatDuration(start)}</span> : <span>{isOpen ? 'running' : formatDuration(stop - start)}</span>}
        {!isMoment && waited !== undefined && <span>{waited}</span>}
      </span>
      <span class="run-step-track" aria-hidden="true">
        {isMoment ? (
          <span class="run-moment" style={{ left: `min(${(start / end) * 100}%, 100% - 3px)` }} />
        ) : (
          <>
            <span class="run-bar" style={barStyle(start, stop ?? end)} />
            {step.waits.map((wait) => (
              <span key={wait.start} class={`run-wait ${wait.kind}`} style={barStyle(wait.start, wait.end)} />
            ))}
          </>
        )}
      </span>
    </button>
  );
}

/** The arrow keys go from step to step, because thousands are too many for the Tab key. */
function moveFocus(event: JSX.TargetedKeyboardEvent<HTMLButtonElement>): void {
  const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  const item = event.currentTarget.closest<HTMLElement>('[data-index]');
  if (by === 0 || item === null) return;
  event.preventDefault();
  const index = Number(item.dataset['index']) + by;
  item.parentElement?.querySelector<HTMLElement>(`[data-index="${index}"] > button`)?.focus();
}

/** Deeper steps are not indented further. */
const maxDepth = 4;

/** A running run ends now. A waiting one ends at its last event, or its bars would shrink to dots. */
export function spanOf(run: Run, steps: readonly Step[]): number {
  const { created, finished, events } = run;
  const last = finished ?? (run.status === 'running' ? Date.now() : (events.at(-1)?.time ?? created));
  return steps.reduce((most, { start, end }) => Math.max(most, end ?? start), new Date(last).getTime() - new Date(created).getTime());
}
