import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { announce } from '../parts/toasts.tsx';
import { key } from './key.ts';
import { ApiError } from './request.ts';

export interface Live<Value> {
  /** The last answer. It stays until a newer one arrives. */
  data: Value | undefined;
  /** When it arrived, in milliseconds since 1970. */
  updated: number | undefined;
  /** It answers the previous question, and the answer to the new one is loading. */
  isStale: boolean;
  /** Why the last request failed. */
  error: Error | undefined;
  reload: () => void;
}

interface LiveOptions {
  /** Identifies the request. A new value is requested at once. */
  question: string;
  /** The pause between an answer and the next request. Undefined: no further request. */
  everyMs: number | undefined;
}

const finalStatuses: ReadonlySet<number> = new Set([400, 403, 404]);

/** Data that changes at the gateway. It is requested repeatedly while the page is visible, one request at a time. */
export function useLive<Value>(ask: (signal: AbortSignal) => Promise<Value>, { question, everyMs }: LiveOptions): Live<Value> {
  const request = `${question} ${key.value ?? ''}`;
  const [state, setState] = useState<{ data?: Value; request?: string; updated?: number; error?: Error | undefined }>({});
  const [turn, setTurn] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;

  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLoading = false;
    async function askNow(): Promise<void> {
      clearTimeout(timer);
      if (isLoading) return;
      isLoading = true;
      try {
        const data = await latest.current(abort.signal);
        setState(({ error }) => {
          if (error !== undefined) announce('Reconnected to the gateway');
          return { data, request, updated: Date.now(), error: undefined };
        });
      } catch (error) {
        if (abort.signal.aborted) return;
        setState((before) => ({ ...before, error: error as Error }));
        // The request itself is wrong, so the answer would stay the same.
        if (error instanceof ApiError && finalStatuses.has(error.status)) return;
      }
      isLoading = false;
      if (everyMs !== undefined && !abort.signal.aborted && document.visibilityState === 'visible')
        timer = setTimeout(() => void askNow(), everyMs);
    }
    const onSeen = (): void => {
      if (document.visibilityState !== 'visible') clearTimeout(timer);
      else if (everyMs !== undefined) void askNow();
    };
    document.addEventListener('visibilitychange', onSeen);
    addEventListener('online', onSeen);
    void askNow();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onSeen);
      removeEventListener('online', onSeen);
    };
  }, [request, everyMs, turn]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const { data, updated, error } = state;
  return { data, updated, error, isStale: data !== undefined && state.request !== request, reload };
}
