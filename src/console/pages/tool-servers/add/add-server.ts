import { call } from '../../../api/request.ts';
import { showToast } from '../../../parts/toasts.tsx';
import { formatCount } from '../../../parts/text/formats.ts';

/** @returns the id of the new server. @throws ApiError */
export async function addServer(connection: object): Promise<string> {
  const { id, report } = await call('POST /api/tool-servers', { body: connection });
  showToast(report.ok ? `${id} was added with ${formatCount(report.functions.length, 'function')}.` : `${id} was added.`);
  return id;
}

/** The filter of functions that a person has chosen. */
export function filterOf(included: readonly string[], excluded: ReadonlySet<string>): object {
  // The shorter list. A list of exclusions also includes functions that the server adds later.
  const filter = excluded.size === 0 ? [] : included.length < excluded.size ? included : [...excluded].map((name) => `!${name}`);
  return filter.length === 0 ? {} : { config: { function_name_filter_list: filter } };
}
