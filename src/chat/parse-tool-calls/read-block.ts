import { limits } from '../../core/limits.ts';
import { damagedCall, entriesTo, entryTo, noCall, type Entries, type ReadEntry, type Reading } from './answer-pieces.ts';
import { cutOff, tooFar } from './answer-text.ts';
import { emphasis, innerBlocks, type BlockMark } from './block-marks.ts';
import { withoutLostArguments } from './forms/call-members.ts';
import { readJsonCalls, readQuotedJson, visibleName } from './forms/json-calls.ts';
import { namedOpenings, readNamedCall } from './forms/named-calls.ts';
import { readServerCall, serverOpenings } from './forms/server-calls.ts';
import { readPrintedCall, readPythonicCall, readPythonicList } from './forms/pythonic-calls.ts';
import { bare, type Enclosure, type ReadContext } from './read-context.ts';
import { readTagCall, tagForms } from './forms/tag-calls.ts';

/** Characters after a fault within which the closing mark is searched for. */
const maxRecovery = 1024;

/** Maximal characters of white space, comments, separators and opening fences before a call. Without it, an unclosed fence would hold back all text. */
const maxBetweenCalls = 16 * 1024;

/** Number of calls after which a selection is read no further; those beyond `limits.callsPerRound` do not run anyway. */
export const maxSelected = 2 * limits.callsPerRound;

/**
 * Reads calls one after another, in any form, up to the closing mark of the block or to something that is no call. If the text ends inside a call,
 * `read` throws `NeedsMoreText`; called again with more text, it continues after the last complete call.
 */
export class BlockReader {
  readonly #context: ReadContext;
  /** What encloses the next call: the block itself, and the last of the blocks within it that have not ended. */
  readonly #enclosures: Enclosure[];
  readonly #entries: ReadEntry[] = [];
  /** A call, or an explicit nothing, was read. */
  #isRead = false;
  /** Where the last call ended. */
  #end: number;
  #position: number;
  #reading: Reading | undefined;

  constructor(context: ReadContext, start: number, enclosure: Enclosure) {
    this.#context = context;
    this.#enclosures = [enclosure];
    this.#end = start;
    this.#position = start;
  }

  read(): Reading {
    for (;;) {
      this.#reading ??= this.#readOn();
      if (this.#reading !== undefined) return this.#reading;
    }
  }

  get #enclosure(): Enclosure {
    return this.#enclosures.at(-1) ?? bare;
  }

