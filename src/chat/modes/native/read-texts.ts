import { runInWorker } from '../../../workers/run-in-worker.ts';
import { jobOf } from '../../../workers/worker-pool.ts';
import { warningEvent } from '../../../core/chat/caller-warning.ts';
import type { ModelEvent } from '../../../core/chat/chat.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import type { Tool, ToolSpec } from '../../../core/tools/tool.ts';
import type { ReadCall, ReadEntry } from '../../parse-tool-calls/answer-pieces.ts';
import { compact, type QuoteCheck } from '../../parse-tool-calls/quotes/quoted-calls.ts';
import type { findInDefinitionsText } from '../../parse-tool-calls/quotes/quoted-definitions.ts';
import { callerSpecs } from '../../tool-choice/caller-functions.ts';
import { EarlierTexts } from '../earlier-texts.ts';
import { shownTexts } from '../shown-texts.ts';

/** Up to this many characters are searched for a name on the main thread, which takes about ten milliseconds. */
const inPlaceCharacters = 200_000;
/** Longer definitions are not copied into a thread: the call is then blocked. */
const searchedCharacters = 4_000_000;
/** Many times longer than the definitions of a request take. */
const searchMs = 5_000;
const searchJob = jobOf<typeof findInDefinitionsText>(
  new URL('../../parse-tool-calls/quotes/quoted-definitions.ts', import.meta.url),
  'findInDefinitionsText',
);

/** Where a call was found. `unreadable`: the definitions could not be searched, so to be safe every call counts as found. */
type FoundIn = { type: 'nowhere' } | { type: 'unreadable' } | { type: 'definition'; of: string };

/** Definitions as JSON, and a compact form in which a name can be found quickly. Undefined if they are too long. */
interface ForeignText {
  json: string | undefined;
  compact: string | undefined;
}

/** Where definitions come from: those of one source may show how its own functions are called. */
type Source = string;
const ofCaller: Source = 'caller';
const noWarnings: readonly ModelEvent[] = [];

/**
 * The texts that the model has read: the messages, and the definitions of functions. A call in the text of an answer that only repeats a message, or a
 * definition of another server, must not run. Definitions are searched only when there is such a call, and in a worker thread if they name its
 * function. The operator's own functions are trusted.
 */
export class ReadTexts implements QuoteCheck {
  /** Read when a call is found, which is seldom. */
  #messages: EarlierTexts | undefined;
  readonly #request: ModelRequest;
  readonly #caller: { readonly id: string };
  /** The definitions of other sources, by the source of the called function. */
  #foreignTexts: Map<Source, ForeignText> | undefined;
  /** The last call that was searched for, and in whose definition it was found; undefined while that is not known. */
  #search: { call: ReadCall; found: FoundIn | undefined } | undefined;
  #warnings = noWarnings;

  constructor(request: ModelRequest, caller: { readonly id: string }) {
    this.#request = request;
    this.#caller = caller;
  }

  /** The parser has paused until `search` is done. */
  get isAwaited(): boolean {
    return this.#messages?.isAwaited === true || (this.#search !== undefined && this.#search.found === undefined);
  }

  isQuoted(text: string, entry: ReadEntry): boolean | 'not_known_yet' {
    const { messages, signal } = this.#request;
    this.#messages ??= new EarlierTexts(() => shownTexts(messages), { isReact: false, caller: this.#caller, signal });
    const isInMessages = this.#messages.isQuoted(text);
    if (isInMessages !== false || entry.type !== 'call') return isInMessages;
    const found = this.#findDefined(entry);
    if (found === undefined) return 'not_known_yet';
    if (found.type === 'nowhere') return false;
    this.#warnings = [...this.#warnings, warningOf(entry, found)];
    return true;
  }

  /**
   * Runs the pending search.
   * @throws the signal's reason
   */
  async search(): Promise<void> {
    if (this.#messages?.isAwaited === true) return this.#messages.search();
    if (this.#search !== undefined) this.#search.found ??= await this.#searchInWorker(this.#search.call);
  }

  /** Warnings about the calls that definitions have blocked since the last call of this method. */
  takeWarnings(): readonly ModelEvent[] {
    const warnings = this.#warnings;
    this.#warnings = noWarnings;
    return warnings;
  }

  /** Undefined while it is not known. */
  #findDefined(call: ReadCall): FoundIn | undefined {
    if (this.#search?.call.text === call.text && this.#search.call.name === call.name) return this.#search.found;
    if (!this.#isNamed(call.name)) return { type: 'nowhere' };
    this.#search = { call, found: undefined };
    return undefined;
  }

  /** Whether definitions of other sources may name the function at all. */
  #isNamed(name: string): boolean {
    return this.#textForeignTo(this.#sourceOf(name)).compact?.includes(compact(name)) ?? true;
  }

  /** Computed once: an answer may have any number of calls. */
  #textForeignTo(source: Source): ForeignText {
    const known = this.#foreignTexts?.get(source);
    if (known !== undefined) return known;
    const json = JSON.stringify(this.#foreignTo(source));
    const text = {
      json: json.length > searchedCharacters ? undefined : json,
      compact: json.length > inPlaceCharacters ? undefined : compact(json),
    };
    (this.#foreignTexts ??= new Map()).set(source, text);
    return text;
  }

  async #searchInWorker(call: ReadCall): Promise<FoundIn> {
    const { signal } = this.#request;
    const definitions = this.#textForeignTo(this.#sourceOf(call.name)).json;
    const target = this.#specs().find(({ name }) => name === call.name);
    if (target === undefined || definitions === undefined) return { type: 'unreadable' };
    const data = { definitions, target, call: { name: call.name, arguments: call.arguments, text: call.text } };
    try {
      const definitionOf = await runInWorker({ job: searchJob, data, caller: this.#caller.id, signal, timeoutMs: searchMs });
      return definitionOf === undefined ? { type: 'nowhere' } : { type: 'definition', of: definitionOf };
    } catch {
      signal.throwIfAborted();
      return { type: 'unreadable' };
    }
  }

  #specs(): ToolSpec[] {
    return [...this.#request.tools, ...callerSpecs(this.#request.callerTools)];
  }

  #sourceOf(name: string): Source {
    const tool = this.#request.offered?.get(name);
    if (tool !== undefined) return sourceOf(tool);
    return this.#request.tools.some((spec) => spec.name === name) ? `function ${name}` : ofCaller;
  }

  #foreignTo(source: Source): ToolSpec[] {
    const { tools, offered, callerTools } = this.#request;
    const foreign = tools.filter(({ name }) => {
      const tool = offered?.get(name);
      return this.#sourceOf(name) !== source && (tool === undefined || !isTrusted(tool));
    });
    return [...foreign, ...(source === ofCaller ? [] : callerSpecs(callerTools))];
  }
}

function sourceOf({ kind, isHelper, server, spec }: Tool): Source {
  return isHelper === true || kind === 'preset' ? `function ${spec.name}` : `${kind} ${server}`;
}

/** Helpers repeat the definitions of other servers. */
function isTrusted({ kind, isHelper }: Tool): boolean {
  return kind === 'function' && isHelper !== true;
}

function warningOf({ name }: ReadCall, found: FoundIn): ModelEvent {
  const why =
    found.type === 'definition'
      ? `It is also in the definition of "${found.of}", which is not of the same server`
      : 'The definitions of the other functions could not be searched for it';
  return warningEvent({
    code: 'call_not_rescued',
    message: `The model wrote a call of "${name}" into its text. ${why}, so it was left as text.`,
  });
}
