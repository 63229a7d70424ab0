import type { Response } from 'openai/resources/responses/responses';
import type { ModelEvent, ToolCall } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import { isDeeperThan, isJsonObject, textIn, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { finishEvents, requireEnded } from '../answers/finish-reasons.ts';
import { OutputLimit } from '../answers/output-limit.ts';
import { ToolCallAssembler, unreadable } from '../answers/tool-call-assembler.ts';
import { toUsage } from '../openai/to-usage.ts';
import type { BackendClient } from '../transport/backend-client.ts';
import { isPhase, reasoningItems, toReturnedItem, type TurnItem } from './turn-items.ts';

/** Output items of one response; far more than the calls of a round, with text, reasoning and hosted calls between them. */
const maxItems = 1_000;
/** Parts of one item; a message has a few. */
const maxParts = 1_000;
/** Serialized reasoning, which is sent back in every later request of the chat. */
const maxKeptCharacters = 2 * 1024 * 1024;

/** The parts of an item that are streamed in pieces. */
type Part = 'text' | 'refusal' | 'summary' | 'thinking';

interface OutputItem {
  readonly position: number;
  type: string;
  id: string | undefined;
  /** The complete item has arrived. */
  isDone: boolean;
  /** Characters emitted so far, by part. */
  said: Map<string, number>;
  callId: string | number | undefined;
  name: string | undefined;
  /** The arguments from deltas, and the complete ones, which take precedence. */
  pieces: string;
  whole: JsonValue | undefined;
  hasAnnotations: boolean;
  turnItem: TurnItem | undefined;
}

interface ReaderOptions {
  client: BackendClient;
  makeCallId: () => string;
}

/**
 * Converts a streamed or complete response to model events. Text and reasoning are emitted as they arrive; calls, kept reasoning and usage at
 * the end, so that a truncated stream calls nothing. Servers omit, repeat and reorder events, so each event adds only what is still missing.
 */
export class ResponseReader {
  /** The response has ended. */
  isComplete = false;
  readonly #client: BackendClient;
  readonly #makeCallId: () => string;
  readonly #meter: OutputLimit;
  readonly #items: OutputItem[] = [];
  /** By `output_index`. */
  readonly #byPosition = new Map<number, OutputItem>();
  #lastSpeaker: OutputItem | undefined;
  #lastThinker: string | undefined;
  #keptCharacters = 0;
  #events: ModelEvent[] = [];

  constructor({ client, makeCallId }: ReaderOptions) {
    this.#client = client;
    this.#makeCallId = makeCallId;
    this.#meter = new OutputLimit(client.name);
  }

  /** Whether any output item has arrived. */
  get hasItems(): boolean {
    return this.#items.length > 0;
  }

  /** Reads one event of a stream. @throws GatewayError for an error that it reports */
  read(event: JsonObject): ModelEvent[] {
    this.#events = [];
    const type = textIn(event['type']);
    switch (type) {
      case 'response.output_item.added':
        if (isJsonObject(event['item'])) this.#describe(this.#itemOf(event, textIn(event['item']['type'])), event['item']);
        break;
      case 'response.output_item.done':
        if (isJsonObject(event['item'])) this.#settle(this.#itemOf(event, textIn(event['item']['type'])), event['item']);
        break;
      case 'response.output_text.delta':
        this.#say(this.#itemOf(event, 'message'), partOf('text', event), textIn(event['delta']));
        this.#addLogprobs(event['logprobs']);
        break;
      case 'response.output_text.done':
        this.#sayRest(this.#itemOf(event, 'message'), partOf('text', event), event['text']);
        break;
      case 'response.output_text.annotation.added':
        this.#annotate(this.#itemOf(event, 'message'), [event['annotation']]);
        break;
      case 'response.refusal.delta':
        this.#say(this.#itemOf(event, 'message'), partOf('refusal', event), textIn(event['delta']));
        break;
      case 'response.refusal.done':
        this.#sayRest(this.#itemOf(event, 'message'), partOf('refusal', event), event['refusal']);
        break;
      case 'response.reasoning_summary_text.delta':
        this.#say(this.#itemOf(event, 'reasoning'), partOf('summary', event), textIn(event['delta']));
        break;
      case 'response.reasoning_summary_text.done':
        this.#sayRest(this.#itemOf(event, 'reasoning'), partOf('summary', event), event['text']);
        break;
      case 'response.reasoning_text.delta':
        this.#say(this.#itemOf(event, 'reasoning'), partOf('thinking', event), textIn(event['delta']));
        break;
      case 'response.reasoning_text.done':
        this.#sayRest(this.#itemOf(event, 'reasoning'), partOf('thinking', event), event['text']);
        break;
      case 'response.function_call_arguments.delta':
        if (isJsonObject(event['delta'])) this.#setArguments(this.#itemOf(event, 'function_call'), event['delta']);
        else this.#addArguments(this.#itemOf(event, 'function_call'), textIn(event['delta']));
        break;
      case 'response.function_call_arguments.done':
        this.#setArguments(this.#itemOf(event, 'function_call'), event['arguments']);
        break;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        this.#end(isJsonObject(event['response']) ? event['response'] : {}, type.slice('response.'.length));
        break;
      case 'error':
        throw this.#reported(isJsonObject(event['error']) ? event['error'] : event);
      default:
        if (type === '' && isJsonObject(event['error'])) throw this.#reported(event['error']);
    }
    return this.#events;
  }

  /** Reads a response that is not streamed. @throws GatewayError if it is malformed or has failed */
  readWhole(response: JsonObject): ModelEvent[] {
    this.#events = [];
    const { status, output, error } = response;
    if (isJsonObject(error)) throw this.#reported(error);
    if (!Array.isArray(output)) throw this.#client.invalid('answers without output');
    this.#end(response, textIn(status) || 'completed');
    return this.#events;
  }

  /** `named`: the status in the event's name, used if the response has none. */
  #end(response: JsonObject, named: string): void {
    const { status, error, output, usage, incomplete_details: details, service_tier: tier } = response;
    const ending = textIn(status) || named;
    if (ending === 'failed') throw this.#reported(isJsonObject(error) ? error : {});
    // It was cancelled, or is still running in the background.
    if (ending !== 'completed' && ending !== 'incomplete') throw this.#client.incomplete();
    if (Array.isArray(output)) this.#addMissing(output);
    if (typeof tier === 'string') this.#events.push({ type: 'extra', level: 'response', fields: { service_tier: tier } });
    const reason = ending === 'completed' ? 'stop' : reasonOf(isJsonObject(details) ? details['reason'] : undefined);
    requireEnded(reason, this.#client);
    const calls = this.#assembleCalls();
    const thought = calls.length === 0 ? undefined : this.#thought();
    if (thought !== undefined) this.#events.push({ type: 'thought', fields: thought });
    for (const call of calls) this.#events.push({ type: 'tool-call', call });
    const counted = toUsage(toChatUsage(usage));
    if (counted !== undefined) this.#events.push({ type: 'usage', usage: counted });
    this.#events.push(...finishEvents(reason, { hasCalls: calls.length > 0 }));
    this.isComplete = true;
  }

  /**
   * Adds items that only the final output has. An item whose id differs there must not be emitted twice, so text and reasoning count only if none were
   * streamed, and a call counts as the next one of its function that no id has found.
   */
  #addMissing(output: readonly JsonValue[]): void {
    const types = new Set(this.#items.map(({ type }) => type));
    const items = output.flatMap((wire, position) => (isJsonObject(wire) ? [{ wire, type: textIn(wire['type']), position }] : []));
    const known = items.map(({ wire, type }) => this.#items.find((one) => one.type === type && isSame(one, wire)));
    const left = this.#items.filter((item) => item.type === 'function_call' && !known.includes(item));
    for (const [index, { wire, type, position }] of items.entries()) {
      const isNamedCall = type === 'function_call' && isText(wire['call_id']);
      const renamed = left.findIndex(({ name }) => isNamedCall && name === wire['name']);
      const item = known[index] ?? left.splice(renamed, renamed === -1 ? 0 : 1)[0];
      if (item !== undefined) this.#settle(item, wire);
      else if (isNamedCall || !types.has(type)) this.#settle(this.#add({ type, id: undefined, position }), wire);
    }
  }

  /** Finds or adds the item of an event. Some servers change its id between events; others number all items 0, or none. */
  #itemOf(event: JsonObject, type: string): OutputItem {
    const { output_index: position, item_id: id, item } = event;
    const named = textIn(id) || (isJsonObject(item) ? textIn(item['id']) : '');
    const there = typeof position === 'number' ? this.#byPosition.get(position) : undefined;
    const isOver = there?.isDone === true && named !== '' && there.id !== undefined && there.id !== named;
    if (there?.type === type && !isOver) return there;
    const known = this.#items.findLast((one) => one.type === type && (named === '' ? position === undefined : one.id === named));
    return known ?? this.#add({ type, id: named || undefined, position });
  }

  #add({ type, id, position }: { type: string; id: string | undefined; position: JsonValue | undefined }): OutputItem {
    if (this.#items.length >= maxItems) throw this.#client.invalid(`sends more than ${maxItems} items in one answer`);
    this.#meter.add(type.length + (id?.length ?? 0));
    const item: OutputItem = {
      position: typeof position === 'number' ? position : this.#items.length,
      type,
      id,
      isDone: false,
      said: new Map(),
      callId: undefined,
      name: undefined,
      pieces: '',
      whole: undefined,
      hasAnnotations: false,
      turnItem: undefined,
    };
    this.#items.push(item);
    if (typeof position === 'number') this.#byPosition.set(position, item);
    return item;
  }

  #settle(item: OutputItem, wire: JsonObject): void {
    this.#describe(item, wire);
    item.isDone = true;
    const { content, summary, phase } = wire;
    switch (item.type) {
      case 'message':
        for (const [index, part] of entriesOf(content)) this.#settlePart(item, index, part);
        item.turnItem = { type: 'message', ...(isPhase(phase) && { phase }) };
        break;
      case 'reasoning':
        for (const [index, part] of entriesOf(summary)) this.#sayRest(item, `summary ${index}`, part['text']);
        for (const [index, part] of entriesOf(content)) this.#sayRest(item, `thinking ${index}`, part['text']);
        this.#keep(item, wire);
        break;
      case 'function_call':
        this.#setArguments(item, wire['arguments']);
        break;
      default:
        this.#keep(item, wire);
    }
  }

  /** What is kept of an item's names counts like what it says. */
  #describe(item: OutputItem, { id, call_id: callId, name }: JsonObject): void {
    item.id ??= this.#word(id);
    item.callId ??= typeof callId === 'number' ? callId : this.#word(callId);
    item.name ??= this.#word(name);
  }

  #word(value: JsonValue | undefined): string | undefined {
    const word = textIn(value);
    this.#meter.add(word.length);
    return word || undefined;
  }

  #settlePart(item: OutputItem, index: number, part: JsonObject): void {
    const { type, text, refusal, annotations, logprobs } = part;
    if (type === 'refusal') return this.#sayRest(item, `refusal ${index}`, refusal);
    const isNew = !item.said.has(`text ${index}`);
    this.#sayRest(item, `text ${index}`, text);
    if (isNew) this.#addLogprobs(logprobs);
    if (!item.hasAnnotations && Array.isArray(annotations)) this.#annotate(item, annotations);
  }

  #sayRest(item: OutputItem, part: string, whole: JsonValue | undefined): void {
    this.#say(item, part, textIn(whole).slice(item.said.get(part) ?? 0));
  }

  /** `part`: kind and index. A blank line separates messages, and parts of the reasoning. */
  #say(item: OutputItem, part: string, text: string): void {
    if (text === '') return;
    this.#meter.add(text.length);
    const before = item.said.get(part) ?? 0;
    if (item.said.size >= maxParts && before === 0) throw this.#client.invalid(`sends more than ${maxParts} parts in one item`);
    item.said.set(part, before + text.length);
    switch (part.split(' ')[0] as Part) {
      case 'text': {
        const isNext = this.#lastSpeaker !== undefined && this.#lastSpeaker !== item;
        this.#lastSpeaker = item;
        this.#events.push({ type: 'text', text: isNext ? `\n\n${text}` : text });
        break;
      }
      case 'refusal':
        this.#events.push({ type: 'extra', level: 'delta', fields: { refusal: text } });
        break;
      case 'summary':
      case 'thinking': {
        const thinker = `${this.#items.indexOf(item)} ${part}`;
        const isNext = this.#lastThinker !== undefined && this.#lastThinker !== thinker;
        this.#lastThinker = thinker;
        this.#events.push({ type: 'reasoning', text: isNext ? `\n\n${text}` : text });
      }
    }
  }

  #addArguments(item: OutputItem, piece: string): void {
    this.#meter.add(piece.length);
    // Oversized arguments are refused when the call would run; here they only have to stop growing.
    if (item.pieces.length <= limits.argumentsBytes) item.pieces += piece;
  }

  #setArguments(item: OutputItem, whole: JsonValue | undefined): void {
    if (whole === undefined || whole === null || whole === '') return;
    const isTooDeep = typeof whole !== 'string' && isDeeperThan(whole, limits.jsonDepth);
    const written = isTooDeep ? unreadable : typeof whole === 'string' ? whole : JSON.stringify(whole);
    // Some servers end a call with an empty object, whatever they have sent of it.
    if (written === '{}' && item.pieces.trim() !== '') return;
    this.#meter.add(Math.max(0, written.length - item.pieces.length));
    item.whole = isTooDeep ? unreadable : whole;
  }

  /** Citations of a hosted search, in the format of chat completions. */
  #annotate(item: OutputItem, annotations: readonly (JsonValue | undefined)[]): void {
    const cited = annotations.flatMap((annotation): JsonObject[] => {
      if (!isJsonObject(annotation) || annotation['type'] !== 'url_citation' || isDeeperThan(annotation, 2)) return [];
      const { type, ...citation } = annotation;
      return [{ type, url_citation: citation }];
    });
    if (cited.length === 0) return;
    item.hasAnnotations = true;
    this.#meter.add(JSON.stringify(cited).length);
    this.#events.push({ type: 'extra', level: 'delta', fields: { annotations: cited } });
  }

  #addLogprobs(logprobs: JsonValue | undefined): void {
    if (!Array.isArray(logprobs) || logprobs.length === 0 || isDeeperThan(logprobs, limits.jsonDepth)) return;
    this.#events.push({ type: 'extra', level: 'choice', fields: { logprobs: { content: logprobs } } });
  }

  #keep(item: OutputItem, wire: JsonObject): void {
    const returned = item.turnItem !== undefined || isDeeperThan(wire, limits.jsonDepth) ? undefined : toReturnedItem(wire);
    if (returned === undefined) return;
    const characters = JSON.stringify(returned).length;
    this.#meter.add(characters);
    this.#keptCharacters += characters;
    item.turnItem = returned;
  }

  /** Undefined if there is nothing to send back. The API refuses a part of a turn's reasoning, so a turn with too much loses all of it. */
  #thought(): JsonObject | undefined {
    if (this.#keptCharacters === 0 || this.#keptCharacters > maxKeptCharacters) return undefined;
    const output = this.#inOrder();
    const isSplit = output.filter((item) => item.turnItem?.type === 'message').length > 1;
    const items = output.flatMap((item): TurnItem[] => {
      if (item.type === 'function_call') return [{ type: item.type }];
      if (item.turnItem === undefined) return [];
      return [isSplit && item.type === 'message' ? { ...item.turnItem, characters: textLength(item) } : item.turnItem];
    });
    return { [reasoningItems]: items as JsonObject[] };
  }

  #assembleCalls(): ToolCall[] {
    const calls = new ToolCallAssembler({ makeId: this.#makeCallId });
    const items = this.#inOrder().filter(({ type }) => type === 'function_call');
    for (const [index, { id, callId, name, whole, pieces }] of items.entries())
      calls.add({ id: callId ?? id, index, name, arguments: whole ?? pieces });
    return calls.finish();
  }

  /** The items by position, without repetitions of a call. */
  #inOrder(): OutputItem[] {
    const items = this.#items.toSorted((one, other) => one.position - other.position);
    const made = new Set<string>();
    return items.filter((item) => {
      const call = identityOf(item);
      if (call === undefined) return true;
      const isRepeated = made.has(call);
      made.add(call);
      return !isRepeated;
    });
  }

  #reported(error: JsonObject): Error {
    const status = statusOfCode(textIn(error['code']) || textIn(error['type']));
    return this.#client.reported({ error: { ...error, ...(status !== undefined && { status }) } });
  }
}

