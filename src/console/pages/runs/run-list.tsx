import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Link, useSearchParams } from 'wouter-preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useLive } from '../../api/use-live.ts';
import { Button } from '../../parts/button.tsx';
import { Empty, Loading, Problem } from '../../parts/states.tsx';
import { ConnectionLost } from './connection-lost.tsx';
import { FilterBar } from './filter-bar.tsx';
import { listAddress, readFilters, toQuery, withFilter, withoutFilters } from './run-filters.ts';
import { RunTable } from './run-table.tsx';

/** The pause between an answer and the next request, in milliseconds. */
const refreshMs = 2_000;

/** The runs of the last 24 hours, newest first. The filters and the page are in the URL. */
export function RunList(): JSX.Element {
  const [address, setAddress] = useSearchParams();
  const [isPaused, setPaused] = useState(false);
  const filters = readFilters(address);
  const live = useLive((signal) => call('GET /api/runs', { query: toQuery(filters, Date.now()), signal }), {
    question: JSON.stringify(filters),
    everyMs: isPaused ? undefined : refreshMs,
  });
  useEffect(() => {
    listAddress.current = addressOf(address);
  }, [address]);
  const clear = (): void => setAddress(withoutFilters);
  return (
    <div class="page runs">
      <header>
        <h1>Runs</h1>
        <span class="soft small">{isPaused ? 'Paused' : 'Live'}</span>
        <Button icon={isPaused ? 'play' : 'pause'} isSmall onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      </header>
      <FilterBar
        filters={filters}
        runs={live.data?.data ?? []}
        onChange={(name, value) => setAddress((before) => withFilter(before, name, value))}
        onClear={clear}
      />
      <ConnectionLost live={live} />
      {live.data === undefined ? (
        live.error === undefined ? (
          <Loading />
        ) : (
          <Problem error={live.error} retry={live.reload} />
        )
      ) : (
        <div class={live.isStale ? 'runs-found stale' : 'runs-found'} aria-busy={live.isStale}>
          <Page page={live.data} filters={filters} address={address} onChanged={live.reload} />
        </div>
      )}
    </div>
  );
}

function addressOf(search: URLSearchParams): string {
  const text = search.toString();
  return text === '' ? '/console/runs' : `/console/runs?${text}`;
}

interface FoundProps {
  page: AnswerOf<'GET /api/runs'>;
  filters: ReturnType<typeof readFilters>;
  address: URLSearchParams;
  onChanged: () => void;
}

function Page({ page: { data, next }, filters, address, onChanged }: FoundProps): JSX.Element {
  const { after, ...others } = filters;
  const isFiltered = Object.keys(others).length > 0;
  const linkTo = (cursor: string): string => addressOf(withFilter(address, 'after', cursor));
  if (data.length === 0 && !isFiltered && after === undefined)
    return (
      <Empty icon="run" title="No runs yet">
        <p>Each answer in a chat is a run. It shows what the model was asked, what it called, and why. Runs are kept for 24 hours.</p>
        <Link href="/">Start a chat</Link>
      </Empty>
    );
  return (
    <>
      {data.length > 0 ? (
        <RunTable runs={data} onChanged={onChanged} />
      ) : (
        <p class="soft" role="status">
          {next === null ? 'No matching runs.' : 'No matches in the latest 1,000 runs. Older runs may match.'}
        </p>
      )}
      {(after !== undefined || next !== null) && (
        <nav class="row" aria-label="Older and newer runs">
          {after !== undefined && (
            <Link class="button plain" href={linkTo('')}>
              Newest runs
            </Link>
          )}
          {next !== null && (
            <Link class="button plain" href={linkTo(next)}>
              Older runs
            </Link>
          )}
        </nav>
      )}
    </>
  );
}
