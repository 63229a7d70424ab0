import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../core/errors.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { waitAtMost, waitUnlessAborted } from '../../shared/async/wait-for.ts';
import { createOpeningTurns } from './opening-turns.ts';
import { openForEverybody } from './open-registered-server.ts';
import { failureMemoryMs, type DocumentSignIn, type OpenedServer, type Opening, type OpenMcp } from '../definitions/opened-server.ts';
import type { OpeningMarks } from './opening-marks.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';

/** A chat waits this long for a registered tool server to open; its functions are offered once it is open. */
export const serverPatienceMs = 2_000;

/**
 * How long a request that selects functions of this server by name waits for it: longer than a document may take to load, because that error says
 * more than "still being opened".
 */
const neededWaitMs = 12_000;
/** A server that failed the last time is given less time; opening continues in the background. */
const reopeningWaitMs = 1_000;

const stillOpening = 'it is still being opened; later chats will have it';

export interface RegisteredServers {
  /**
   * Opens the server at the first call and reuses it from then on. If that takes longer than `serverPatienceMs` (with `isNeeded`: twelve
   * seconds), opening continues for later calls, and this one gets `unreachable`. @throws the signal's reason
   */
  open(record: ToolServerRecord, signal: AbortSignal, isNeeded?: boolean): MaybePromise<Opening>;
  /**
   * Reloads the server. Its current functions stay in use meanwhile, and afterwards if the reload fails. Returns the outcome. @throws the signal's
   * reason
   */
  refresh(record: ToolServerRecord, signal: AbortSignal): Promise<Opening>;
  /** Like `refresh` but without validation: for automatic refreshes. */
  renew(record: ToolServerRecord, signal: AbortSignal): Promise<Opening>;
  /** Changes whenever a server was opened with new functions, could not be opened or was forgotten. */
  revision(): number;
  /** The last known state; does not contact the server. */
  stateOf(record: ToolServerRecord): Opening | undefined;
  /** Those of these that are opened after all others, because opening one of them may have ended the gateway. */
  suspectsAmong(records: readonly ToolServerRecord[]): Promise<ReadonlySet<ToolServerRecord>>;
  /** Whether it is still being opened and a chat has already given up waiting for it. */
  isSlow(record: ToolServerRecord): boolean;
  /** Consecutive failed loads, and the time of the last one by `now`; undefined if the last load succeeded, or there was none. */
  failuresOf(record: ToolServerRecord): { count: number; reason: string; endedAt: number } | undefined;
  /** The time by `now` when it was last loaded or found unchanged. */
  loadedAt(record: ToolServerRecord): number | undefined;
  /** How the document of a server describes sign-in. @throws GatewayError if it cannot be read now */
  signInOf: (record: ToolServerRecord) => Promise<DocumentSignIn | undefined>;
  /** Forgets servers that are no longer registered. */
  keepOnly(ids: ReadonlySet<string>): void;
  /** Aborts running loads. */
  close(): void;
}

interface RegisteredServersOptions {
  send: SendOutbound;
  openMcp?: OpenMcp | undefined;
  /** This gateway's own id. */
  gatewayId?: string | undefined;
  /** Absent where nothing is opened by itself, as by commands. */
  marks?: OpeningMarks | undefined;
  /** What a server offers is different from before. */
  onChanged?: (() => void) | undefined;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
}

interface OpeningState {
  record: ToolServerRecord;
  loading: Promise<Opening> | undefined;
  /** Has the load begin before others that nobody waits for. */
  hasten: () => void;
  /** The load that a chat has given up waiting for: until it ends, no other chat waits for it. */
  slow: Promise<Opening> | undefined;
  /** The opening that chats use. A failure does not replace an `opened` one. */
  opening: Opening | undefined;
  failures: { count: number; reason: string; endedAt: number } | undefined;
  loadedAt: number | undefined;
}

