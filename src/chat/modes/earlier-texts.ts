import { setImmediate as nextTurn } from 'node:timers/promises';
import { runAside } from '../../workers/run-aside.ts';
import { jobOf } from '../../workers/worker-pool.ts';
import { compactTexts, isActionQuotedIn, isQuotedIn } from '../parse-tool-calls/quoted-calls.ts';
import type { CompactTexts, QuoteCheck } from '../parse-tool-calls/quoted-calls.ts';

/** Characters that are prepared in place, in about ten milliseconds. */
const inPlaceCharacters = 200_000;
/** Many times what the longest conversation takes. */
const preparingMs = 5_000;
const preparingJob = jobOf<typeof compactTexts>(import.meta.url, '../parse-tool-calls/quoted-calls', 'compactTexts');

export interface EarlierTextsOptions {
  isReact: boolean;
  caller: { readonly id: string };
  signal: AbortSignal;
}

/**
 * The messages before an answer, in which its calls are looked for: what occurs there is repeated, not called. They are prepared by the first
 * check. Those of a long conversation are prepared in a thread, and each check has a turn of the event loop for itself: the
 * parser pauses (`isAwaited`), and goes on (`resume`) after `prepare`.
 */
export class EarlierTexts implements QuoteCheck {
  readonly #texts: readonly string[];
  readonly #options: EarlierTextsOptions;
  /** `unreadable`: they could not be prepared, so that anything may stand in them. */
  #prepared: CompactTexts | 'unreadable' | undefined;
  #isLong: boolean | undefined;
  #mayCheck = false;
  #isAwaited = false;

  constructor(texts: readonly string[], options: EarlierTextsOptions) {
    this.#texts = texts;
    this.#options = options;
  }

  /** The parser has paused for them. */
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
    const prepared = this.#use();
    return prepared === 'unreadable' || isQuotedIn(prepared, text);
  };

  /** An action with its labels; call `mayCheck` before. */
  isActionQuoted(name: string, input: string): boolean {
    const prepared = this.#use();
    return prepared === 'unreadable' || isActionQuotedIn(prepared, { name, input });
  }

  /**
   * Makes one more check possible.
   * @throws the signal's reason
   */
  async prepare(): Promise<void> {
    if (this.#prepared === undefined) this.#prepared = await this.#prepareAside();
    else await nextTurn();
    this.#mayCheck = true;
    this.#isAwaited = false;
  }

  #use(): CompactTexts | 'unreadable' {
    this.#mayCheck = false;
    this.#prepared ??= compactTexts({ texts: this.#texts, isReact: this.#options.isReact });
    return this.#prepared;
  }

  async #prepareAside(): Promise<CompactTexts | 'unreadable'> {
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
