import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { mayAdminister } from '../../api/access.ts';
import { useQuery } from '../../api/use-query.ts';
import { Breakable } from '../../parts/text/breakable.tsx';
import { formatDay, formatNumber } from '../../parts/text/formats.ts';
import { Button } from '../../parts/button.tsx';
import { saveFile, toCsv } from '../../parts/text/csv.ts';
import { Loaded, Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import type { Column } from '../../parts/table.tsx';
import { UsageChart } from './usage-chart.tsx';
import { dayAgo, daysOf, dimensions, idOf, sumBy } from './usage-sums.ts';
import type { Dimension, Sum, UsageRow } from './usage-sums.ts';

const plurals: Record<Dimension, string> = { model: 'models', key: 'keys', user: 'people', tool: 'tools' };
const spans = [7, 30, 90] as const;
const labels: Record<Dimension, string> = { model: 'Model', key: 'Key', user: 'Person', tool: 'Tool' };

/** Usage by day. */
export function UsagePage(): JSX.Element {
  const [by, setBy] = useState<Dimension>('model');
  const [range, setRange] = useState({ from: dayAgo(29), to: dayAgo(0) });
  const [only, setOnly] = useState('');
  const query = useQuery('GET /api/usage', { query: { by, ...range } });
  const nameOf = useNames(by);
  return (
    <div class="page usage">
      <header>
        <h1>Usage</h1>
        <Button
          icon="download"
          isDisabled={query.data === undefined || query.data.data.length === 0}
          onClick={() => saveFile(`usage-by-${by}-${range.from}-${range.to}.csv`, toTable(query.data?.data ?? [], by, nameOf))}
        >
          Export CSV
        </Button>
      </header>
      <div class="row usage-filters">
        <RangeFields range={range} onChange={setRange} />
        <select
          aria-label="Group by"
          value={by}
          onChange={(event) => {
            setBy(event.currentTarget.value as Dimension);
            setOnly('');
          }}
        >
          {dimensions.map((name) => (
            <option key={name} value={name}>
              by {labels[name].toLowerCase()}
            </option>
          ))}
        </select>
        {query.data !== undefined && <OnlyOne rows={query.data.data} by={by} nameOf={nameOf} only={only} onOnly={setOnly} />}
      </div>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="chart" title="No usage in this period">
              <p>Requests, tokens and calls are counted per day and kept for 90 days.</p>
            </Empty>
          ) : (
            <Report rows={data} by={by} days={daysOf(range.from, range.to)} nameOf={nameOf} only={only} />
          )
        }
      </Loaded>
    </div>
  );
}

interface Range {
  from: string;
  to: string;
}

function RangeFields({ range, onChange }: { range: Range; onChange: (range: Range) => void }): JSX.Element {
  const [isCustom, setCustom] = useState(false);
  const span = spans.find((count) => range.from === dayAgo(count - 1) && range.to === dayAgo(0));
  return (
    <>
      <select
        aria-label="Period"
        value={isCustom || span === undefined ? '' : span}
        onChange={({ currentTarget: { value } }) => {
          setCustom(value === '');
          if (value !== '') onChange({ from: dayAgo(Number(value) - 1), to: dayAgo(0) });
        }}
      >
        {spans.map((count) => (
          <option key={count} value={count}>
            Last {count} days
          </option>
        ))}
        <option value="">Custom…</option>
      </select>
      {isCustom && (
        <>
          {(['from', 'to'] as const).map((end) => (
            <input
              key={end}
              aria-label={end === 'from' ? 'First day' : 'Last day'}
              type="date"
              required
              min={dayAgo(90)}
              max={dayAgo(0)}
              value={range[end]}
              onChange={({ currentTarget: { value, validity } }) => validity.valid && onChange({ ...range, [end]: value })}
            />
          ))}
        </>
      )}
    </>
  );
}

