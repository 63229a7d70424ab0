import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { useQuery } from '../../api/use-query.ts';
import { Breakable } from '../../parts/text/breakable.tsx';
import { formatBytes, formatCount, formatDuration, formatNumber } from '../../parts/text/formats.ts';
import { Loaded, Problem } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';

type Setting = AnswerOf<'GET /api/settings'>['data'][number];

/** The settings in force, where each comes from, and whether all that the gateway needs is there. */
export function SettingsPage(): JSX.Element {
  const settings = useQuery('GET /api/settings');
  const [isAll, setAll] = useState(false);
  const [words, setWords] = useState('');
  return (
    <div class="page settings">
      <header>
        <h1>Settings</h1>
        <label class="row">
          <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.currentTarget.checked)} />
          Show defaults
        </label>
        <input
          type="search"
          class="settings-search"
          aria-label="Search settings and limits"
          placeholder="Search"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </header>
      <State />
      <Loaded query={settings}>
        {({ version, data, limits }) => (
          <>
            <p class="soft">
              toolwharf {version}. Settings are changed in the environment or in <code>toolwharf.yaml</code>, and hold from the next start.
              Secrets are never shown.
            </p>
            <SettingTable settings={findSettings(data, words, isAll)} isSearch={words.trim() !== ''} />
            <LimitTable limits={limits} words={words} />
          </>
        )}
      </Loaded>
    </div>
  );
}

/** Whoever searches looks among the defaults, too. */
function findSettings(settings: readonly Setting[], words: string, isAll: boolean): Setting[] {
  const wanted = words.trim().toLowerCase();
  if (wanted === '') return settings.filter(({ origin }) => isAll || origin !== 'default');
  return settings.filter(({ name, value }) => `${name} ${value ?? ''}`.toLowerCase().includes(wanted));
}

function SettingTable({ settings, isSearch }: { settings: readonly Setting[]; isSearch: boolean }): JSX.Element {
  if (settings.length === 0)
    return <p>{isSearch ? 'No setting has these words.' : 'Nothing is set; everything has its default. “Show defaults” lists them.'}</p>;
  return (
    <Table<Setting>
      label="Settings"
      rows={settings}
      keyOf={({ name }) => name}
      columns={[
        { title: 'Setting', cell: Named },
        {
          title: 'Value',
          cell: ({ value }) => (
            <span class="mono small settings-value">
              <Breakable text={value ?? '–'} />
            </span>
          ),
        },
        {
          title: 'From',
          cell: ({ origin }) =>
            origin === 'default' ? <span class="soft settings-from">default</span> : <span class="chip">{origin}</span>,
        },
      ]}
    />
  );
}

function Named({ name }: { name: string }): JSX.Element {
  return (
    <span class="mono small">
      <Breakable text={name} />
    </span>
  );
}

interface Limit {
  name: string;
  value: unknown;
}

function LimitTable({ limits, words }: { limits: Readonly<Record<string, unknown>>; words: string }): JSX.Element {
  const wanted = words.trim().toLowerCase();
  const found = Object.entries(limits).flatMap(([name, value]): Limit[] => (name.toLowerCase().includes(wanted) ? [{ name, value }] : []));
  return (
    <details open={wanted !== '' && found.length > 0}>
      <summary>
        {wanted === '' ? 'Limits that are built in' : formatCount(found.length, 'limit that is built in', 'limits that are built in')}
      </summary>
      <Table<Limit>
        label="Limits"
        rows={found}
        keyOf={({ name }) => name}
        columns={[
          { title: 'Limit', cell: Named },
          {
            title: 'Value',
            isNumber: true,
            cell: ({ name, value }) => (
              <span title={typeof value === 'number' ? formatNumber(value) : undefined}>{shownLimit(name, value)}</span>
            ),
          },
        ]}
      />
    </details>
  );
}

/** The unit is the end of the name. */
function shownLimit(name: string, value: unknown): string {
  if (typeof value !== 'number') return JSON.stringify(value);
  if (name.endsWith('Ms')) return formatDuration(value);
  return name.toLowerCase().endsWith('bytes') ? formatBytes(value) : formatNumber(value);
}

/** Whether everything answers, in a line. */
function State(): JSX.Element | null {
  const query = useQuery('GET /ready', { everyMs: 10_000 });
  if (query.data === undefined) return query.error === undefined ? null : <Problem error={query.error} retry={query.reload} />;
  const { backends, tool_servers: servers } = query.data;
  const silent = [
    ...backends.filter(({ state, optional }) => state !== 'ok' && optional !== true).map(({ name }) => name),
    ...servers.filter(({ state }) => state === 'unreachable').map(({ id }) => id),
  ];
  return (
    <p class="card row settings-state">
      <span class={`chip ${silent.length === 0 ? 'good' : 'warn'}`}>{silent.length === 0 ? 'ready' : 'in trouble'}</span>
      <span class="grow">
        {silent.length === 0
          ? `${formatCount(backends.filter(({ state }) => state === 'ok').length, 'backend')} and ${formatCount(servers.length, 'tool server')}, none in trouble.`
          : `Not as they should be: ${silent.join(', ')}.`}
      </span>
      <Link href="/console/health">Health</Link>
    </p>
  );
}
