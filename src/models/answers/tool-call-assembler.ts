import { callThoughtFields, type ToolCall } from '../../core/chat/chat.ts';
import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';
import { makeCallId } from '../../shared/text/call-ids.ts';
import type { OutputLimit } from './output-limit.ts';

interface AssemblerOptions {
  /** Generates ids for calls that came without one, or with the id of another call. */
  makeId?: () => string;
  /** The offered names, to distinguish a name sent in pieces from the start of a second call. */
  names?: ReadonlySet<string>;
  /** Counts everything that arrives, including what is discarded. */
  meter?: OutputLimit;
}

/** In characters. OpenAI allows 64, others up to 128; a longer name comes from a model in a loop. */
const maxNameLength = 256;
/** Appended to a truncated name, so that it can neither be called nor be confused with the function whose name it begins with. */
const truncationMark = '…';
/** Replaces arguments that cannot be read. It is not JSON, so the call is refused, and the model may make it again. */
export const unreadable = 'unreadable';

interface Fragment {
  id: string;
  index: number | undefined;
  name: string;
  text: string;
  /** The arguments came as an object, so `text` is all of them. */
  isWhole: boolean;
  extra?: JsonObject;
}

interface OpenCall {
  id: string;
  /** The indexes under which its fragments came. */
  readonly indexes: Set<number>;
  name: string;
  text: string;
  extra?: JsonObject;
  /** Tracked separately, because scanning the whole text for each fragment would take quadratic time. */
  isBlank: boolean;
  progress: ObjectProgress;
  /** The last fragment of the arguments, and whether each so far begins with the one before. */
  last: string;
  isGrowing: boolean;
}

/**
 * Assembles tool calls from their fragments. A fragment belongs to the call with its id, else to the latest with its index, else to the latest; unless it
 * begins another call: with a name that cannot be part of that call's name, or with further arguments after complete ones. One that begins amid JSON
 * belongs to the call that is open, whatever its id. Arguments that parse never end a call, because the prefix of longer arguments may parse too. Some
 * servers send all that there is of the arguments with each fragment: then the last one counts, if it is JSON and all of them together are not.
 */
export class ToolCallAssembler {
  #calls: OpenCall[] = [];
  readonly #makeId: () => string;
  readonly #names: ReadonlySet<string>;
  readonly #meter: OutputLimit | undefined;
  /** Arguments that belong to no call. */
  #lost = '';

  constructor(options: AssemblerOptions = {}) {
    this.#makeId = options.makeId ?? makeCallId;
    this.#names = options.names ?? new Set();
    this.#meter = options.meter;
  }

  /** One entry of `delta.tool_calls`, or a legacy `function_call`. Anything else is ignored. */
  add(fragment: unknown): void {
    const part = toFragment(fragment);
    if (part === undefined) return;
    this.#meter?.add(part.name.length + part.text.length);
    part.name = this.#withoutRepetition(boundName(part.name));
    const call = this.#findCall(part) ?? this.#open(part);
    if (call === undefined || isRepetition(call, part)) return;
    if (call.id === '') call.id = part.id;
    if (part.id !== '' && part.id !== call.id) this.#dropBegunAlike(call);
    if (part.index !== undefined) call.indexes.add(part.index);
    call.name = this.#joinName(call.name, part.name);
    if (part.extra !== undefined) call.extra = { ...call.extra, ...part.extra };
    if (call.progress.isComplete && !isEmptyObject(call) && !part.isWhole && part.text.trimStart().startsWith('{')) this.addLost(part.text);
    append(call, part);
  }

