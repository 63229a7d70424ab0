/** The filters of the run list: the parameters of `GET /api/runs`, and a period that ends now. All of them are in the page's URL. */
export const filterNames = ['status', 'period', 'errors', 'model', 'tool', 'server', 'caller', 'id'] as const;
export type FilterName = (typeof filterNames)[number];
export type Filters = Readonly<Partial<Record<FilterName | 'after', string>>>;

export const periods: Readonly<Record<string, { words: string; ms: number }>> = {
  '5m': { words: 'Last 5 minutes', ms: 5 * 60_000 },
  '15m': { words: 'Last 15 minutes', ms: 15 * 60_000 },
  '1h': { words: 'Last hour', ms: 60 * 60_000 },
  '6h': { words: 'Last 6 hours', ms: 6 * 60 * 60_000 },
};

/** The URL of the list when it was last visible, for the way back. */
export const listAddress = { current: '/console/runs' };

const runsPerPage = 50;

export function readFilters(address: URLSearchParams): Filters {
  const entries = [...filterNames, 'after' as const].map((name): [string, string] => [name, address.get(name) ?? '']);
  return Object.fromEntries(entries.filter(([, value]) => value !== ''));
}

/** The URL with one filter changed, at the first page. */
export function withFilter(address: URLSearchParams, name: FilterName | 'after', value: string): URLSearchParams {
  const next = new URLSearchParams(address);
  next.delete('after');
  if (value === '') next.delete(name);
  else next.set(name, value);
  return next;
}

export function withoutFilters(address: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(address);
  for (const name of [...filterNames, 'after']) next.delete(name);
  return next;
}

export function toQuery({ period = '', ...others }: Filters, now: number): Record<string, string | number | undefined> {
  const { ms } = periods[period] ?? {};
  return { limit: runsPerPage, ...others, from: ms === undefined ? undefined : new Date(now - ms).toISOString() };
}
