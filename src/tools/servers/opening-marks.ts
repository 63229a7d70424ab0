import { createHash } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Registry, ToolServerRecord } from '../../core/stores/registry.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';
import type { Opening } from '../definitions/opened-server.ts';

/** After as many unclean ends in a row, the servers that were being opened are suspects. One may be a power cut, or an impatient operator. */
const endsUntilSuspect = 2;
/** How long a server that ended the gateway is skipped. */
export const skippedMs = 60 * 60 * 1000;
/** How long a server that was skipped is remembered: it may have been removed. */
const forgottenMs = 24 * skippedMs;
/** Data from a server may end the process a moment after it was opened. */
const settlingMs = 2_000;
const factName = 'tool servers that are being opened';

type Facts = Pick<Registry, 'readFact' | 'writeFact'>;

/**
 * Notes in the database which registered servers are being opened, so that none can keep the gateway from starting: after two unclean ends, those that
 * were noted are opened one by one and after all others, and one during whose opening the gateway ended again is skipped for an hour.
 */
export interface OpeningMarks {
  /** Opens a server, or skips it. `isAsked`: an administrator wants it opened, even if it is skipped. */
  open(record: ToolServerRecord, isAsked: boolean, work: () => Promise<Opening>): Promise<Opening>;
  /** Those of these that are opened after all others. */
  suspectsAmong(records: readonly ToolServerRecord[]): Promise<ReadonlySet<ToolServerRecord>>;
  /** The gateway ends as it should. */
  close(): Promise<void>;
}

/** The stored notes. Servers are named by `keyOf`. */
interface Noted {
  /** Unclean ends in a row during which servers were being opened. */
  ends: number;
  opening: Set<string>;
  suspects: Set<string>;
  /** Until when, in milliseconds since 1970. */
  skipped: Map<string, number>;
}

interface RunningMark {
  openings: number;
  written: Promise<void>;
  settled: PromiseWithResolvers<void>;
}

/** `now`: milliseconds since 1970. */
export function createOpeningMarks({
  facts,
  now,
  settleMs = settlingMs,
}: {
  facts: Facts;
  now: () => number;
  settleMs?: number;
}): OpeningMarks {
  let isClosed = false;
  let loading: Promise<Noted> | undefined;
  /** Until their marks are removed. A server that says often that it has changed is written once. */
  const running = new Map<string, RunningMark>();
  let lastSuspect: Promise<void> = Promise.resolve();
  let lastWrite: Promise<void> = Promise.resolve();
  let nextWrite: Promise<void> | undefined;

  function load(): Promise<Noted> {
    loading ??= facts
      .readFact(factName)
      .catch(() => undefined)
      .then((fact) => {
        const before = parseNoted(fact);
        const noted = afterStart(before, now());
        // So that the doctor sees what is skipped.
        if (before.opening.size > 0) void save(noted);
        return noted;
      });
    return loading;
  }

  /** Resolves when the present state is on the disk. A database that cannot be written keeps no server from being opened. */
  function save(noted: Noted): Promise<void> {
    nextWrite ??= lastWrite.then(() => {
      nextWrite = undefined;
      lastWrite = isClosed ? Promise.resolve() : facts.writeFact(factName, toFact(noted)).catch(() => undefined);
      return lastWrite;
    });
    return nextWrite;
  }

  async function openMarked(noted: Noted, key: string, work: () => Promise<Opening>): Promise<Opening> {
    noted.opening.add(key);
    const mark = running.get(key) ?? { openings: 0, written: save(noted), settled: Promise.withResolvers<void>() };
    running.set(key, mark);
    mark.openings += 1;
    await mark.written;
    const wasSuspect = noted.suspects.has(key);
    try {
      return await work();
    } finally {
      setTimeout(() => {
        if (wasSuspect) noted.suspects.delete(key);
        mark.openings -= 1;
        if (mark.openings > 0) return;
        noted.opening.delete(key);
        running.delete(key);
        void save(noted);
        mark.settled.resolve();
      }, settleMs).unref();
    }
  }

  /** After all that are being opened, and after the suspects before it. */
  function openAlone(noted: Noted, key: string, work: () => Promise<Opening>): Promise<Opening> {
    const turn = lastSuspect.then(async () => {
      // Those that are opened in the same tick come first.
      await nextTick();
      await Promise.all(Array.from(running.values(), ({ settled }) => settled.promise));
    });
    const opening = turn.then(() => openMarked(noted, key, work));
    lastSuspect = opening.then(() => running.get(key)?.settled.promise).catch(() => undefined);
    return opening;
  }

  return {
    async open(record, isAsked, work) {
      const noted = await load();
      const key = keyOf(record);
      const skippedUntil = noted.skipped.get(key);
      if (skippedUntil !== undefined && !isAsked && now() < skippedUntil) return toSkippedOpening(record, skippedUntil);
      if (skippedUntil !== undefined) {
        noted.skipped.delete(key);
        noted.suspects.add(key);
      }
      return noted.suspects.has(key) ? openAlone(noted, key, work) : openMarked(noted, key, work);
    },
    async suspectsAmong(records) {
      const { suspects } = await load();
      return new Set(suspects.size === 0 ? [] : records.filter((record) => suspects.has(keyOf(record))));
    },
    async close() {
      if (loading === undefined || isClosed) return;
      const noted = await loading;
      noted.opening.clear();
      await save(noted);
      isClosed = true;
    },
  };
}

