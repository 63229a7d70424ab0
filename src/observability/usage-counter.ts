import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../core/callers/caller.ts';
import { limits } from '../core/limits.ts';
import type { EndedCall, EndedRun, Metrics, PassedUse, SpentTokens, ToolUse } from '../core/runs/metrics.ts';
import { keyIdOf, personCallerId } from '../core/callers/people.ts';
import { dayOf, sumOf } from '../core/stores/usage-store.ts';
import type { KnownPerson, UsageCounts, UsageStore } from '../core/stores/usage-store.ts';

/** Counts of this time are written together; a crash loses at most as much. */
const saveDelayMs = 2_000;
/** Rows that are written in one turn of the event loop, which takes a few milliseconds. */
const rowsPerWrite = 250;
const retryDelayMs = 10_000;
const pruneIntervalMs = 60 * 60 * 1_000;
const dayMs = 24 * 60 * 60 * 1_000;
/** A caller can invent ids of people, and so rows: beyond this number, the use of a key in a day is no longer counted by person. */
const rowsOfKeyPerDay = 20_000;
/** People of one key whose tokens of today are remembered; beyond it those of the least recently active one are forgotten. */
const peopleOfKey = 50_000;
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
  let unsaved = new Map<string, UsageCounts>();
  let people = new Map<string, KnownPerson>();
  let tokens = { day: '', ofKeys: new Map<string, TokensOfKey>() };
  const mayHaveRow = namesOfDay();
  const mayBeNoted = namesOfDay();
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
    const day = today();
    const keyId = keyIdOf(caller.id);
    const personId = caller.person?.id ?? '';
    const known = unsaved.get(rowKey(day, keyId, { personId, model, tool }));
    if (known !== undefined) return known;
    const isCountedAlone = mayHaveRow(day, keyId, JSON.stringify([personId, model, tool]));
    const row = isCountedAlone ? { personId, model, tool } : { personId: '', model: '', tool: tool && 'others' };
    const key = rowKey(day, keyId, row);
    const counts = unsaved.get(key) ?? { day, keyId, ...row, requests: 0, tokensIn: 0, tokensOut: 0, toolCalls: 0, failures: 0 };
    unsaved.set(key, counts);
    schedule();
    return counts;
  }

  function addTokens(callerId: string, count: number): void {
    const day = today();
    if (tokens.day !== day) tokens = { day, ofKeys: new Map() };
    if (count === 0) return;
    const keyId = keyIdOf(callerId);
    const ofKey = tokens.ofKeys.get(keyId) ?? { all: 0, people: new Map<string, number>() };
    tokens.ofKeys.set(keyId, ofKey);
    ofKey.all += count;
    if (callerId === keyId) return;
    const before = ofKey.people.get(callerId) ?? 0;
    // To the end, so that the first is the least recently active one.
    ofKey.people.delete(callerId);
    ofKey.people.set(callerId, before + count);
    const [quietest] = ofKey.people.keys();
    if (ofKey.people.size > peopleOfKey && quietest !== undefined) ofKey.people.delete(quietest);
  }

  function countSpent(caller: Caller, counts: UsageCounts, { usage, estimated }: SpentTokens): void {
    const tokensIn = (usage?.prompt_tokens ?? 0) + (estimated?.prompt ?? 0);
    const tokensOut = (usage?.completion_tokens ?? 0) + (estimated?.completion ?? 0);
    counts.tokensIn += tokensIn;
    counts.tokensOut += tokensOut;
    addTokens(caller.id, tokensIn + tokensOut);
  }

  async function save(): Promise<void> {
    const [counts, noted] = [unsaved, people];
    if (counts.size === 0 && noted.size === 0) return;
    unsaved = new Map();
    people = new Map();
    try {
      await saveParts(counts, noted);
      isFaulty = false;
      if (now() - prunedAt < pruneIntervalMs) return;
      prunedAt = now();
      await store.prune(dayOf(now() - limits.usageDays * dayMs), now() - limits.usageDays * dayMs);
    } catch (error) {
      if (!isFaulty) logger.error({ err: error }, 'usage cannot be stored at the moment; it is kept in memory');
      isFaulty = true;
      restore(counts, noted);
      schedule();
    }
  }

  /** Removes the counts that were written. */
  async function saveParts(counts: Map<string, UsageCounts>, noted: Map<string, KnownPerson>): Promise<void> {
    while (counts.size > 0 || noted.size > 0) {
      const some = [...counts.entries().take(rowsPerWrite)];
      const seen = [...noted.entries().take(rowsPerWrite)];
      await store.add(
        some.map(([, count]) => count),
        seen.map(([, person]) => person),
      );
      for (const [key] of some) counts.delete(key);
      for (const [key] of seen) noted.delete(key);
      if (counts.size > 0 || noted.size > 0) await nextTurn();
    }
  }

  /** Adds the counts that could not be written to those counted meanwhile. */
  function restore(counts: ReadonlyMap<string, UsageCounts>, noted: ReadonlyMap<string, KnownPerson>): void {
    for (const [key, count] of counts) {
      const later = unsaved.get(key);
      unsaved.set(key, later === undefined ? count : sumOf(count, later));
    }
    people = new Map([...noted, ...people]);
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
      addTokens(caller.id, read);
    },

    notePerson({ id, person }) {
      if (person === undefined) return;
      const keyId = keyIdOf(id);
      if (!mayBeNoted(today(), keyId, person.id)) return;
      people.set(id, { ...person, keyId, last: now() });
      schedule();
    },

    tokensToday(callerId) {
      const ofKey = tokens.day === today() ? tokens.ofKeys.get(keyIdOf(callerId)) : undefined;
      return (callerId === keyIdOf(callerId) ? ofKey?.all : ofKey?.people.get(callerId)) ?? 0;
    },

    async load() {
      try {
        const day = today();
        for (const { keyId, personId, tokens: count } of await store.tokensOf(day))
          addTokens(personId === '' ? keyId : personCallerId(keyId, personId), count);
      } catch (error) {
        logger.error({ err: error }, 'the tokens of today cannot be read; limits of tokens a day begin anew');
      }
    },

    flush,
    async close() {
      await flush();
      isClosed = true;
    },
  };
}

function rowKey(day: string, keyId: string, { personId, model, tool }: Pick<UsageCounts, 'personId' | 'model' | 'tool'>): string {
  return JSON.stringify([day, keyId, personId, model, tool]);
}

/** Remembers so many names of each key in a day, and says whether a name is one of them. */
function namesOfDay(): (day: string, keyId: string, name: string) => boolean {
  let names = { day: '', of: new Map<string, Set<string>>() };
  return (day, keyId, name) => {
    if (names.day !== day) names = { day, of: new Map() };
    const ofKey = names.of.get(keyId) ?? new Set();
    names.of.set(keyId, ofKey);
    if (ofKey.has(name)) return true;
    if (ofKey.size >= rowsOfKeyPerDay) return false;
    ofKey.add(name);
    return true;
  };
}

interface TokensOfKey {
  all: number;
  /** By their ids as callers. */
  people: Map<string, number>;
}
