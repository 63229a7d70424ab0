import type { AnswerOf } from '../../api/api-types.ts';

export type UsageRow = AnswerOf<'GET /api/usage'>['data'][number];

export const dimensions = ['model', 'key', 'user', 'tool'] as const;
export type Dimension = (typeof dimensions)[number];

/** The usage of one model, key, person or tool over all days, or of everything on one day. */
export interface Sum {
  name: string;
  requests: number;
  tokensIn: number;
  tokensOut: number;
  calls: number;
  failures: number;
}

/** The id that identifies a row. A person's id is only unique within their key. */
export function idOf({ key = '', user, model, tool }: UsageRow, by: Dimension): string {
  if (by === 'model') return model ?? '';
  if (by === 'tool') return tool ?? '';
  return by === 'key' || user === undefined || user === null ? key : `${key}/${user}`;
}

/** Adds up the rows with the same name, largest sum first. */
export function sumBy(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): Sum[] {
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

/** Every day from the first to the last, inclusive. Empty if they are in the wrong order. */
export function daysOf(from: string, to: string): string[] {
  const count = Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
  return Array.from({ length: Math.max(0, count || 0) }, (_, index) => dayAgo(-index, Date.parse(from)));
}
