import type { JSX } from 'preact';
import { formatDay, formatNumber, formatShort, formatShortDay } from '../../parts/text/formats.ts';

interface UsageChartProps {
  /** The counted unit, such as `Tokens`. */
  title: string;
  days: readonly string[];
  /** Values by day. Days without a value are missing. */
  values: ReadonlyMap<string, number>;
  isBad?: boolean;
}

const height = 64;

/** A bar for each day. The table below the charts has the same numbers. */
export function UsageChart({ title, days, values, isBad = false }: UsageChartProps): JSX.Element {
  const first = days[0];
  const last = days.at(-1);
  const highest = Math.max(1, ...values.values());
  const total = [...values.values()].reduce((sum, value) => sum + value, 0);
  return (
    <figure class={`card usage-chart${isBad ? ' bad' : ''}`}>
      <figcaption>
        <span>
          <strong>{formatShort(total)}</strong> <span class="soft">{(total === 1 ? title.replace(/s$/, '') : title).toLowerCase()}</span>
        </span>
        {/* The value of the highest bar. */}
        {total > 0 && days.length > 1 && <span class="soft small">up to {formatShort(highest)} per day</span>}
      </figcaption>
      <svg
        viewBox={`0 0 ${Math.max(1, days.length) * 10} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title} by day: ${formatNumber(total)} in ${days.length} days, at most ${formatNumber(total === 0 ? 0 : highest)} in one`}
      >
        {days.map((day, index) => {
          const value = values.get(day) ?? 0;
          const tall = value === 0 ? 1 : Math.max(2, (value / highest) * height);
          return (
            <g key={day}>
              <rect class={value === 0 ? 'none' : 'day'} x={index * 10 + 1} y={height - tall} width="8" height={tall} />
              <rect class="whole" x={index * 10} y="0" width="10" height={height}>
                <title>
                  {formatDay(day)}: {formatNumber(value)}
                </title>
              </rect>
            </g>
          );
        })}
      </svg>
      <div class="usage-axis soft small" aria-hidden="true">
        {first !== undefined && <span>{formatShortDay(first)}</span>}
        {last !== undefined && last !== first && <span>{formatShortDay(last)}</span>}
      </div>
    </figure>
  );
}
