import { setImmediate as nextTurn } from 'node:timers/promises';
import { runAside } from '../../workers/run-aside.ts';
import { jobOf } from '../../workers/worker-pool.ts';
import { compactTexts, isActionQuotedIn, isQuotedIn } from '../parse-tool-calls/quoted-calls.ts';
import type { CompactTexts, QuoteCheck } from '../parse-tool-calls/quoted-calls.ts';

/** Up to this many characters are prepared on the main thread, which takes about ten milliseconds. */
const inPlaceCharacters = 200_000;
/** Many times what the longest possible conversation needs. */
const preparingMs = 5_000;
const preparingJob = jobOf<typeof compactTexts>(new URL('../parse-tool-calls/quoted-calls.ts', import.meta.url), 'compactTexts');

export interface EarlierTextsOptions {
  isReact: boolean;
  caller: { readonly id: string };
  signal: AbortSignal;
}

/**
 * The messages before an answer. A call whose text occurs in them is a repetition (of a web page, for example) and must not run. The first check
 * prepares them for comparison. For a long conversation a worker thread does that, and each check gets its own turn of the event loop: the parser
 * pauses (`isAwaited`), and its user calls `prepare` and then the parser's `resume`.
 */
export class EarlierTexts implements QuoteCheck {
  readonly #texts: readonly string[];
  readonly #options: EarlierTextsOptions;
  /** `unreadable`: preparing failed, so every call counts as quoted, to be safe. */
  #prepared: CompactTexts | 'unreadable' | undefined;
  #isLong: boolean | undefined;
  #mayCheck = false;
  #isAwaited = false;

  constructor(texts: readonly string[], options: EarlierTextsOptions) {
    this.#texts = texts;
    this.#options = options;
  }

  /** The parser has paused until `prepare` is done. */
  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  readonly mayCheck = (): boolean => {
    this.#isLong ??= this.#texts.reduce((sum, text) => sum + text.length, 0) > inPlaceCharacters;
    if (!this.#isLong) return true;
    this.#isAwaited = !this.#mayCheck;
    return this.#mayCheck;
  };

  readonly isQuoted = (text: string): boolean => {
    const prepared = this.#preparedTexts();
    return prepared === 'unreadable' || isQuotedIn(prepared, text);
  };

  /** For an action that is written with ReAct labels. Requires that `mayCheck` has returned true. */
  isActionQuoted(name: string, input: string): boolean {
    const prepared = this.#preparedTexts();
    return prepared === 'unreadable' || isActionQuotedIn(prepared, { name, input });
  }

  /**
   * Allows one more check.
   * @throws the signal's reason
   */
  async prepare(): Promise<void> {
    if (this.#prepared === undefined) this.#prepared = await this.#prepareInWorker();
    else await nextTurn();
    this.#mayCheck = true;
    this.#isAwaited = false;
  }

  #preparedTexts(): CompactTexts | 'unreadable' {
    this.#mayCheck = false;
    this.#prepared ??= compactTexts({ texts: this.#texts, isReact: this.#options.isReact });
    return this.#prepared;
  }

  async #prepareInWorker(): Promise<CompactTexts | 'unreadable'> {
    const { isReact, caller, signal } = this.#options;
    try {
      const data = { texts: this.#texts, isReact };
      return await runAside({ job: preparingJob, data, caller: caller.id, signal, timeoutMs: preparingMs });
    } catch {
      signal.throwIfAborted();
      return 'unreadable';
    }
  }
}
