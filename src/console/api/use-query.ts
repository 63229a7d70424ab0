import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerOf, Route } from './api-types.ts';
import { identity } from './credential.ts';
import { call, type CallOptions } from './request.ts';

export interface Query<Value> {
  /** The last answer. It stays until a newer one arrives. */
  data: Value | undefined;
  /** Why the last request failed. */
  error: Error | undefined;
  isLoading: boolean;
  reload: () => void;
}

/** The last answers, by request and caller. */
const cache = new Map<string, unknown>();
/** Beyond this many, the oldest is removed. */
const maxCached = 20;

/**
 * The answer of a route for a component. It is requested when the component appears, when the route, its parameters or the caller change, and every `everyMs`
 * while the page is visible. `isSkipped`: nothing is requested, because this caller may not read it. `isCached`: the component starts with the last answer, so that the page does not jump while a new one is loading.
 */
export function useQuery<Name extends Route>(
  route: Name,
  options: Pick<CallOptions<Name>, 'params' | 'query'> & { everyMs?: number; isCached?: true; isSkipped?: boolean } = {},
): Query<AnswerOf<Name>> {
  const { everyMs, isCached, isSkipped = false, ...params } = options;
  const request = JSON.stringify([route, params, identity.value]);
  const [state, setState] = useState<{ data?: AnswerOf<Name>; error?: Error; isLoading: boolean }>(() => ({
    ...(isCached === true && cache.has(request) && { data: cache.get(request) as AnswerOf<Name> }),
    isLoading: true,
  }));
  const [turn, setTurn] = useState(0);
  const last = useRef(request);

  useEffect(() => {
    if (isSkipped) return undefined;
    const abort = new AbortController();
    const isOther = last.current !== request;
    last.current = request;
    setState((before) => (isOther ? { isLoading: true } : { ...before, isLoading: true }));
    call(route, { ...params, signal: abort.signal }).then(
      (data) => {
        if (isCached === true) store(request, data);
        setState({ data, isLoading: false });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setState((before) => ({ ...before, error: error as Error, isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [request, turn, isSkipped]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);

  return { data: state.data, error: state.error, isLoading: state.isLoading, reload };
}

function store(request: string, data: unknown): void {
  cache.delete(request);
  cache.set(request, data);
  for (const oldest of cache.keys()) if (cache.size > maxCached) cache.delete(oldest);
}