function textLength({ said }: OutputItem): number {
  return [...said].reduce((sum, [part, characters]) => (part.startsWith('text ') ? sum + characters : sum), 0);
}

function isSame({ id, callId }: OutputItem, item: JsonObject): boolean {
  return (isText(id) && id === item['id']) || (isText(callId) && callId === item['call_id']);
}

function isText(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value !== '';
}

/** What two items of the same call have in common; undefined: nothing is known. In a set, because comparing each with each takes a second. */
function identityOf({ type, callId, name, whole, pieces }: OutputItem): string | undefined {
  const written = whole ?? pieces;
  return type === 'function_call' && isText(callId) && typeof written === 'string' ? JSON.stringify([callId, name, written]) : undefined;
}

function partOf(kind: Part, { content_index: content, summary_index: summary }: JsonObject): string {
  const index = kind === 'summary' ? summary : content;
  return `${kind} ${typeof index === 'number' ? index : 0}`;
}

function entriesOf(parts: JsonValue | undefined): [number, JsonObject][] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part, index): [number, JsonObject][] => (isJsonObject(part) ? [[index, part]] : []));
}

/** Why a response is incomplete, as the finish reason of chat completions. */
function reasonOf(reason: JsonValue | undefined): string {
  const known = reason as NonNullable<Response.IncompleteDetails['reason']> | undefined;
  return known === 'max_output_tokens' ? 'length' : textIn(known) || 'incomplete';
}

/** The HTTP status for the code of an error in a response with status 200. Undefined: a fault of the server, or a code that `client.reported` knows. */
function statusOfCode(code: string): number | undefined {
  if (/^(?:insufficient_quota|usage_limit_reached)$/.test(code)) return 429;
  if (/^(?:server_is_overloaded|slow_down)$/.test(code)) return 503;
  return /^(?:invalid_|image_|empty_image|unsupported_|failed_to_download)|_policy|data_residency/.test(code) ? 400 : undefined;
}

/** Renames the counts to those of chat completions, under which usage is summed. */
function toChatUsage(usage: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { input_tokens: prompt, output_tokens: completion, total_tokens: total, ...others } = usage;
  const { input_tokens_details: prompted, output_tokens_details: completed, ...further } = others;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
    ...further,
    ...(isJsonObject(prompted) && { prompt_tokens_details: prompted }),
    ...(isJsonObject(completed) && { completion_tokens_details: completed }),
  };
}
