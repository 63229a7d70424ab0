import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../api/api-types.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { formatDate, formatNumber, formatShort } from '../../parts/formats.ts';
import { Answered, Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';

type Row = AnswerOf<'GET /api/usage'>['data'][number];

const dimensions = ['model', 'key', 'user', 'tool'] as const;
type Dimension = (typeof dimensions)[number];
const spans = [7, 30, 90] as const;
const dayMs = 86_400_000;

/** What was used, by day. */
export function UsagePage(): JSX.Element {
  const [by, setBy] = useState<Dimension>('model');
  const [days, setDays] = useState<number>(30);
  const from = new Date(Date.now() - (days - 1) * dayMs).toISOString().slice(0, 10);
  const asked = useAnswer('GET /api/usage', { query: { by, from } });
  return (
    <div class="page usage">
      <header>
        <h1>Usage</h1>
        <label>
          <span class="unseen">By</span>
          <select value={by} onChange={(event) => setBy(event.currentTarget.value as Dimension)}>
            {dimensions.map((name) => (
              <option key={name} value={name}>
                by {name === 'user' ? 'person' : name}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="unseen">Days</span>
          <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {spans.map((count) => (
              <option key={count} value={count}>
                {count} days
              </option>
            ))}
          </select>
        </label>
      </header>
      <Answered asked={asked}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="chart" title="Nothing was used yet">
              <p>Requests, tokens and calls are counted by day, and kept for 90 days.</p>
            </Empty>
          ) : (
            <>
              <div class="usage-charts">
                <Chart
                  title={by === 'tool' ? 'Calls' : 'Tokens'}
                  rows={data}
                  days={days}
                  valueOf={(row) => (by === 'tool' ? row.tool_calls : row.tokens_in + row.tokens_out)}
                />
                <Chart
                  title={by === 'tool' ? 'Failures' : 'Requests'}
                  rows={data}
                  days={days}
                  valueOf={(row) => (by === 'tool' ? row.failures : row.requests)}
                />
              </div>
              <Sums rows={data} by={by} />
            </>
          )
        }
      </Answered>
    </div>
  );
}

function Chart({
  title,
  rows,
  days,
  valueOf,
}: {
  title: string;
  rows: readonly Row[];
  days: number;
  valueOf: (row: Row) => number;
}): JSX.Element {
  const names = Array.from({ length: days }, (_, index) => new Date(Date.now() - (days - 1 - index) * dayMs).toISOString().slice(0, 10));
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(row.day, (sums.get(row.day) ?? 0) + valueOf(row));
  const highest = Math.max(1, ...sums.values());
  const total = [...sums.values()].reduce((sum, value) => sum + value, 0);
  const height = 64;
  return (
    <figure class="card usage-chart">
      <figcaption>
        <strong>{formatShort(total)}</strong> <span class="soft">{title.toLowerCase()}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${days * 10} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title} by day, ${formatNumber(total)} in ${days} days`}
      >
        {names.map((day, index) => {
          const value = sums.get(day) ?? 0;
          const tall = value === 0 ? 1 : Math.max(2, (value / highest) * height);
          return (
            <rect key={day} class={value === 0 ? 'none' : undefined} x={index * 10 + 1} y={height - tall} width="8" height={tall}>
              <title>
                {formatDate(day)}: {formatNumber(value)}
              </title>
            </rect>
          );
        })}
      </svg>
    </figure>
  );
}

interface Sum {
  name: string;
  requests: number;
  tokensIn: number;
  tokensOut: number;
  calls: number;
  failures: number;
}

function Sums({ rows, by }: { rows: readonly Row[]; by: Dimension }): JSX.Element {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    const name = nameIn(row, by);
    const sum = sums.get(name) ?? { name, requests: 0, tokensIn: 0, tokensOut: 0, calls: 0, failures: 0 };
    sum.requests += row.requests;
    sum.tokensIn += row.tokens_in;
    sum.tokensOut += row.tokens_out;
    sum.calls += row.tool_calls;
    sum.failures += row.failures;
    sums.set(name, sum);
  }
  const listed = [...sums.values()].toSorted(
    (one, other) => other.tokensIn + other.tokensOut + other.calls - (one.tokensIn + one.tokensOut + one.calls),
  );
  return (
    <Table<Sum>
      label="Usage"
      rows={listed}
      keyOf={({ name }) => name}
      columns={[
        { title: by === 'user' ? 'Person' : `${by.charAt(0).toUpperCase()}${by.slice(1)}`, cell: ({ name }) => name },
        ...(by === 'tool'
          ? []
          : [
              { title: 'Requests', isNumber: true, cell: ({ requests }: Sum) => formatNumber(requests) },
              { title: 'Tokens in', isNumber: true, cell: ({ tokensIn }: Sum) => formatNumber(tokensIn) },
              { title: 'Tokens out', isNumber: true, cell: ({ tokensOut }: Sum) => formatNumber(tokensOut) },
            ]),
        { title: 'Calls', isNumber: true, isMinor: by !== 'tool', cell: ({ calls }) => formatNumber(calls) },
        { title: 'Failures', isNumber: true, isMinor: true, cell: ({ failures }) => formatNumber(failures) },
      ]}
    />
  );
}

function nameIn({ key = '', user, model, tool }: Row, by: Dimension): string {
  if (by === 'model') return model ?? 'none';
  if (by === 'tool') return tool ?? '';
  return by === 'key' ? key : (user ?? key);
}
