import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { announce } from '../parts/toasts.tsx';
import { key } from './key.ts';
import { ApiError } from './request.ts';

export interface Live<Value> {
  /** The last answer. It stays while a newer one is asked for, and while the gateway does not answer. */
  data: Value | undefined;
  /** When it came, in milliseconds since 1970. */
  updated: number | undefined;
  /** It answers another question, and the answer to this one is under way. */
  isStale: boolean;
  /** Why the last request failed. */
  error: Error | undefined;
  reload: () => void;
}

interface LiveOptions {
  /** What is asked: another one is asked at once. */
  question: string;
  /** After an answer, until it is asked again; undefined: it is not. */
  everyMs: number | undefined;
}

const finalStatuses: ReadonlySet<number> = new Set([400, 403, 404]);

/** What changes at the gateway, asked for again and again while the page can be seen, and never twice at a time. */
export function useLive<Value>(ask: (signal: AbortSignal) => Promise<Value>, { question, everyMs }: LiveOptions): Live<Value> {
  const asked = `${question} ${key.value ?? ''}`;
  const [state, setState] = useState<{ data?: Value; asked?: string; updated?: number; error?: Error | undefined }>({});
  const [turn, setTurn] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;

  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isUnderWay = false;
    async function askNow(): Promise<void> {
      clearTimeout(timer);
      if (isUnderWay) return;
      isUnderWay = true;
      try {
        const data = await latest.current(abort.signal);
        setState(({ error }) => {
          if (error !== undefined) announce('The gateway answers again');
          return { data, asked, updated: Date.now(), error: undefined };
        });
      } catch (error) {
        if (abort.signal.aborted) return;
        setState((before) => ({ ...before, error: error as Error }));
        // The question itself is wrong: the answer would stay the same.
        if (error instanceof ApiError && finalStatuses.has(error.status)) return;
      }
      isUnderWay = false;
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
  }, [asked, everyMs, turn]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const { data, updated, error } = state;
  return { data, updated, error, isStale: data !== undefined && state.asked !== asked, reload };
}
