import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../core/callers/caller.ts';
import { limits } from '../core/limits.ts';
import type { EndedCall, EndedRun, Metrics, PassedUse, SpentTokens, ToolUse } from '../core/runs/metrics.ts';
import { personCallerId } from '../core/callers/people.ts';
import { dayOf, type UsageCounts, type UsageStore } from '../core/stores/usage-store.ts';
import { TokensOfDay } from './tokens-of-day.ts';
import { UnsavedUsage } from './unsaved-usage.ts';

/** Counts of this time are written together; a crash loses at most as much. */
const saveDelayMs = 2_000;
/** Rows that are written in one turn of the event loop, which takes a few milliseconds. */
const rowsPerWrite = 250;
const retryDelayMs = 10_000;
const pruneIntervalMs = 60 * 60 * 1_000;
const dayMs = 24 * 60 * 60 * 1_000;
/** Runs that fail so, never reached a model: the name is whatever the client wrote. */
const nameless: ReadonlySet<string | undefined> = new Set(['model_not_found', 'forbidden', 'invalid_request']);

interface UsageCounterOptions {
  store: UsageStore;
  /** Milliseconds since 1970. */
  now: () => number;
  logger: { error(fields: object, message: string): void };
}

/** Counts what callers use. The counting itself writes nothing. */
export interface UsageCounter extends Pick<Metrics, 'countRun' | 'countCall' | 'countToolUse'> {
  countPassed: (use: PassedUse) => void;
  /** Notes that a person was here. */
  notePerson: (caller: Caller) => void;
  /** Tokens of a caller since midnight UTC; for a key with several people, the sum of all of them. */
  tokensToday: (callerId: string) => number;
  /** Reads what was counted today before this process, which limits of tokens a day need. Never rejects. */
  load(): Promise<void>;
  flush: () => Promise<void>;
  /** Saves what is unsaved, and nothing afterwards. */
  close(): Promise<void>;
}

export function createUsageCounter({ store, now, logger }: UsageCounterOptions): UsageCounter {
  const unsaved = new UnsavedUsage(today);
  const tokens = new TokensOfDay(today);
  let timer: NodeJS.Timeout | undefined;
  let saving: Promise<void> = Promise.resolve();
  let isClosed = false;
  let isFaulty = false;
  let prunedAt = Number.NEGATIVE_INFINITY;
  let latestDay = { number: Number.NaN, text: '' };

  /** Written once a day, because every run asks for it several times. */
  function today(): string {
    const time = now();
    const number = Math.floor(time / dayMs);
    if (number !== latestDay.number) latestDay = { number, text: dayOf(time) };
    return latestDay.text;
  }

  function schedule(): void {
    if (timer !== undefined || isClosed) return;
    timer = setTimeout(() => void flush(), isFaulty ? retryDelayMs : saveDelayMs);
    timer.unref();
  }

  function countsOf(caller: Caller, model: string, tool: string): UsageCounts {
    schedule();
    return unsaved.countsOf(caller, model, tool);
  }

  function countSpent(caller: Caller, counts: UsageCounts, { usage, estimated, fallbacks = [] }: SpentTokens): void {
    const tokensIn = (usage?.prompt_tokens ?? 0) + (estimated?.prompt ?? 0);
    const tokensOut = (usage?.completion_tokens ?? 0) + (estimated?.completion ?? 0);
    counts.tokensIn += tokensIn;
    counts.tokensOut += tokensOut;
    tokens.add(caller.id, tokensIn + tokensOut);
    for (const { model, ...spent } of fallbacks) countSpent(caller, countsOf(caller, model, ''), spent);
  }

  async function save(): Promise<void> {
    const taken = unsaved.take();
    if (taken.counts.size === 0 && taken.people.size === 0) return;
    try {
      await saveParts(taken);
      isFaulty = false;
      if (now() - prunedAt < pruneIntervalMs) return;
      prunedAt = now();
      await store.prune(dayOf(now() - limits.usageDays * dayMs), now() - limits.usageDays * dayMs);
    } catch (error) {
      if (!isFaulty) logger.error({ err: error }, 'usage cannot be stored at the moment; it is kept in memory');
      isFaulty = true;
      unsaved.putBack(taken);
      schedule();
    }
  }

  /** Removes the counts that were written. */
  async function saveParts({ counts, people }: ReturnType<UnsavedUsage['take']>): Promise<void> {
    while (counts.size > 0 || people.size > 0) {
      const some = [...counts.entries().take(rowsPerWrite)];
      const seen = [...people.entries().take(rowsPerWrite)];
      await store.add(
        some.map(([, count]) => count),
        seen.map(([, person]) => person),
      );
      for (const [key] of some) counts.delete(key);
      for (const [key] of seen) people.delete(key);
      if (counts.size > 0 || people.size > 0) await nextTurn();
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    saving = saving.then(save);
    return saving;
  }

  return {
    countRun(run: EndedRun) {
      const { caller, outcome, code, isResumed } = run;
      const counts = countsOf(caller, nameless.has(code) ? '' : run.model, '');
      if (!isResumed) counts.requests += 1;
      if (outcome === 'failed') counts.failures += 1;
      counts.toolCalls += run.toolCalls;
      countSpent(caller, counts, run);
    },

    countToolUse({ caller, model, ...spent }: ToolUse) {
      countSpent(caller, countsOf(caller, model, ''), spent);
    },

    countCall({ caller, server, tool, code }: EndedCall) {
      // The client chooses the address of a server that its request brings.
      const isOfRequest = server?.includes('://') === true;
      const counts = countsOf(caller, '', isOfRequest ? 'tool_servers' : `${server ?? 'unknown'}/${server === undefined ? '' : tool}`);
      counts.toolCalls += 1;
      if (code !== undefined) counts.failures += 1;
    },

    countPassed({ caller, model, tokens: read, hasFailed }) {
      // In a failed request, the client may have written any model.
      const counts = countsOf(caller, hasFailed ? '' : model, '');
      counts.requests += 1;
      if (hasFailed) counts.failures += 1;
      counts.tokensIn += read;
      tokens.add(caller.id, read);
    },

    notePerson(caller) {
      if (unsaved.notePerson(caller, now())) schedule();
    },

    tokensToday: (callerId) => tokens.of(callerId),

    async load() {
      const reading = store.readTokens(today(), ({ keyId, personId, tokens: count }) =>
        tokens.add(personId === '' ? keyId : personCallerId(keyId, personId), count),
      );
      // What is counted meanwhile is written afterwards, so that it is not counted again from the store.
      saving = Promise.all([saving, reading]).then(
        () => undefined,
        (error: unknown) =>
          logger.error({ err: error }, 'the token counts of today cannot be read; daily token limits start again from zero'),
      );
      await saving;
    },

    flush,
    async close() {
      await flush();
      isClosed = true;
    },
  };
}
