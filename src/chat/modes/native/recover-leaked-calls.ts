import { isBlank } from '../../../shared/text/is-blank.ts';
import { setImmediate as nextTick } from 'node:timers/promises';
import { warningEvent } from '../../../core/chat/caller-warning.ts';
import type { ModelEvent, ToolCall } from '../../../core/chat/chat.ts';
import { UnreadableCallError } from '../../../core/errors.ts';
import type { Emit } from '../../../shared/async/emit.ts';
import { isDeeperThan, type JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../../core/models/model.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { callerSpecs } from '../../tool-choice/caller-functions.ts';
import { canonicalJson } from '../../fit-calls/canonical-json.ts';
import type { AnswerPiece, DamagedCall } from '../../parse-tool-calls/answer-pieces.ts';
import { postponesCall } from '../../parse-tool-calls/selection/meant-calls.ts';
import { createToolCallParser, type ToolCallParser } from '../../parse-tool-calls/tool-call-parser.ts';
import { AnswerRepairs, repairedInPlace } from '../../parse-tool-calls/json/repair-json.ts';
import { demandedForm } from '../demanded-form.ts';
import { repairInWorker } from '../repair-in-worker.ts';
import { sliceCharacters, slicesOf } from '../slices-of.ts';
import { ReadTexts } from './read-texts.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';

interface RecoveryOptions {
  backend: ModelBackend;
  newCallId: () => string;
  caller: { readonly id: string };
}

/**
 * Recovers calls that a model with native calls leaks into its text. Does nothing when no functions are offered, when calls are forbidden, or when
 * the caller demands an output format. The parser's strict rules apply (`isNative`): what the model has read (`ReadTexts`) never runs.
 */
export function recoverLeakedCalls({ backend, newCallId, caller }: RecoveryOptions): ModelBackend {
  return {
    answer(request, emit) {
      if (request.toolChoice === 'none' || demandedForm(request.parameters) !== undefined) return backend.answer(request, emit);
      const { tools, callerTools } = request;
      const specs = callerTools.length === 0 ? tools : [...tools, ...callerSpecs(callerTools)];
      if (specs.length === 0) return backend.answer(request, emit);
      return answerWithLeakedCalls({ backend, newCallId, caller }, { request, specs, emit });
    },
  };
}

interface LeakedCall {
  name: string;
  /** Raw JSON text, as in a native call. */
  arguments: string;
  /** As it was written, without marks around it. */
  text: string;
  /** Its arguments cannot be read. It is passed on so that the model is told. */
  isDamaged?: true;
}

interface RecoveredAnswer {
  request: ModelRequest;
  specs: readonly ToolSpec[];
  emit: Emit<ModelEvent>;
}

async function answerWithLeakedCalls(
  { backend, newCallId, caller }: RecoveryOptions,
  { request, specs, emit }: RecoveredAnswer,
): Promise<void> {
  const answer: ReadAnswer = { request, specs, caller, quotes: new ReadTexts(request, caller) };
  const reader = new LeakReader(answer, emit);
  try {
    await backend.answer(request, (events) => reader.readEvents(events));
  } catch (error) {
    const calls =
      error instanceof UnreadableCallError ? await callsIn(error.written, new LeakReader(answer, unheard), reader.hasSpoken) : [];
    if (calls.length === 0) throw error;
    await reader.end();
    const taken = eventsOf(calls, 'that its backend could not read', newCallId);
    return emit([...reader.takeAsText(), ...taken, { type: 'finish', reason: 'tool_calls' }]);
  }
  const slow = reader.end();
  if (slow !== undefined) await slow;
  const { leaked, native, finish, read } = reader;
  // What has arrived may be half of what the model meant, so calls in the text stay text.
  if (finish?.unknownReason !== undefined) return emit([...reader.takeAsText(), finish]);
  const recovered = leaked.length === 0 ? leaked : await withoutNativeCalls(leaked, native);
  const isThought = reader.hasOnlyThought && finish?.reason === 'stop';
  const thought = isThought ? await callsAtEndOf(reader.thoughts, new LeakReader(answer, unheard)) : noCalls;
  const hasCalls = recovered.length + thought.length > 0;
  if (hasCalls) {
    read.push(...eventsOf(recovered, 'into its text', newCallId));
    read.push(...eventsOf(thought, 'into its thoughts, and said nothing else', newCallId));
  }
  if (finish !== undefined) read.push(hasCalls && finish.reason === 'stop' ? { ...finish, reason: 'tool_calls' } : finish);
  const slowAtEnd = emit(read);
  if (slowAtEnd !== undefined) await slowAtEnd;
}

const noCalls: readonly LeakedCall[] = [];

/** `where`: where the model wrote them. */
function eventsOf(calls: readonly LeakedCall[], where: string, newCallId: () => string): ModelEvent[] {
  return calls.flatMap((call): ModelEvent[] => [
    warningEvent({ code: 'call_rescued', message: `The model wrote a call of "${call.name}" ${where}. It is taken as a call.` }),
    { type: 'tool-call', call: { id: newCallId(), name: call.name, arguments: call.arguments } },
  ]);
}

/** For a text of which the user reads nothing. */
const unheard: Emit<ModelEvent> = () => undefined;

/**
 * The calls in a text that a backend could not read itself, if all of them can be read: it may have been cut off, and half of what the model meant does not
 * run. Words before it rule out calls without marks.
 */
async function callsIn(written: string | undefined, reader: LeakReader, followsWords: boolean): Promise<LeakedCall[]> {
  if (written === undefined || written === '') return [];
  await reader.readText(followsWords ? `Said:\n${written}` : written, true);
  return reader.hasDamaged ? [] : reader.leaked;
}

/**
 * The calls with which thoughts end that were never closed. The model may as well think about calls that it does not make: then it thinks on, or says so
 * before them. Words before the thoughts rule out calls without marks.
 */
async function callsAtEndOf(thoughts: string, reader: LeakReader): Promise<LeakedCall[]> {
  await reader.readText(`Thoughts:\n${thoughts}`, false);
  const isPlan = reader.leakedAmid > 0 || postponesCall(reader.said);
  return isPlan || reader.hasDamaged ? [] : reader.leaked;
}

interface ReadAnswer {
  /** With the gateway's own functions. */
  request: ModelRequest;
  /** All functions. */
  specs: readonly ToolSpec[];
  caller: { readonly id: string };
  quotes: ReadTexts;
}

/** Characters at the end of thoughts in which calls are looked for: the longest arguments fit. */
const searchedThoughts = limits.argumentsBytes;
/** Characters of text before calls that may speak against them. */
const searchedWords = 400;

/** Reads one answer and emits everything that is not a call. Each promise that its methods return must be awaited before the next call. */
class LeakReader {
  readonly native: ToolCall[] = [];
  leaked: LeakedCall[] = [];
  /** How many of them are followed by other text. */
  leakedAmid = 0;
  finish: Extract<ModelEvent, { type: 'finish' }> | undefined;
  /** The end of all thoughts. */
  thoughts = '';
  /** A call could not be read. */
  hasDamaged = false;
  /** Events that are not emitted yet. */
  read: ModelEvent[] = [];
  readonly #answer: ReadAnswer;
  readonly #emit: Emit<ModelEvent>;
  readonly #repairs = new AnswerRepairs({ inPlace: repairedInPlace });
  readonly #parser: ToolCallParser;
  hasSpoken = false;
  #said = '';

  constructor(answer: ReadAnswer, emit: Emit<ModelEvent>) {
    this.#answer = answer;
    this.#emit = emit;
    this.#parser = createToolCallParser({ tools: answer.specs, isNative: true, quotes: answer.quotes, repairs: this.#repairs });
  }

  /** The end of all text that was said. */
  get said(): string {
    return this.#said.slice(-searchedWords);
  }

  /** Nothing was said or called. */
  get hasOnlyThought(): boolean {
    return this.thoughts !== '' && !this.hasSpoken && this.native.length === 0 && this.leaked.length === 0;
  }

  /** What is not emitted yet, with the calls as text. */
  takeAsText(): ModelEvent[] {
    const text = this.leaked.flatMap(({ name, text: written }) =>
      leftAsText({ type: 'damaged', reason: 'truncated', name, text: written }),
    );
    return [...this.read.splice(0), ...text];
  }

  /** Reads a whole text that is not part of the answer. `isCut`: it may lack its end. */
  async readText(text: string, isCut: boolean): Promise<void> {
    await this.readEvents([{ type: 'text', text }]);
    await this.end(isCut);
  }

  readEvents(events: readonly ModelEvent[]): Promise<void> | undefined {
    let count = 0;
    for (const event of events) {
      const slow = this.#readEvent(event);
      count += 1;
      if (slow !== undefined) return slow.then(() => this.readEvents(events.slice(count)));
    }
    return this.#emitRead();
  }

  #readEvent(event: ModelEvent): Promise<void> | undefined {
    const isFirstChoice = !('choice' in event) || (event.choice ?? 0) === 0;
    if (event.type === 'text' && isFirstChoice)
      return event.text.length > sliceCharacters ? this.#readSlices(event.text) : this.#readSlice(event.text);
    if (event.type === 'tool-call') this.native.push(event.call);
    if (event.type === 'reasoning' && isFirstChoice) this.#think(event.text);
    if (event.type === 'extra' && event.level === 'delta') this.hasSpoken = true;
    if (event.type === 'finish' && isFirstChoice) this.finish = event;
    else this.read.push(event);
    return undefined;
  }

  async #readSlices(text: string): Promise<void> {
    for (const slice of slicesOf(text)) {
      if (slice.isLater) {
        await this.#emitRead();
        await nextTick();
      }
      await this.#readSlice(slice.text);
    }
  }

  #readSlice(text: string): Promise<void> | undefined {
    this.#add(this.#parser.push(text));
    return this.#isPaused ? this.#addAwaited() : undefined;
  }

  end(isCut = this.finish?.reason === 'length'): Promise<void> | undefined {
    this.#add(this.#parser.flush({ isCut }));
    return this.#isPaused ? this.#addAwaited() : undefined;
  }

  async #addAwaited(): Promise<void> {
    const { quotes, caller, request } = this.#answer;
    while (this.#isPaused) {
      await this.#emitRead();
      await (quotes.isAwaited ? quotes.search() : repairInWorker(this.#repairs, { caller, signal: request.signal }));
      this.#add(this.#parser.resume());
    }
  }

  get #isPaused(): boolean {
    return this.#answer.quotes.isAwaited || this.#repairs.awaited !== undefined;
  }

  #add(pieces: readonly AnswerPiece[]): void {
    this.read.push(...this.#answer.quotes.takeWarnings());
    for (const piece of pieces) {
      // One call above the limit is kept, so that the loop notices the excess.
      const isFull = this.leaked.length > limits.callsPerRound && (piece.type === 'call' || piece.type === 'damaged');
      this.hasDamaged ||= piece.type === 'damaged';
      if (piece.type === 'reasoning') this.#addThought(piece.text);
      else if (piece.type === 'text') this.#addText(piece);
      else if (isFull) this.#addText({ type: 'text', text: piece.text });
      else if (piece.type === 'call') this.leaked.push({ name: piece.name, arguments: JSON.stringify(piece.arguments), text: piece.text });
      else if (piece.type === 'damaged' && isMeant(piece, this.#answer.request.tools))
        this.leaked.push({ name: piece.name ?? '', arguments: `unreadable: ${piece.text}`, text: piece.text, isDamaged: true });
      // All text so far turned out to be thinking, whose calls must not run.
      else if (piece.type === 'retraction') this.leaked = [];
      else for (const event of leftAsText(piece)) this.#addText(event);
    }
  }

  #addText(event: ModelEvent): void {
    this.read.push(event);
    if (event.type !== 'text' || isBlank(event.text)) return;
    this.hasSpoken = true;
    this.#said += event.text;
    if (this.#said.length > 2 * searchedWords) this.#said = this.said;
    this.leakedAmid = this.leaked.length;
  }

  #addThought(text: string): void {
    this.read.push({ type: 'reasoning', text });
    this.#think(text);
  }

  #think(text: string): void {
    this.thoughts += text;
    if (this.thoughts.length > 2 * searchedThoughts) this.thoughts = this.thoughts.slice(-searchedThoughts);
  }

  #emitRead(): Promise<void> | undefined {
    const events = this.read;
    this.read = [];
    return this.#emit(events);
  }
}

