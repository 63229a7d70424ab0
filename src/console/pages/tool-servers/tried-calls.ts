import { signal } from '@preact/signals';
import type { AnswerOf } from '../../api/api-types.ts';
import { identity } from '../../api/credential.ts';

export type Invoked = AnswerOf<'POST /api/tools/*'>;

/** A call that was made to try a function, with its outcome. */
export interface TriedCall {
  /** `server/function`. */
  tried: string;
  args: unknown;
  /** When it started, in milliseconds since 1970. */
  time: number;
  invoked?: Invoked;
  error?: unknown;
}

/** Calls of one function, for comparison. */
const maxPerFunction = 6;
/** Calls of all functions. Results may be long, and stay in memory until the page is reloaded. */
const maxCalls = 30;

const recorded = signal<{ caller: string | undefined; calls: readonly TriedCall[] }>({ caller: undefined, calls: [] });

/** The newest first. Calls that another caller made in this browser are not included. */
export function callsOf(tried: string): readonly TriedCall[] {
  return recorded.value.caller === identity.value ? recorded.value.calls.filter((call) => call.tried === tried) : [];
}

export function recordCall(call: TriedCall): void {
  const before = recorded.value.caller === identity.value ? recorded.value.calls : [];
  const same = before.filter(({ tried }) => tried === call.tried);
  const dropped = new Set(same.slice(maxPerFunction - 1));
  recorded.value = { caller: identity.value, calls: [call, ...before.filter((other) => !dropped.has(other))].slice(0, maxCalls) };
}
