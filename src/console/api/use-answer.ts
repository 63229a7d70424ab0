import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerOf, Route } from './api-types.ts';
import { identity } from './credential.ts';
import { call } from './request.ts';
import type { CallOptions } from './request.ts';

export interface Asked<Value> {
  /** The last answer; it stays while a newer one is asked for. */
  data: Value | undefined;
  /** Why the last request failed. */
  error: Error | undefined;
  isLoading: boolean;
  reload: () => void;
}

/**
 * The answer of a route for a component: asked for when it appears, when the route, its parameters or the person who asks change, and every `everyMs` while the
 * page can be seen.
 */
export function useAnswer<Name extends Route>(
  route: Name,
  options: Pick<CallOptions<Name>, 'params' | 'query'> & { everyMs?: number } = {},
): Asked<AnswerOf<Name>> {
  const { everyMs, ...asked } = options;
  const question = JSON.stringify([route, asked, identity.value]);
  const [state, setState] = useState<{ data?: AnswerOf<Name>; error?: Error; isLoading: boolean }>({ isLoading: true });
  const [turn, setTurn] = useState(0);
  const last = useRef(question);

  useEffect(() => {
    const abort = new AbortController();
    const isOther = last.current !== question;
    last.current = question;
    setState((before) => (isOther ? { isLoading: true } : { ...before, isLoading: true }));
    call(route, { ...asked, signal: abort.signal }).then(
      (data) => setState({ data, isLoading: false }),
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