  /** Arguments, or what may be some, that the answer has for none of its calls. */
  addLost(text: string): void {
    if (this.#lost.length <= limits.argumentsBytes) this.#lost += text.slice(0, limits.argumentsBytes + 1);
  }

  /** A call that is not sent in fragments, whatever index it has. */
  addWhole(call: unknown): void {
    if (isJsonObject(call)) this.add({ ...call, index: this.#calls.length });
  }

  /** The calls in the order in which they began, each with a unique id; calls without a name are dropped. */
  finish(): ToolCall[] {
    if (this.#calls.length === 0) return [];
    const taken = new Set<string>();
    for (const call of this.#calls) if (call.name === '' && !hasNothing(call)) this.addLost(call.text);
    const calls = withoutRepeated(this.#calls.filter((call) => call.name !== ''));
    const lost = calls.length === 1 ? this.#lost : this.#lost && unreadable;
    return calls.map((call) => {
      const { id, name, isBlank, extra } = call;
      const unique = id === '' || taken.has(id) ? this.#makeId() : id;
      taken.add(unique);
      // If arguments were lost, a call without any may be the one that had them.
      const written = isBlank ? lost || '{}' : argumentsOf(call);
      return { id: unique, name: this.#withoutRepetition(name), arguments: written, ...(extra !== undefined && { extra }) };
    });
  }

  #open(part: Fragment): OpenCall | undefined {
    // Keep one more than may run, so that the loop sees that there are too many.
    if (this.#calls.length > limits.callsPerRound) return undefined;
    const begun = { text: '', isBlank: true, progress: new ObjectProgress(), last: '', isGrowing: true };
    const call = { id: part.id, indexes: new Set<number>(), name: '', ...begun };
    this.#calls.push(call);
    return call;
  }

  /** Fragments of one call that each have an id of their own: earlier ones without arguments were no calls. */
  #dropBegunAlike(call: OpenCall): void {
    const at = this.#calls.indexOf(call);
    this.#calls = this.#calls.filter(
      (other, position) => position >= at || !other.isBlank || other.name !== call.name || !shareIndex(other, call),
    );
  }

  #findCall(part: Fragment): OpenCall | undefined {
    const { id, index } = part;
    const withId = id === '' ? undefined : this.#findLast((call) => call.id === id && isOf(call, index));
    const call =
      withId ?? (id === '' ? undefined : this.#findLast((other) => other.id === id)) ?? this.#findLast((other) => isOf(other, index));
    if (call !== undefined) return this.#startsAnother(call, part) ? undefined : call;
    const last = this.#calls.at(-1);
    return last !== undefined && belongsToOpen(last, part) ? last : undefined;
  }

  #findLast(isWanted: (call: OpenCall) => boolean): OpenCall | undefined {
    return this.#calls.findLast(isWanted);
  }

  #startsAnother(call: OpenCall, part: Fragment): boolean {
    const isOtherId = part.id !== '' && call.id !== '' && part.id !== call.id;
    const isOtherIndex = part.index !== undefined && call.indexes.size > 0 && !call.indexes.has(part.index);
    const hasMore = part.text.trim() !== '';
    const { isComplete } = call.progress;
    const isSameName = part.name === '' || part.name === call.name;
    if (isSameName && !isOtherId && !isOtherIndex && isGrown(call, part.text)) return false;
    if (isSameName && !call.isBlank && !isComplete && (!isOtherId || call.progress.takes(part.text))) return false;
    if (isOtherIndex && isComplete && !isEmptyObject(call)) return !isRepetition(call, part);
    if (part.name === '') return isOtherId && isComplete && hasMore;
    if (call.name === '') return isOtherId && isComplete;
    if (isOtherId) return !call.isBlank || part.name !== call.name || !hasMore;
    if (call.isBlank) return part.name !== call.name && !this.#isPartOfName(call.name, part.name);
    if (part.name !== call.name) return true;
    return isComplete && hasMore && !isRepetition(call, part);
  }

  #isPartOfName(begun: string, piece: string): boolean {
    if (this.#names.size === 0) return true;
    if (this.#isGrown(begun, piece)) return true;
    const joined = begun + piece;
    for (const name of this.#names) if (name.startsWith(joined)) return true;
    return !this.#names.has(begun) && !this.#names.has(piece);
  }

  /** Some servers repeat the name from its start in each fragment. */
  #isGrown(begun: string, piece: string): boolean {
    return piece.startsWith(begun) && this.#names.has(piece) && !this.#names.has(begun + piece);
  }

  /** Some servers join the names of fragments that each have the whole one: `get_timeget_time`. */
  #withoutRepetition(name: string): string {
    if (this.#names.has(name)) return name;
    for (const offered of this.#names)
      if (name.length > offered.length && name === offered.repeat(name.length / offered.length)) return offered;
    return name;
  }

  #joinName(begun: string, piece: string): string {
    if (piece === '' || piece === begun || begun.length > maxNameLength) return begun;
    return this.#isGrown(begun, piece) ? piece : boundName(begun + piece);
  }
}

/** Whether a text is the last fragment with more behind it. */
function isGrown({ last, isGrowing }: OpenCall, text: string): boolean {
  return isGrowing && last.trim() !== '' && text.length > last.length && text.startsWith(last);
}

/** All fragments together, or the last one if each repeats the one before. */
function argumentsOf({ text, last, isGrowing }: OpenCall): string {
  return isGrowing && last !== text && isJsonText(last) && !isJsonText(text) ? last : text;
}

function isJsonText(text: string): boolean {
  return text.trimStart().startsWith('{') && parseJson(text) !== undefined;
}

/** Whether a complete call was sent again under the same id. */
function isRepetition(call: OpenCall, part: Fragment): boolean {
  return (
    part.id !== '' &&
    part.id === call.id &&
    part.name !== '' &&
    part.name === call.name &&
    call.progress.isComplete &&
    part.text === call.text
  );
}

function shareIndex({ indexes: one }: OpenCall, { indexes: other }: OpenCall): boolean {
  return one.size === 0 ? other.size === 0 : one.values().some((index) => other.has(index));
}

function isOf(call: OpenCall, index: number | undefined): boolean {
  return index === undefined || call.indexes.size === 0 || call.indexes.has(index);
}

/** Whether a fragment under an index of its own is no call, but part of the last one. */
function belongsToOpen(last: OpenCall, { id, name, text }: Fragment): boolean {
  if (last.progress.isComplete || text.trim() === '' || (name !== '' && name !== last.name)) return false;
  if (id === '' && name === '') return true;
  return !last.isBlank && !text.trimStart().startsWith('{') && last.progress.takes(text);
}

/** Some servers begin every call with `{}` and then send the real arguments. */
function isEmptyObject({ text }: OpenCall): boolean {
  return text === '{}';
}

function hasNothing(call: OpenCall): boolean {
  return call.isBlank || isEmptyObject(call);
}

/** One call whose id came under several indexes is made once: those without arguments, or with the same, are left out. */
function withoutRepeated(calls: readonly OpenCall[]): OpenCall[] {
  const kept: OpenCall[] = [];
  for (const call of calls) {
    const isEmpty = hasNothing(call);
    const before = call.id === '' ? undefined : kept.find(({ id, name }) => id === call.id && name === call.name);
    if (before !== undefined && hasNothing(before)) kept.splice(kept.indexOf(before), 1, call);
    else if (before === undefined || (!isEmpty && before.text !== call.text)) kept.push(call);
  }
  return kept;
}

function append(call: OpenCall, { text, isWhole }: Fragment): void {
  if (text === '') return;
  call.isGrowing = call.last === '' || isGrown(call, text);
  call.last = text.slice(0, limits.argumentsBytes + 1);
  const replaces = isWhole ? call.progress.isComplete : isEmptyObject(call) && text.trimStart().startsWith('{');
  if (replaces) {
    call.text = '';
    call.progress = new ObjectProgress();
  }
  // Oversized arguments are refused when the call would run; here they only must stop growing.
  if (call.text.length > limits.argumentsBytes) return;
  const kept = text.slice(0, limits.argumentsBytes + 1 - call.text.length);
  call.text += kept;
  call.isBlank &&= kept.trim() === '';
  call.progress.feed(kept);
}

function toIndex(index: JsonValue | undefined): number | undefined {
  if (typeof index === 'string' && /^\d{1,4}$/.test(index)) return Number(index);
  return typeof index === 'number' ? index : undefined;
}

function toFragment(value: unknown): Fragment | undefined {
  if (!isJsonObject(value)) return undefined;
  const body = isJsonObject(value['function']) ? value['function'] : value;
  // Some servers repeat the word of the schema, use Anthropic's, or write the arguments beside the function.
  const args = [body, value]
    .flatMap((at) => [at['arguments'], at['parameters'], at['input']])
    .find((one) => one !== undefined && one !== null);
  const id = typeof value['id'] === 'number' ? String(value['id']) : value['id'];
  return {
    id: typeof id === 'string' ? id.trim() : '',
    index: toIndex(value['index']),
    name: typeof body['name'] === 'string' ? withoutTokens(body['name']) : '',
    text: toText(args),
    isWhole: isJsonObject(args),
    ...toExtra(value),
  };
}

/** A signature of reasoning has a few kilobytes; larger values are dropped, as are those too deep to be serialized again. */
function toExtra(call: JsonObject): Pick<Fragment, 'extra'> {
  const kept = callThoughtFields.filter((name) => {
    const content = call[name];
    return isJsonObject(content) && !isDeeperThan(content, limits.jsonDepth) && JSON.stringify(content).length <= limits.argumentsBytes;
  });
  return kept.length === 0 ? {} : { extra: Object.fromEntries(kept.map((name) => [name, call[name]])) };
}

/** Truncates a name to `maxNameLength`, with the mark. Half a surrogate pair at the cut would be invalid JSON for strict servers. */
function boundName(name: string): string {
  return name.length <= maxNameLength ? name : name.slice(0, maxNameLength).toWellFormed() + truncationMark;
}

/** Serializes arguments that came as an object instead of a string. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  return isDeeperThan(value, limits.jsonDepth) ? unreadable : JSON.stringify(value);
}

const [quote, backslash] = [0x22, 0x5c] as const;
const space = 0x20;
/** `:`, `,` and `[`: a value follows. */
const valueMarks: ReadonlySet<number> = new Set([0x3a, 0x2c, 0x5b]);
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d] as const;

/** Tracks incrementally whether the first object or array of a JSON text is closed, without reading anything twice. */
class ObjectProgress {
  isComplete = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The last character outside strings that is no white space. */
  #last = 0;

  /** By character codes, which takes a tenth of the time: an answer may have sixteen megabytes of arguments. */
  feed(text: string): void {
    for (let at = 0; at < text.length && !this.isComplete; at += 1) this.#step(text.charCodeAt(at));
  }

  /** Whether a text may go on from here, and is not the beginning of another object. */
  takes(text: string): boolean {
    const next = text.trimStart();
    if (this.#isInString) return this.#isEscaped || !/^\{\s*"/u.test(next);
    return !next.startsWith('{') || valueMarks.has(this.#last);
  }

  #step(code: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === backslash) this.#isEscaped = true;
      else if (code === quote) this.#isInString = false;
      return;
    }
    if (code > space) this.#last = code;
    if (code === quote) this.#isInString = true;
    else if (code === openBrace || code === openBracket) this.#depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      this.#depth -= 1;
      this.isComplete = this.#depth <= 0;
    }
  }
}

/** Kimi's id of a call, which some servers send as the name. */
const counted = /^(functions\..+)[:!]\d{1,6}$/;

/** Servers whose parser of harmony is confused leave its tokens behind the name: `search<|channel|>commentary`. */
function withoutTokens(name: string): string {
  const at = name.indexOf('<|');
  return (at <= 0 ? name : name.slice(0, at)).replace(counted, '$1');
}