/** Replaces the ids of keys and people by names, if this key may read them. */
function useNames(by: Dimension): (row: UsageRow) => string {
  const isSkipped = mayAdminister.value !== true;
  const keys = useQuery('GET /api/keys', { isSkipped }).data?.data ?? [];
  const people = useQuery('GET /api/users', { isSkipped }).data?.data ?? [];
  const nameOfKey = (id: string): string => {
    if (id === 'local') return 'without a key';
    return keys.find((key) => key.id === id)?.name ?? (id.startsWith('oidc_') ? 'OpenID' : id);
  };
  return (row) => {
    const { key = '', user } = row;
    if (by === 'model') return row.model ?? 'no model';
    if (by === 'tool') return row.tool ?? '';
    if (by === 'key' || user === undefined || user === null) return nameOfKey(key);
    return people.find((person) => person.key === key && person.id === user)?.name ?? user;
  };
}

function toTable(rows: readonly UsageRow[], by: Dimension, nameOf: (row: UsageRow) => string): string {
  const head = ['Day', labels[by], 'ID', 'Requests', 'Tokens in', 'Tokens out', 'Tool calls', 'Failures'];
  return toCsv(
    head,
    rows.map((row) => [row.day, nameOf(row), idOf(row, by), row.requests, row.tokens_in, row.tokens_out, row.tool_calls, row.failures]),
  );
}

interface RowsProps {
  rows: readonly UsageRow[];
  by: Dimension;
  nameOf: (row: UsageRow) => string;
  /** The id of the model, key and so on that the charts show. Empty: all. */
  only: string;
}

function OnlyOne({ rows, by, nameOf, only, onOnly }: RowsProps & { onOnly: (id: string) => void }): JSX.Element | null {
  const names = new Map(rows.map((row) => [idOf(row, by), nameOf(row)]));
  if (names.size < 2) return null;
  return (
    <select aria-label="Show" value={only} onChange={(event) => onOnly(event.currentTarget.value)}>
      <option value="">All {plurals[by]}</option>
      {[...names].map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

function Report({ rows, by, days, nameOf, only }: RowsProps & { days: readonly string[] }): JSX.Element {
  const sums = sumBy(rows, (row) => idOf(row, by));
  const names = new Map(rows.map((row) => [idOf(row, by), nameOf(row)]));
  const shown = only === '' ? rows : rows.filter((row) => idOf(row, by) === only);
  const ofDays = sumBy(shown, ({ day }) => day).toSorted((one, other) => other.name.localeCompare(one.name));
  const chart = (title: string, valueOf: (sum: Sum) => number, isBad = false): JSX.Element => (
    <UsageChart title={title} days={days} values={new Map(ofDays.map((sum) => [sum.name, valueOf(sum)]))} isBad={isBad} />
  );
  return (
    <>
      <div class="usage-charts">
        {by !== 'tool' && chart('Tokens', ({ tokensIn, tokensOut }) => tokensIn + tokensOut)}
        {by !== 'tool' && chart('Requests', ({ requests }) => requests)}
        {chart('Tool calls', ({ calls }) => calls)}
        {by === 'tool' && chart('Failures', ({ failures }) => failures, true)}
      </div>
      <Table<Sum>
        label={`Usage by ${labels[by].toLowerCase()}`}
        rows={sums}
        keyOf={({ name }) => name}
        columns={[{ title: labels[by], cell: ({ name: id }) => <Breakable text={names.get(id) ?? id} /> }, ...counts(by)]}
      />
      <details>
        <summary>By day (UTC)</summary>
        <Table<Sum>
          label="Usage by day"
          rows={ofDays}
          keyOf={({ name }) => name}
          columns={[{ title: 'Day', cell: ({ name: day }) => formatDay(day) }, ...counts(by)]}
        />
      </details>
    </>
  );
}

function counts(by: Dimension): Column<Sum>[] {
  const ofTools: Column<Sum>[] = [
    { title: 'Calls', isNumber: true, isBelow: by !== 'tool', cell: ({ calls }) => formatNumber(calls) },
    {
      title: 'Failures',
      isNumber: true,
      isBelow: by !== 'tool',
      cell: ({ failures }) => <span class={failures > 0 ? 'bad' : undefined}>{formatNumber(failures)}</span>,
    },
  ];
  if (by === 'tool') return ofTools;
  return [
    { title: 'Requests', isNumber: true, cell: ({ requests }) => formatNumber(requests) },
    { title: 'Tokens in', isNumber: true, cell: ({ tokensIn }) => formatNumber(tokensIn) },
    { title: 'Tokens out', isNumber: true, cell: ({ tokensOut }) => formatNumber(tokensOut) },
    ...ofTools,
  ];
}
