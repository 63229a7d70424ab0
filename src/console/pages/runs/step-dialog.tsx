import { Fragment } from 'preact';
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { Run } from '../../api/api-types.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { formatClock, formatCount, formatDuration, formatNumber } from '../../parts/text/formats.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { textOf } from '../../parts/text/text-of.ts';
import { Facts } from './facts.tsx';
import type { Fact } from './facts.tsx';
import { modeWords } from './run-words.ts';
import { decisionOf, droppedIn, errorOf, namesIn, progressOf, sizeOf, stateOf, titleOf, waitIn, whyOf } from './step-words.ts';
import { eventOf } from './steps.ts';
import type { Step } from './steps.ts';

interface StepDialogProps {
  step: Step;
  prompts: Run['prompts'];
  onClose: () => void;
  /** Go to the previous or the next step. Undefined if there is none. */
  onPrevious: (() => void) | undefined;
  onNext: (() => void) | undefined;
}

/** Everything about one step: a description first, then its events. */
export function StepDialog({ step, prompts = [], onClose, onPrevious, onNext }: StepDialogProps): JSX.Element {
  const why = whyOf(step);
  const error = errorOf(eventOf(step, 'tool.result') ?? eventOf(step, 'model.response') ?? eventOf(step, 'run.end'));
  const state = stateOf(step);
  return (
    <Dialog
      title={titleOf(step)}
      kind="side"
      onClose={onClose}
      actions={
        <>
          <Button isSmall icon="back" isDisabled={onPrevious === undefined} onClick={() => onPrevious?.()}>
            Previous step
          </Button>
          <Button isSmall isDisabled={onNext === undefined} onClick={() => onNext?.()}>
            Next step
          </Button>
        </>
      }
    >
      <Fragment key={step.key}>
        {why !== '' && step.kind !== 'call' && error?.message !== why && <p>{why}</p>}
        {error !== undefined && (
          <div class="problem">
            <div>
              <p>{error.message}</p>
              <p class="soft small">
                <span class="mono">{error.code}</span> {state}
              </p>
            </div>
          </div>
        )}
        <Facts facts={factsOf(step)} />
        {step.kind === 'call' && <CallSections step={step} />}
        {step.kind === 'model' && <ModelSections step={step} prompts={prompts} />}
        {step.events[0]?.type === 'selection' && <SelectionSections data={step.events[0].data} />}
        {step.events[0]?.type === 'run.start' && <Names title="Offered functions" names={namesIn(step.events[0].data['functions'])} />}
        <RawEvents step={step} />
      </Fragment>
    </Dialog>
  );
}

