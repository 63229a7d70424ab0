import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { RunSummary } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useAnswer } from '../../api/use-answer.ts';
import type { PageProps } from '../../shell/page.ts';
import { Button } from '../../parts/button.tsx';
import { formatAgo, formatDateTime, formatDuration, formatShort } from '../../parts/formats.ts';
import { Answered, Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { sayProblem } from '../../parts/toasts.tsx';
import { Status } from './run-status.tsx';
import { RunView } from './run-view.tsx';

/** How often the list asks for what is new, in milliseconds. */
const refreshMs = 3_000;

/** What the gateway has done in the last day, and why. */
export function RunsPage({ params: { id } }: PageProps): JSX.Element {
  return id === undefined ? <RunList /> : <RunView key={id} id={id} />;
}

const statuses = ['running', 'waiting', 'completed', 'failed', 'cancelled'] as const;

function RunList(): JSX.Element {
  const newest = useAnswer('GET /api/runs', { query: { limit: 100 }, everyMs: refreshMs });
  const [older, setOlder] = useState<{ runs: RunSummary[]; next: string | null }>();
  const [status, setStatus] = useState('');
  const [words, setWords] = useState('');
  const [isAsking, setAsking] = useState(false);

  const more = async (after: string): Promise<void> => {
    setAsking(true);
    try {
      const { data, next } = await call('GET /api/runs', { query: { limit: 100, after } });
      setOlder((before) => ({ runs: [...(before?.runs ?? []), ...data], next }));
    } catch (error) {
      sayProblem(error);
    } finally {
      setAsking(false);
    }
  };

  return (
    <div class="page runs">
      <header>
        <h1>Runs</h1>
        <label>
          <span class="unseen">Status</span>
          <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
            <option value="">Every status</option>
            {statuses.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label class="grow">
          <span class="unseen">Model, caller or id</span>
          <input type="search" placeholder="Model, caller or id" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
      </header>
      <Answered asked={newest}>
        {({ data, next }) => {
          const known = new Set(data.map(({ id }) => id));
          const all = [...data, ...(older?.runs ?? []).filter(({ id }) => !known.has(id))];
          const shown = all.filter((run) => (status === '' || run.status === status) && isMeant(run, words));
          const after = older === undefined ? next : older.next;
          if (all.length === 0)
            return (
              <Empty icon="run" title="No runs yet">
                <p>Each chat and each call of a function is a run. They are kept for a day.</p>
                <Link href="/">Start a chat</Link>
              </Empty>
            );
          return (
            <>
              <RunTable runs={shown} />
              {shown.length === 0 && <p class="soft">None of {all.length} runs is like that.</p>}
              {after !== null && (
                <Button isBusy={isAsking} onClick={() => void more(after)}>
                  Older runs
                </Button>
              )}
            </>
          );
        }}
      </Answered>
    </div>
  );
}

function isMeant({ id, model, caller = '', mode }: RunSummary, words: string): boolean {
  const text = `${id} ${model} ${caller} ${mode ?? ''}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function RunTable({ runs }: { runs: readonly RunSummary[] }): JSX.Element {
  const hasCallers = runs.some(({ caller }) => caller !== undefined);
  return (
    <Table<RunSummary>
      label="Runs"
      rows={runs}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Run', cell: ({ id, model }) => <Link href={`/console/runs/${id}`}>{model === '' ? id.slice(0, 8) : model}</Link> },
        { title: 'Status', cell: ({ status }) => <Status status={status} /> },
        {
          title: 'Started',
          cell: ({ created }) => (
            <time dateTime={created} title={formatDateTime(created)}>
              {formatAgo(created)}
            </time>
          ),
        },
        { title: 'Time', isNumber: true, cell: ({ created, finished }) => formatDuration(lengthOf(created, finished)) },
        { title: 'Tokens', isNumber: true, isMinor: true, cell: ({ usage }) => formatShort(usage?.['total_tokens'] as number | undefined) },
        { title: 'Mode', isMinor: true, cell: ({ mode }) => mode ?? '' },
        ...(hasCallers
          ? [
              {
                title: 'Caller',
                isMinor: true,
                cell: ({ caller = '' }: RunSummary) => <span class="mono small cut runs-caller">{caller}</span>,
              },
            ]
          : []),
      ]}
    />
  );
}

function lengthOf(created: string, finished: string | null): number | undefined {
  return finished === null ? undefined : new Date(finished).getTime() - new Date(created).getTime();
}
