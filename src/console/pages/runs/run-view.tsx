import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { Run } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useLive } from '../../api/use-live.ts';
import { Button } from '../../parts/button.tsx';
import { nameOfCaller } from '../../api/caller-names.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { formatCount, formatDateTime, formatDuration, formatNumber } from '../../parts/text/formats.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { Loading, Problem } from '../../parts/states.tsx';
import { showError } from '../../parts/toasts.tsx';
import { findChatOfRun } from '../chat/state/saved-chats.ts';
import type { SavedChat } from '../chat/state/saved-chats.ts';
import { ConnectionLost } from './connection-lost.tsx';
import { Facts } from './facts.tsx';
import { listAddress } from './run-filters.ts';
import { Status } from './run-status.tsx';
import { isActive, modeWords } from './run-words.ts';
import type { RunTimes } from './run-times.ts';
import { timesOf } from './run-times.ts';
import { stepsOf } from './steps.ts';
import type { Step } from './steps.ts';
import { spanOf, Timeline } from './timeline.tsx';
import { WaitingCalls } from './waiting-calls.tsx';

/** The pause between an answer and the next request while the run is active, in milliseconds. */
const refreshMs = 1_000;

/** One run: a summary, and each step. */
export function RunView({ id }: { id: string }): JSX.Element {
  const [isOver, setOver] = useState(false);
  const live = useLive((signal) => readRun(id, signal), { question: id, everyMs: isOver ? undefined : refreshMs });
  const { run, steps = [] } = live.data ?? {};
  useEffect(() => {
    if (run !== undefined) setOver(!isActive(run));
  }, [run]);
  return (
    <div class="page run">
      {run === undefined ? (
        <>
          <header>
            <Back />
            <h1>Run</h1>
          </header>
          {live.error === undefined ? <Loading /> : <Problem error={live.error} retry={live.reload} />}
        </>
      ) : (
        <>
          <Head run={run} />
          <ConnectionLost live={live} />
          <End run={run} />
          <WaitingCalls run={run} steps={steps} />
          <Facts facts={factsOf(run, steps)} />
          <Timeline run={run} steps={steps} />
          {run.prompts !== undefined && (
            <details>
              <summary>Prompts ({run.prompts.length})</summary>
              <JsonView value={run.prompts} openTo={1} label="Prompts" />
            </details>
          )}
        </>
      )}
    </div>
  );
}

/** Reading the answer, finding the steps and rendering them takes tens of milliseconds for a long run, so each one is a separate task. */
async function readRun(id: string, signal: AbortSignal): Promise<{ run: Run; steps: Step[] }> {
  const run = await call('GET /api/runs/:id', { params: { id }, signal });
  await nextTask();
  const steps = stepsOf(run);
  await nextTask();
  return { run, steps };
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve));
}

/** Links back to the list with its filters. */
function Back(): JSX.Element {
  return (
    <Link href={listAddress.current} class="trail">
      Runs
    </Link>
  );
}

function Head({ run }: { run: Run }): JSX.Element {
  const chat = useChatOfRun(run.id);
  const cancel = (): void => void call('POST /api/runs/:id/cancel', { params: { id: run.id } }).catch(showError);
  return (
    <header>
      <Back />
      <h1 class="cut">{run.model === '' ? run.id : run.model}</h1>
      <Status status={run.status} />
      {isActive(run) && (
        <Button icon="stop" onClick={cancel}>
          Cancel
        </Button>
      )}
      {chat !== undefined && (
        <Link class="button plain" href={`/console/chats/${chat.id}`} title={chat.title}>
          Open chat
        </Link>
      )}
      <CopyButton text={() => JSON.stringify(run, null, 2)} label="Copy run as JSON" />
    </header>
  );
}

/** The chat of this browser that contains the answer of the run. */
function useChatOfRun(id: string): SavedChat | undefined {
  const [chat, setChat] = useState<SavedChat>();
  useEffect(() => {
    // If the browser stores nothing, there is no chat to open.
    findChatOfRun(id).then(setChat, () => undefined);
  }, [id]);
  return chat;
}

/** Why the run failed or was cancelled. */
function End({ run: { status, events } }: { run: Run }): JSX.Element | null {
  const error = events.findLast(({ type }) => type === 'run.end')?.data['error'] as { code?: string; message?: string } | undefined;
  if (error === undefined) return null;
  return (
    <div class={status === 'failed' ? 'problem' : 'run-ended'}>
      <div>
        <p>{error.message}</p>
        <p class="soft small mono">{error.code}</p>
      </div>
    </div>
  );
}

const timeWords: Readonly<Record<keyof RunTimes, string>> = {
  models: 'Model time',
  functions: 'Function time',
  people: 'Waiting for people',
};

function factsOf(run: Run, steps: readonly Step[]): [string, JSX.Element | string | undefined][] {
  const { created, finished, mode, events, caller, id } = run;
  const usage = run.usage as { prompt_tokens?: number; completion_tokens?: number } | null;
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  const failed = events.filter(({ type, data }) => type === 'tool.result' && data['error'] !== undefined).length;
  const known = modeWords[mode ?? ''];
  return [
    ['Started', formatDateTime(created)],
    ['Duration', finished === null ? 'still running' : formatDuration(new Date(finished).getTime() - new Date(created).getTime())],
    ...Object.entries(timesOf(steps, spanOf(run, steps))).map(([name, ms]): [string, string | undefined] => [
      timeWords[name as keyof RunTimes],
      ms === 0 ? undefined : formatDuration(ms),
    ]),
    ['Mode', mode === null ? undefined : <span title={known?.about}>{known?.word ?? mode}</span>],
    ['Model requests', formatNumber(count('model.request'))],
    ['Calls', `${formatNumber(count('tool.call'))}${failed > 0 ? `, ${formatCount(failed, 'error')}` : ''}`],
    ['Tokens in / out', usage === null ? undefined : `${formatNumber(usage.prompt_tokens)} / ${formatNumber(usage.completion_tokens)}`],
    ['Caller', caller === undefined ? undefined : <span title={caller}>{nameOfCaller(caller)}</span>],
    [
      'ID',
      <span class="run-id">
        <span class="mono">{id}</span>
        <CopyButton text={() => id} label="Copy ID" />
      </span>,
    ],
  ];
}