export function createRegisteredServers({ send, openMcp, gatewayId, marks, onChanged, now }: RegisteredServersOptions): RegisteredServers {
  const entries = new Map<string, OpeningState>();
  const closing = new AbortController();
  const takeTurn = createOpeningTurns();
  let revision = 0;

  /** A changed record counts as another server. */
  function findEntry(record: ToolServerRecord): OpeningState | undefined {
    const known = entries.get(record.id);
    const isSame = known !== undefined && (known.record === record || isDeepStrictEqual(known.record, record));
    return isSame ? known : undefined;
  }

  function entryFor(record: ToolServerRecord): OpeningState {
    const known = findEntry(record);
    if (known !== undefined) return known;
    const entry: OpeningState = {
      record,
      loading: undefined,
      hasten: () => undefined,
      slow: undefined,
      opening: undefined,
      failures: undefined,
      loadedAt: undefined,
    };
    entries.set(record.id, entry);
    revision += 1;
    return entry;
  }

  /** One load serves all waiting callers, so no caller's signal aborts it. */
  function startLoading(entry: OpeningState, isChecked: boolean): Promise<Opening> {
    const known = entry.opening?.type === 'opened' ? entry.opening.server : undefined;
    const onListChanged = (): void => {
      if (findEntry(entry.record) === entry) void startLoading(entry, false);
    };
    const options = { signal: closing.signal, isChecked, onListChanged, known, openMcp, gatewayId };
    const open = (): Promise<Opening> => openForEverybody(entry.record, send, options);
    const turn = takeTurn(() => marks?.open(entry.record, isChecked, open) ?? open());
    const loading: Promise<Opening> = turn.done.then((opening) => {
      if (entry.loading !== loading) return entry.loading ?? opening;
      entry.loading = undefined;
      recordOutcome(entry, opening);
      return opening;
    });
    entry.loading = loading;
    entry.hasten = () => turn.hasten();
    return loading;
  }

  function recordOutcome(entry: OpeningState, opening: Opening): void {
    // With a thousand servers, a document is looked at for changes twice a second, and most have none.
    if (serverOf(entry.opening) === undefined || (opening.type !== 'unreachable' && serverOf(opening) !== serverOf(entry.opening)))
      revision += 1;
    if (opening.type !== 'unreachable') {
      const isChanged = isOtherOffer(entry.opening, opening);
      entry.opening = opening;
      entry.failures = undefined;
      entry.loadedAt = now();
      if (isChanged) onChanged?.();
      return;
    }
    // A failed reload must not take the functions away from chats that use them.
    if (entry.opening?.type !== 'opened') entry.opening = opening;
    entry.failures = { count: (entry.failures?.count ?? 0) + 1, reason: opening.reason, endedAt: now() };
  }

  function open(record: ToolServerRecord, signal: AbortSignal, isNeeded = false): MaybePromise<Opening> {
    const entry = entryFor(record);
    const { opening, failures, loading } = entry;
    const isRecentFailure = failures !== undefined && now() - failures.endedAt < failureMemoryMs;
    if (opening !== undefined && (opening.type !== 'unreachable' || isRecentFailure)) return opening;
    const load = loading ?? startLoading(entry, false);
    if (isNeeded) entry.hasten();
    return waitAtMost(waitMsFor(entry, { load, isNeeded }), waitUnlessAborted(load, signal), (): Opening => {
      entry.slow = load;
      return { type: 'unreachable', reason: failures?.reason ?? stillOpening, cause: 'opening' };
    });
  }

  return {
    open,
    refresh(record, signal) {
      const entry = entryFor(record);
      const load = startLoading(entry, true);
      entry.hasten();
      return waitUnlessAborted(load, signal);
    },
    renew: (record, signal) => waitUnlessAborted(startLoading(entryFor(record), false), signal),
    revision: () => revision,
    stateOf: (record) => findEntry(record)?.opening,
    suspectsAmong: async (records) => (await marks?.suspectsAmong(records)) ?? new Set(),
    isSlow(record) {
      const entry = findEntry(record);
      return entry?.loading !== undefined && entry.slow === entry.loading;
    },
    failuresOf: (record) => findEntry(record)?.failures,
    async signInOf(record) {
      const opening = await open(record, closing.signal, true);
      if (opening.type === 'opened') return opening.server.signIn;
      if (opening.type === 'unsupported' && opening.needsCredential === true)
        throw new GatewayError(
          'conflict',
          `The tool server "${record.id}" shows its document only to people who have signed in, so nothing says where that is. Set authorize_url and token_url in oauth.`,
        );
      throw new GatewayError(
        'upstream_unreachable',
        `The document of the tool server "${record.id}" cannot be read at the moment. Try again later; GET /api/tool-servers/{id} says why.`,
      );
    },
    loadedAt: (record) => findEntry(record)?.loadedAt,
    keepOnly(ids) {
      for (const id of entries.keys()) if (!ids.has(id) && entries.delete(id)) revision += 1;
    },
    close: () => closing.abort(new Error('The gateway is shutting down.')),
  };
}

/** Whether the offer to callers has changed. */
function isOtherOffer(before: Opening | undefined, now: Opening): boolean {
  if (before?.type !== 'opened' || now.type !== 'opened')
    return before?.type === 'opened' || now.type === 'opened' || before?.type !== now.type;
  if (before.server === now.server) return false;
  const { fingerprint } = now.server;
  return fingerprint === undefined || fingerprint !== before.server.fingerprint;
}

function serverOf(opening: Opening | undefined): OpenedServer | undefined {
  return opening?.type === 'opened' ? opening.server : undefined;
}

function waitMsFor({ failures, slow }: OpeningState, { load, isNeeded }: { load: Promise<Opening>; isNeeded: boolean }): number {
  if (isNeeded) return neededWaitMs;
  if (slow === load) return 0;
  return failures === undefined ? serverPatienceMs : reopeningWaitMs;
}
