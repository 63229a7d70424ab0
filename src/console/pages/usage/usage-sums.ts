import type { AnswerOf } from '../../api/api-types.ts';

export type Row = AnswerOf<'GET /api/usage'>['data'][number];

export const dimensions = ['model', 'key', 'user', 'tool'] as const;
export type Dimension = (typeof dimensions)[number];

/** What a model, key, person or tool used in all days together, or everything in one day. */
export interface Sum {
  name: string;
  requests: number;
  tokensIn: number;
  tokensOut: number;
  calls: number;
  failures: number;
}

/** The id by which rows are told apart. A person's id is unique behind their key only. */
export function idOf({ key = '', user, model, tool }: Row, by: Dimension): string {
  if (by === 'model') return model ?? '';
  if (by === 'tool') return tool ?? '';
  return by === 'key' || user === undefined || user === null ? key : `${key}/${user}`;
}

/** Of the rows with one name, the whole. The first is the largest. */
export function sumBy(rows: readonly Row[], nameOf: (row: Row) => string): Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    const name = nameOf(row);
    const sum = sums.get(name) ?? { name, requests: 0, tokensIn: 0, tokensOut: 0, calls: 0, failures: 0 };
    sums.set(name, {
      name,
      requests: sum.requests + row.requests,
      tokensIn: sum.tokensIn + row.tokens_in,
      tokensOut: sum.tokensOut + row.tokens_out,
      calls: sum.calls + row.tool_calls,
      failures: sum.failures + row.failures,
    });
  }
  const sizeOf = ({ tokensIn, tokensOut, calls, requests }: Sum): number => tokensIn + tokensOut + calls + requests;
  return [...sums.values()].toSorted((one, other) => sizeOf(other) - sizeOf(one));
}

const dayMs = 86_400_000;

/** `2026-11-23`, in UTC. */
export function dayAgo(days: number, now = Date.now()): string {
  return new Date(now - days * dayMs).toISOString().slice(0, 10);
}

/** Every day from one to the other, both included; none where they are the wrong way round. */
export function daysOf(from: string, to: string): string[] {
  const count = Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
  return Array.from({ length: Math.max(0, count || 0) }, (_, index) => dayAgo(-index, Date.parse(from)));
}