  /** Reads one call or separator. Returns the result of the block once it is decided. */
  #readOn(): Reading | undefined {
    const { input, isSelection } = this.#context;
    const { isMarked, open, closes, allowsComments } = this.#enclosure;
    const entries = this.#entries;
    const position = input.skipSpace(this.#position);
    const whole = (end: number): Reading => (this.#isRead ? entriesTo(end, entries) : noCall(position));
    const close = this.#isRead ? input.firstOf(closes, position) : undefined;
    if (close !== undefined) return this.#leave(close, position);
    if (position >= input.text.length) return whole(position);
    // After an explicit empty selection no call counts.
    const isNothing = this.#isRead && entries.length === 0 && !isMarked;
    if (position - this.#end > maxBetweenCalls || (isSelection && entries.length > maxSelected) || isNothing) return whole(this.#end);
    if (isMarked && tagForms.at(input, position) !== undefined) return this.#readCall(position);
    if (this.#isRead && open !== undefined && input.startsWith(open, position)) return whole(this.#end);
    const block = isMarked ? this.#blockAt(position) : undefined;
    const character = input.at(position);
    if (block !== undefined) this.#enter(block, position);
    else if (this.#isRead && ',;]}'.includes(character)) this.#position = position + 1;
    else if (isMarked && input.startsWith(emphasis, position)) this.#position = position + emphasis.length;
    else if (allowsComments === true && (character === '#' || input.startsWith('//', position))) {
      const lineEnd = input.find('\n', position, maxRecovery);
      if (lineEnd === tooFar) return whole(this.#end);
      this.#position = lineEnd === cutOff ? input.text.length : lineEnd + 1;
    } else if (closes.length > 0 && input.startsWith('```', position)) this.#position = input.nameEnd(position + 3);
    else return this.#readCall(position);
    return undefined;
  }

  #blockAt(position: number): BlockMark | undefined {
    const block = innerBlocks.at(this.#context.input, position);
    return this.#enclosures.some(({ open }) => open === block?.open) ? undefined : block;
  }

  /** Marks of a block that stands in another, as in `<tool_calls><tool_call>…`. What closes the outer one closes both. */
  #enter({ open, closes }: BlockMark, position: number): void {
    const outer = this.#enclosure;
    if (closes.length > 0) this.#enclosures.push({ ...outer, open, closes: [...closes, ...outer.closes] });
    this.#position = position + open.length;
  }

  /** The result of the whole block if its own closing mark stands at the position. */
  #leave(close: string, position: number): Reading | undefined {
    this.#end = position + close.length;
    const level = this.#enclosures.findIndex(({ closes }) => closes.includes(close));
    if (level === 0) return entriesTo(this.#end, this.#entries);
    this.#enclosures.length = level;
    this.#position = this.#end;
    return undefined;
  }

  #readCall(position: number): Reading | undefined {
    const reading = readInAnyForm(this.#context, position, this.#enclosure);
    if (reading.type === 'none' && this.#enclosure.isMarked) {
      const damaged = skipDamaged(this.#context, this.#enclosure, { position, failedAt: reading.at });
      if (damaged !== undefined) return entriesTo(damaged.end, [...this.#entries, ...damaged.entries]);
    }
    if (reading.type !== 'entries') {
      const last = this.#entries.at(-1);
      if (reading.type === 'data' && last !== undefined && this.#enclosure.closes.length > 0)
        this.#entries.splice(-1, 1, withoutLostArguments(last));
      return this.#isRead ? entriesTo(this.#end, this.#entries) : reading;
    }
    for (const entry of reading.entries)
      this.#entries.push(this.#entries.length < limits.callsPerRound ? entry : damagedCall('too_large', entry.text, entry.name));
    this.#isRead = true;
    this.#end = reading.end;
    this.#position = reading.end;
    return undefined;
  }
}

/** The forms, told apart by their first characters. */
function readInAnyForm(context: ReadContext, at: number, enclosure: Enclosure): Reading {
  const { input } = context;
  const { isMarked, allowsPythonicCalls, allowsPrint } = enclosure;
  const character = input.at(at);
  if (character === '{') return readJsonCalls(context, at, enclosure);
  if (character === '[') {
    const isPythonic = /[\p{L}_]/u.test(input.at(input.skipSpace(at + 1)));
    return isPythonic ? readPythonicList(context, at, enclosure) : readJsonCalls(context, at, enclosure);
  }
  if (allowsPrint === true && input.startsWith('print(', at)) return readPrintedCall(context, at, enclosure);
  if (character === '"' && (isMarked || allowsPythonicCalls === true)) return readQuotedJson(context, at, enclosure);
  if (isMarked && tagForms.at(input, at) !== undefined) return readTagCall(context, at);
  if (isMarked && (character !== '<' || input.firstOf(namedOpenings, at) !== undefined)) return readNamedCall(context, at, enclosure);
  if (isMarked && input.firstOf(serverOpenings, at) !== undefined) return readServerCall(context, at);
  return allowsPythonicCalls === true ? readPythonicCall(context, at, enclosure) : noCall(at);
}

/** Turns unreadable JSON between marks into a damaged call up to the closing mark, so that the next block is found. */
function skipDamaged(
  { input }: ReadContext,
  { open, closes }: Enclosure,
  { position, failedAt }: { position: number; failedAt: number },
): Entries | undefined {
  const mark = closes[0];
  if (!'{["'.includes(input.at(position))) return undefined;
  const close = mark === undefined ? -1 : input.find(mark, position, failedAt - position + maxRecovery);
  // If the closing mark is missing, stop before the next block.
  const next = close < 0 || open === undefined ? -1 : input.text.slice(failedAt, close).indexOf(open);
  const stop = next !== -1 ? failedAt + next : close < 0 ? failedAt : close;
  const end = stop === close && mark !== undefined ? close + mark.length : stop;
  const text = input.text.slice(position, stop);
  const name = visibleName(text);
  return name === undefined ? undefined : entryTo(end, damagedCall('malformed', text, name));
}
