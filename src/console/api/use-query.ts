import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerOf, Route } from './api-types.ts';
import { identity } from './credential.ts';
import { call } from './request.ts';
import type { CallOptions } from './request.ts';

export interface Query<Value> {
  /** The last answer; it stays while a newer one is asked for. */
  data: Value | undefined;
  /** Why the last request failed. */
  error: Error | undefined;
  isLoading: boolean;
  reload: () => void;
}

/** Last answers, by what was asked and by whom. */
const kept = new Map<string, unknown>();
/** The oldest goes: people who sign in by turns. */
const maxKept = 20;

/**
 * The answer of a route for a component: asked for when it appears, when the route, its parameters or the person who asks change, and every `everyMs` while the
 * page can be seen. `isKept`: a component that appears anew begins with the last answer, so that a page does not jump while it is asked for again.
 */
export function useQuery<Name extends Route>(
  route: Name,
  options: Pick<CallOptions<Name>, 'params' | 'query'> & { everyMs?: number; isKept?: true } = {},
): Query<AnswerOf<Name>> {
  const { everyMs, isKept, ...asked } = options;
  const question = JSON.stringify([route, asked, identity.value]);
  const [state, setState] = useState<{ data?: AnswerOf<Name>; error?: Error; isLoading: boolean }>(() => ({
    ...(isKept === true && kept.has(question) && { data: kept.get(question) as AnswerOf<Name> }),
    isLoading: true,
  }));
  const [turn, setTurn] = useState(0);
  const last = useRef(question);

  useEffect(() => {
    const abort = new AbortController();
    const isOther = last.current !== question;
    last.current = question;
    setState((before) => (isOther ? { isLoading: true } : { ...before, isLoading: true }));
    call(route, { ...asked, signal: abort.signal }).then(
      (data) => {
        if (isKept === true) keep(question, data);
        setState({ data, isLoading: false });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setState((before) => ({ ...before, error: error as Error, isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [question, turn]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);

  return { data: state.data, error: state.error, isLoading: state.isLoading, reload };
}

function keep(question: string, data: unknown): void {
  kept.delete(question);
  kept.set(question, data);
  for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest);
}
