import { z } from 'zod';
import { invalidField } from '../../core/errors.ts';
import { pageLimit } from './page-limit.ts';

/** Without `limit`, the whole list is one page. `after`: the `next` of the page before. */
export const listQuery = z.object({ limit: pageLimit().optional(), after: z.string().optional() });
export type ListQuery = z.infer<typeof listQuery>;

export const listQueryFields = { limit: 'Default: all, as one page.', after: 'The `next` of the page before.' };
/** In the answer to a query with `limit`. */
export const nextShape = z.string().nullable().optional().describe('With `limit`: for `after`; null on the last page.');

/** `next`: the id of the last entry of the page; null on the last page. @throws GatewayError `invalid_request` for an `after` that is not in the list */
export function pageOf(
  entries: readonly { id: string }[],
  { limit = entries.length, after }: ListQuery,
  kind: string,
): { from: number; to: number; next: string | null } {
  const from = after === undefined ? 0 : entries.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && from === 0) throw invalidField('after', `this ${kind} is no longer in the list. List from the beginning.`);
  const to = Math.min(from + limit, entries.length);
  return { from, to, next: to < entries.length ? (entries[to - 1]?.id ?? null) : null };
}

/** The entries of a page, and `next` for the answer if the query asks for pages. */
export function pageIn<Entry extends { id: string }>(
  entries: readonly Entry[],
  query: ListQuery,
  kind: string,
): { entries: readonly Entry[]; next: { next?: string | null } } {
  const { from, to, next } = pageOf(entries, query, kind);
  return { entries: entries.slice(from, to), next: query.limit === undefined ? {} : { next } };
}
