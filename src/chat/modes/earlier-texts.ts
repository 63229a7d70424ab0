import { setImmediate as nextTick } from 'node:timers/promises';
import { runInWorker } from '../../workers/run-in-worker.ts';
import { jobOf } from '../../workers/worker-pool.ts';
import {
  compactTexts,
  isFound,
  searchAction,
  searchQuote,
  type CompactTexts,
  type QuoteCheck,
  type QuoteSearch,
} from '../parse-tool-calls/quotes/quoted-calls.ts';

/** Up to this many characters are prepared on the main thread, which takes about ten milliseconds. */
const inPlaceCharacters = 200_000;
/** Many times longer than the longest possible conversation takes. */
const preparingMs = 5_000;
const preparingJob = jobOf<typeof compactTexts>(new URL('../parse-tool-calls/quotes/quoted-calls.ts', import.meta.url), 'compactTexts');

interface EarlierTextsOptions {
  isReact: boolean;
  caller: { readonly id: string };
  signal: AbortSignal;
}

/**
 * The messages before an answer. A call whose text occurs in them is a repetition (of a web page, for example) and must not run. The first check
 * prepares them for comparison. For a long conversation a worker thread does that, and each search takes several ticks of the event loop: the check
 * returns `not_known_yet`, the parser pauses (`isAwaited`), and its user calls `search` and then the parser's `resume`.
 */
export class EarlierTexts implements QuoteCheck {
  /** Read when a call is found, which is seldom. */
  readonly #readTexts: () => readonly string[];
  #known: readonly string[] | undefined;
  readonly #options: EarlierTextsOptions;
  /** `unreadable`: preparing failed, so every call counts as quoted, to be safe. */
  #prepared: CompactTexts | 'unreadable' | undefined;
  #isLong: boolean | undefined;
  /** The last search in a long conversation, and its result. */
  #search: { key: string; begin: (prepared: CompactTexts) => QuoteSearch; isFound: boolean | undefined } | undefined;

  constructor(readTexts: () => readonly string[], options: EarlierTextsOptions) {
    this.#readTexts = readTexts;
    this.#options = options;
  }

  get #texts(): readonly string[] {
    return (this.#known ??= this.#readTexts());
  }

  /** The parser has paused until `search` is done. */
  get isAwaited(): boolean {
    return this.#search !== undefined && this.#search.isFound === undefined;
  }

  readonly isQuoted = (text: string): boolean | 'not_known_yet' =>
    this.#isFound(JSON.stringify([text]), (prepared) => searchQuote(prepared, text));

  /** For an action that is written with ReAct labels. */
  isActionQuoted(name: string, input: string): boolean | 'not_known_yet' {
    return this.#isFound(JSON.stringify([name, input]), (prepared) => searchAction(prepared, { name, input }));
  }

  /**
   * Runs the pending search.
   * @throws the signal's reason
   */
  async search(): Promise<void> {
    const pending = this.#search;
    this.#prepared ??= await this.#prepareInWorker();
    if (pending === undefined || pending.isFound !== undefined) return;
    pending.isFound = this.#prepared === 'unreadable' || (await this.#isFoundInTicks(pending.begin(this.#prepared)));
  }

  #isFound(key: string, begin: (prepared: CompactTexts) => QuoteSearch): boolean | 'not_known_yet' {
    this.#isLong ??= this.#texts.reduce((sum, text) => sum + text.length, 0) > inPlaceCharacters;
    if (!this.#isLong) {
      this.#prepared ??= compactTexts({ texts: this.#texts, isReact: this.#options.isReact });
      return this.#prepared === 'unreadable' || isFound(begin(this.#prepared));
    }
    if (this.#search?.key !== key) this.#search = { key, begin, isFound: undefined };
    return this.#search.isFound ?? 'not_known_yet';
  }

  async #isFoundInTicks(search: QuoteSearch): Promise<boolean> {
    await nextTick();
    for (;;) {
      const { done, value } = search.next();
      if (done === true) return value;
      await nextTick();
      this.#options.signal.throwIfAborted();
    }
  }

  async #prepareInWorker(): Promise<CompactTexts | 'unreadable'> {
    const { isReact, caller, signal } = this.#options;
    try {
      const data = { texts: this.#texts, isReact };
      return await runInWorker({ job: preparingJob, data, caller: caller.id, signal, timeoutMs: preparingMs });
    } catch {
      signal.throwIfAborted();
      return 'unreadable';
    }
  }
}