/** Whether a damaged call is passed on for one of the gateway's functions. The loop never runs it, but reports to the model what is wrong with it. */
function isMeant({ name, reason }: DamagedCall, specs: readonly ToolSpec[]): boolean {
  return reason !== 'unknown_name' && reason !== 'too_large' && specs.some((spec) => spec.name === name);
}

/** A call that cannot be recovered stays in the text, so that nothing of the answer is lost. */
function leftAsText(piece: Exclude<AnswerPiece, { type: 'text' | 'reasoning' | 'call' | 'retraction' }>): ModelEvent[] {
  const text: ModelEvent = { type: 'text', text: piece.text };
  if (piece.type !== 'damaged') return [text];
  const name = piece.name === undefined ? 'a function' : `"${piece.name.slice(0, 200)}"`;
  const message = `The model wrote a call of ${name} into its text that cannot be made (${piece.reason}). It is left as text.`;
  return [warningEvent({ code: 'call_not_rescued', message }), text];
}

/**
 * Drops leaked calls that were also made natively: some servers send a call both ways. Each call is parsed in its own turn of the event loop,
 * because its arguments may be long.
 */
async function withoutNativeCalls(leaked: readonly LeakedCall[], native: readonly ToolCall[]): Promise<LeakedCall[]> {
  const names = new Set(leaked.map(({ name }) => name));
  const nativeKeys = new Set<string>();
  // If the native calls fill the round, no recovered call runs, so the rest need not be compared.
  for (const call of native.slice(0, limits.callsPerRound)) {
    if (!names.has(call.name)) continue;
    await nextTick();
    const key = keyOf(call);
    if (key !== undefined) nativeKeys.add(key);
  }
  if (nativeKeys.size === 0) return [...leaked];
  const recovered: LeakedCall[] = [];
  for (const call of leaked) {
    await nextTick();
    const key = keyOf(call);
    if (key === undefined || !nativeKeys.has(key)) recovered.push(call);
  }
  return recovered;
}

/** Independent of the order of keys. Undefined when the arguments are too long, too deep or no JSON: the loop refuses such a call anyway. */
function keyOf({ name, arguments: text }: Pick<LeakedCall, 'name' | 'arguments'>): string | undefined {
  if (text.length > limits.argumentsBytes) return undefined;
  try {
    const value = parseExactly(text) as JsonValue;
    return isDeeperThan(value, limits.jsonDepth) ? undefined : `${name} ${canonicalJson(value)}`;
  } catch {
    return undefined;
  }
}
