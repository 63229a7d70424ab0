import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { RunSummary } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { nameOfCaller } from '../../api/caller-names.ts';
import { formatAgo, formatCount, formatDateTime, formatDuration, formatNumber, formatShort } from '../../parts/text/formats.ts';
import { Table } from '../../parts/table.tsx';
import type { Column } from '../../parts/table.tsx';
import { showError } from '../../parts/toasts.tsx';
import { Status } from './run-status.tsx';
import { activityOf, isActive, modeWords } from './run-words.ts';

export function RunTable({ runs, onChanged }: { runs: readonly RunSummary[]; onChanged: () => void }): JSX.Element {
  // With only one caller, the column would say nothing.
  const hasCallers = new Set(runs.map(({ caller }) => caller)).size > 1;
  const columns: (Column<RunSummary> | false)[] = [
    { title: 'Run', cell: (run) => <Name run={run} /> },
    {
      title: 'Status',
      cell: (run) => (
        <span class="runs-status">
          <Status status={run.status} />
          {isActive(run) && <Cancel run={run} onChanged={onChanged} />}
        </span>
      ),
    },
    {
      title: 'Started',
      cell: ({ created }) => (
        <time class="runs-when" dateTime={created} title={formatDateTime(created)}>
          {formatAgo(created)}
        </time>
      ),
    },
    { title: 'Duration', isNumber: true, isMinor: true, cell: (run) => <span class="runs-when">{formatDuration(durationOf(run))}</span> },
    { title: 'Calls', isNumber: true, isMinor: true, cell: (run) => <Calls run={run} /> },
    { title: 'Tokens in / out', isNumber: true, isMinor: true, cell: ({ usage }) => <Tokens usage={usage} /> },
    { title: 'Mode', isMinor: true, cell: ({ mode }) => <Mode mode={mode} /> },
    hasCallers && {
      title: 'Caller',
      isMinor: true,
      cell: ({ caller = '' }) => (
        <span class="small cut runs-caller" title={caller}>
          {nameOfCaller(caller)}
        </span>
      ),
    },
  ];
  return <Table<RunSummary> label="Runs" rows={runs} keyOf={({ id }) => id} columns={columns.filter((column) => column !== false)} />;
}

/** The model, and below it what the run is doing, why it ended, or what it called. */
function Name({ run }: { run: RunSummary }): JSX.Element {
  const { id, model, error, tools = [] } = run;
  return (
    <div class="runs-name">
      <Link href={`/console/runs/${encodeURIComponent(id)}`}>{model === '' ? id : model}</Link>
      {isActive(run) ? (
        <span class="small runs-doing">{activityOf(run)}</span>
      ) : error !== undefined ? (
        <span class={`small runs-error ${run.status === 'failed' ? 'bad' : 'soft'}`} title={error.message}>
          {error.message}
        </span>
      ) : (
        tools.length > 0 && <span class="small soft cut">{tools.join(', ')}</span>
      )}
    </div>
  );
}

function Calls({ run: { calls, failed_calls: failed = 0 } }: { run: RunSummary }): JSX.Element {
  return (
    <>
      {formatNumber(calls)}
      {failed > 0 && <div class="bad small">{formatCount(failed, 'error')}</div>}
    </>
  );
}

function Tokens({ usage }: Pick<RunSummary, 'usage'>): JSX.Element {
  const { prompt_tokens: sent, completion_tokens: got } = (usage ?? {}) as { prompt_tokens?: number; completion_tokens?: number };
  return <span class="runs-when">{usage === null ? formatShort(undefined) : `${formatShort(sent)} / ${formatShort(got)}`}</span>;
}

function Mode({ mode }: Pick<RunSummary, 'mode'>): JSX.Element {
  const { word, about } = modeWords[mode ?? ''] ?? { word: mode ?? '', about: undefined };
  return <span title={about}>{word}</span>;
}

function Cancel({ run: { id, model }, onChanged }: { run: RunSummary; onChanged: () => void }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const cancel = async (): Promise<void> => {
    setBusy(true);
    try {
      await call('POST /api/runs/:id/cancel', { params: { id } });
      onChanged();
    } catch (error) {
      showError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button kind="quiet" isSmall icon="stop" label={`Cancel run of ${model}`} isBusy={isBusy} onClick={() => void cancel()}>
      Cancel
    </Button>
  );
}

/** The duration of a run, until now if it is active. */
function durationOf({ created, finished }: RunSummary): number {
  return Math.max(0, (finished === null ? Date.now() : new Date(finished).getTime()) - new Date(created).getTime());
}
