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

/** The current settings with their origin, and whether backends and tool servers respond. */
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
              toolwharf {version}. Change settings in the environment or in <code>toolwharf.yaml</code>, then restart the gateway. Secrets
              are never shown.
            </p>
            <SettingTable settings={findSettings(data, words, isAll)} isSearch={words.trim() !== ''} />
            <LimitTable limits={limits} words={words} />
          </>
        )}
      </Loaded>
    </div>
  );
}

/** A search includes defaults. */
function findSettings(settings: readonly Setting[], words: string, isAll: boolean): Setting[] {
  const search = words.trim().toLowerCase();
  if (search === '') return settings.filter(({ origin }) => isAll || origin !== 'default');
  return settings.filter(({ name, value }) => `${name} ${value ?? ''}`.toLowerCase().includes(search));
}

function SettingTable({ settings, isSearch }: { settings: readonly Setting[]; isSearch: boolean }): JSX.Element {
  if (settings.length === 0)
    return <p>{isSearch ? 'No matching settings.' : 'Every setting has its default value. Select “Show defaults” to list them.'}</p>;
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
          title: 'Source',
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
  const search = words.trim().toLowerCase();
  const found = Object.entries(limits).flatMap(([name, value]): Limit[] => (name.toLowerCase().includes(search) ? [{ name, value }] : []));
  return (
    <details open={search !== '' && found.length > 0}>
      <summary>{search === '' ? 'Built-in limits' : formatCount(found.length, 'built-in limit')}</summary>
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

/** The name ends with the unit. */
function shownLimit(name: string, value: unknown): string {
  if (typeof value !== 'number') return JSON.stringify(value);
  if (name.endsWith('Ms')) return formatDuration(value);
  return name.toLowerCase().endsWith('bytes') ? formatBytes(value) : formatNumber(value);
}

/** One line that says whether everything responds. */
function State(): JSX.Element | null {
  const query = useQuery('GET /ready', { everyMs: 10_000 });
  if (query.data === undefined) return query.error === undefined ? null : <Problem error={query.error} retry={query.reload} />;
  const { backends, tool_servers: servers } = query.data;
  const unavailable = [
    ...backends.filter(({ state, optional }) => state !== 'ok' && optional !== true).map(({ name }) => name),
    ...servers.filter(({ state }) => state === 'unreachable').map(({ id }) => id),
  ];
  return (
    <p class="card row settings-state">
      <span class={`chip ${unavailable.length === 0 ? 'good' : 'warn'}`}>{unavailable.length === 0 ? 'ready' : 'problems'}</span>
      <span class="grow">
        {unavailable.length === 0
          ? `${formatCount(backends.filter(({ state }) => state === 'ok').length, 'backend')} and ${formatCount(servers.length, 'tool server')}, all available.`
          : `Unavailable: ${unavailable.join(', ')}`}
      </span>
      <Link href="/console/health">Health</Link>
    </p>
  );
}
