import { signal } from '@preact/signals';
import type { AnswerOf } from '../../api/api-types.ts';
import { identity } from '../../api/credential.ts';

export type Invoked = AnswerOf<'POST /api/tools/*'>;

/** A call that was made to try a function, and what came of it. */
export interface TriedCall {
  /** `server/function`. */
  tried: string;
  args: unknown;
  /** When it was made, in milliseconds since 1970. */
  time: number;
  invoked?: Invoked;
  error?: unknown;
}

/** Of one function, so that one can compare. */
const mostOfFunction = 6;
/** Of all functions: results may be long, and stay in memory until the page is loaded again. */
const most = 30;

const kept = signal<{ of: string | undefined; calls: readonly TriedCall[] }>({ of: undefined, calls: [] });

/** The last ones come first. Those that somebody else made in this browser are not shown. */
export function callsOf(tried: string): readonly TriedCall[] {
  return kept.value.of === identity.value ? kept.value.calls.filter((call) => call.tried === tried) : [];
}

export function recordCall(call: TriedCall): void {
  const before = kept.value.of === identity.value ? kept.value.calls : [];
  const same = before.filter(({ tried }) => tried === call.tried);
  const dropped = new Set(same.slice(mostOfFunction - 1));
  kept.value = { of: identity.value, calls: [call, ...before.filter((other) => !dropped.has(other))].slice(0, most) };
}