/** When the servers that are skipped now will be tried again, by their ids. */
export async function findSkippedServers(
  facts: Pick<Facts, 'readFact'>,
  records: readonly ToolServerRecord[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const { skipped: all } = parseNoted(await facts.readFact(factName));
  return new Map(
    records.flatMap((record) => {
      const until = all.get(keyOf(record));
      return until === undefined || until <= now ? [] : [[record.id, until] as const];
    }),
  );
}

export function describeSkipped(id: string, until: number): string {
  return (
    `The gateway crashed each time it opened this server, so the server is skipped until ${new Date(until).toISOString()}. ` +
    `POST /api/tool-servers/${id}/refresh tries it at once`
  );
}

function toSkippedOpening({ id }: ToolServerRecord, until: number): Opening {
  return { type: 'unreachable', reason: describeSkipped(id, until), cause: 'skipped' };
}

/** The conclusions from the notes of the previous process. */
function afterStart({ ends, opening, suspects, skipped: before }: Noted, now: number): Noted {
  const [only, ...others] = opening;
  const skipped = new Map([...before].filter(([, until]) => now - until < forgottenMs));
  if (only === undefined) return { ends: 0, opening: new Set(), suspects: new Set(), skipped };
  const unclean = { ends: ends + 1, opening: new Set<string>() };
  if (others.length === 0 && suspects.has(only))
    return {
      ...unclean,
      suspects: new Set([...suspects].filter((key) => key !== only)),
      skipped: skipped.set(only, now + skippedMs),
    };
  const suspected = ends + 1 >= endsUntilSuspect ? [...suspects, ...opening] : suspects;
  return { ...unclean, suspects: new Set(suspected), skipped };
}

/** At another address, or with another command, it is another server. As a hash: an address may hold a key. */
function keyOf({ id, url, process }: ToolServerRecord): string {
  const address = process === undefined ? url : [process.command, ...process.args];
  return createHash('sha256')
    .update(JSON.stringify([id, address]))
    .digest('base64url');
}

function toFact({ ends, opening, suspects, skipped: all }: Noted): string {
  return JSON.stringify({ ends, opening: [...opening], suspects: [...suspects], skipped: Object.fromEntries(all) });
}

function parseNoted(fact: string | undefined): Noted {
  const stored = parseJson(fact ?? '{}');
  const { ends, opening, suspects, skipped: all }: JsonObject = isJsonObject(stored) ? stored : {};
  const until = Object.entries(isJsonObject(all) ? all : {});
  return {
    ends: typeof ends === 'number' ? ends : 0,
    opening: new Set(textsIn(opening)),
    suspects: new Set(textsIn(suspects)),
    skipped: new Map(until.flatMap(([key, value]) => (typeof value === 'number' ? [[key, value]] : []))),
  };
}

function textsIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}