function Section({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="run-part">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function CallSections({ step }: { step: Step }): JSX.Element {
  const asked = (eventOf(step, 'tool.call') ?? eventOf(step, 'approval.request'))?.data;
  const result = eventOf(step, 'tool.result')?.data;
  const progress = step.events.filter(({ type }) => type === 'tool.progress');
  const { message, args: approved } = eventOf(step, 'approval.response')?.data ?? {};
  return (
    <>
      {textOf(message) !== '' && <Section title="Message from the person">{textOf(message)}</Section>}
      {asked?.['args'] !== undefined && (
        <Section title="Arguments from the model">
          <JsonView value={asked['args']} openTo={3} label="Arguments" />
        </Section>
      )}
      {approved !== undefined && (
        <Section title="Approved arguments">
          <JsonView value={approved} openTo={3} label="Approved arguments" />
        </Section>
      )}
      <Names title="Corrected arguments" names={namesIn(asked?.['repairs'])} />
      {progress.length > 0 && (
        <Section title="Progress">
          <ul class="run-progress">
            {progress.slice(-maxProgress).map(({ time, data }, index) => (
              <li key={index}>
                <span class="soft small">{formatClock(time)}</span> {progressOf(data)}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {result?.['response'] !== undefined && (
        <Section title={`Result, ${sizeOf(result['response'])}`}>
          <JsonView value={result['response']} openTo={3} label="Result" />
        </Section>
      )}
    </>
  );
}

const maxProgress = 30;

function ModelSections({ step, prompts }: { step: Step; prompts: NonNullable<Run['prompts']> }): JSX.Element {
  const question = eventOf(step, 'model.request')?.data['question'];
  const prompt = prompts.find((entry) => entry['question'] === question);
  return (
    <>
      <Names title="Offered functions" names={namesIn(eventOf(step, 'model.request')?.data['names'])} />
      {prompt !== undefined && (
        <>
          <Section title="Model request">
            <JsonView value={prompt['request']} openTo={2} label="Model request" />
          </Section>
          <Section title="Model response">
            <JsonView value={prompt['answer']} openTo={3} label="Model response" />
          </Section>
        </>
      )}
    </>
  );
}

function SelectionSections({ data }: { data: Step['events'][number]['data'] }): JSX.Element {
  const asked = (data['asked'] ?? {}) as { query?: unknown };
  const dropped = droppedIn(data).map(({ name, reason }) => `${name}: ${reason}`);
  return (
    <>
      {textOf(asked.query) !== '' && <Section title="Message">{textOf(asked.query)}</Section>}
      <Names title="Selected" names={namesIn(data['found'])} />
      <Names title="Dropped, with reasons" names={dropped} />
      <Names title="Corrected" names={namesIn(data['repaired'])} />
    </>
  );
}

/** The events contain further names. */
const maxNames = 100;

function Names({ title, names }: { title: string; names: readonly string[] }): JSX.Element | null {
  if (names.length === 0) return null;
  return (
    <Section title={title}>
      <ul class="run-names">
        {names.slice(0, maxNames).map((name) => (
          <li key={name}>{name}</li>
        ))}
        {names.length > maxNames && <li class="soft">and {names.length - maxNames} more</li>}
      </ul>
    </Section>
  );
}

function RawEvents({ step: { events } }: { step: Step }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="run-raw" onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
      <summary>Raw events ({events.length})</summary>
      {isOpen &&
        events.slice(0, maxEvents).map(({ type, time, data }, index) => (
          <section key={index}>
            <h4>
              <span class="mono">{type}</span> <span class="soft small">{formatClock(time)}</span>
            </h4>
            <JsonView value={data} openTo={2} label={type} />
          </section>
        ))}
      {isOpen && events.length > maxEvents && <p class="soft">Copy the run as JSON to see all events.</p>}
    </details>
  );
}

const maxEvents = 20;

function factsOf(step: Step): Fact[] {
  const { kind, start, end } = step;
  const asked = eventOf(step, 'model.request')?.data ?? {};
  const answer = eventOf(step, 'model.response')?.data ?? {};
  const result = eventOf(step, 'tool.result')?.data ?? {};
  const usage = (answer['usage'] ?? {}) as { prompt_tokens?: number; completion_tokens?: number };
  const time: Fact[] = [
    ['Start', formatDuration(start)],
    ['Duration', end === undefined ? 'still running' : end === start ? undefined : formatDuration(end - start)],
    ['Waited for', kind === 'call' ? waitIn(step) : undefined],
  ];
  if (kind === 'model') {
    const mode = textOf(asked['mode']);
    return [
      ...time,
      ['Time to first token', answer['first_token_ms'] === undefined ? undefined : formatDuration(Number(answer['first_token_ms']))],
      ['Model', textOf(asked['model'])],
      ['Preset', textOf(asked['preset'])],
      ['Mode', modeWords[mode]?.word ?? mode],
      ['Tokens in', usage.prompt_tokens === undefined ? undefined : formatNumber(usage.prompt_tokens)],
      ['Tokens out', usage.completion_tokens === undefined ? undefined : formatNumber(usage.completion_tokens)],
      ['Sent', `${formatCount(Number(asked['messages'] ?? 0), 'message')}, ${formatCount(Number(asked['characters'] ?? 0), 'character')}`],
      ['Offered functions', formatNumber(Number(asked['functions'] ?? 0))],
      ['Finish reason', textOf(answer['finish_reason'])],
    ];
  }
  if (kind !== 'call') return time;
  return [
    ...time,
    ['Work time', result['duration_ms'] === undefined ? undefined : formatDuration(Number(result['duration_ms']))],
    ['Tool server', textOf(step.events[0]?.data['server'])],
    ['Decision', decisionOf(step)],
    [
      'Other runs',
      <Link href={`/console/runs?${new URLSearchParams({ tool: titleOf(step) }).toString()}`}>that called this function</Link>,
    ],
    ['Attempts', Number(result['attempts'] ?? 1) > 1 ? textOf(result['attempts']) : undefined],
  ];
}
