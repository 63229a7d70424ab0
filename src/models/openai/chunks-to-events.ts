import type { ModelEvent, ToolCall, Usage } from '../../core/chat/chat.ts';
import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';
import type { OutputLimit } from '../answers/output-limit.ts';
import { ReasoningDetails } from './reasoning-details.ts';
import { ReasoningSplitter, splitReasoning, type ReasoningPiece } from '../answers/split-reasoning.ts';
import type { ReasoningTemplateCache } from '../answers/reasoning-template-cache.ts';
import { endOf, finishEvents, moreExactReason, requireEnded } from '../answers/finish-reasons.ts';
import { toUsage } from './to-usage.ts';
import { ToolCallAssembler } from '../answers/tool-call-assembler.ts';
import type { BackendClient } from '../transport/backend-client.ts';

interface CompletionContext {
  client: BackendClient;
  model: string;
  templates: ReasoningTemplateCache;
  caller: string | undefined;
  /** The names of the offered functions. */
  toolNames: ReadonlySet<string>;
  makeCallId: () => string;
  meter: OutputLimit;
  /** The number of choices that the caller requested; others are dropped. */
  choices: number;
  /** True for a single JSON response, false for the chunks of a stream. */
  isWhole: boolean;
  /** The answer continues a bare prompt: its choices have `text`, in which nothing is reasoning. */
  isContinuation?: boolean;
}

interface Choice {
  readonly index: number;
  readonly calls: ToolCallAssembler;
  /** The call in the field that `tool_calls` has replaced. A server that fills both means one call. */
  legacyCall: ToolCallAssembler | undefined;
  splitter: ReasoningSplitter | undefined;
  hasReasoningField: boolean;
  details: ReasoningDetails | undefined;
  /** Gemini's signature of a message; those of calls are with the calls. */
  signature: JsonObject | undefined;
  hasDelta: boolean;
  /** It said how it ended, in a choice that may lack a message but has nothing else in its place. */
  hasEnd: boolean;
  finish: string | undefined;
}

/** OpenAI's own maximum of `n`. */
const maxChoices = 128;
/** Fields that the gateway writes itself, and `obfuscation`, which is padding. */
const gatewayFields = ['id', 'object', 'created', 'model', 'choices', 'usage', 'error', 'obfuscation'];
/** The gateway's own extensions: a backend must not speak to the client as the gateway, at any level. */
const extensionFields = ['event', 'sources', 'approval', 'connect'];
const ownDeltaFields = new Set(['role', 'content', 'tool_calls', 'function_call', 'thinking', ...extensionFields]);
const ownChoiceFields = new Set(['index', 'delta', 'message', 'finish_reason', ...extensionFields]);
const ownResponseFields = new Set([...gatewayFields, ...extensionFields]);

/**
 * Converts the chunks of one completion, or one complete response, to events. Text, reasoning and further fields are emitted as they arrive; calls,
 * usage and finish reasons by `finish`, because some backends send fragments of calls after the finish reason.
 */
export class CompletionReader {
  readonly #context: CompletionContext;
  readonly #choices = new Map<number, Choice>();
  /** Further fields of the response, if there are any. */
  #seenFields: Set<string> | undefined;
  /** Further fields of any level that were counted in full. */
  #countedFields: Set<string> | undefined;
  #usage: Usage | undefined;
  #hasEmptyList = false;

  constructor(context: CompletionContext) {
    this.#context = context;
  }

  /** Every choice that began has a finish reason. */
  get isComplete(): boolean {
    return this.#choices.size > 0 && this.#choices.values().every((choice) => choice.finish !== undefined);
  }

  /**
   * Whether any choice has a message, even an empty one, or says how it ended: without either there is no answer. An empty list of choices with usage is an
   * answer in which the model said nothing (Gemini).
   */
  get hasMessages(): boolean {
    if (this.#choices.size === 0 && this.#hasEmptyList && this.#usage !== undefined) return true;
    const choices = this.#choices.values();
    return this.#context.isWhole ? this.#choices.size > 0 && choices.every(isSaid) : choices.some(isSaid);
  }

  /** `characters`: the length of the chunk's text. A complete response is bounded in bytes instead. */
  read(payload: JsonObject, characters = 0): ModelEvent[] {
    const groq = payload['x_groq'];
    const usage = payload['usage'] ?? (groq !== undefined && isJsonObject(groq) ? groq['usage'] : undefined);
    if (usage !== undefined) this.#usage = toUsage(usage) ?? this.#usage;
    const events: ModelEvent[] = [];
    const fields = pickFields(payload, ownResponseFields, this.#seenFields);
    if (fields !== undefined) {
      this.#seenFields ??= new Set();
      for (const key of Object.keys(fields)) this.#seenFields.add(key);
      events.push({ type: 'extra', level: 'response', fields });
    }
    const choices = Array.isArray(payload['choices']) ? payload['choices'] : [];
    this.#hasEmptyList ||= Array.isArray(payload['choices']) && choices.length === 0;
    let position = 0;
    for (const wire of choices) {
      if (isJsonObject(wire)) this.#readChoice(wire, position, events);
      position += 1;
    }
    this.#countFields(events, characters);
    return events;
  }

  /**
   * The text of a payload, if it adds nothing but text to the first choice. Once such a payload has been read, one that differs from it in this text
   * alone can be read by `readText`.
   */
  textAloneIn({ usage, x_groq: groq, choices }: JsonObject): string | undefined {
    if (isThere(usage) || isThere(groq) || !Array.isArray(choices) || this.#context.isContinuation === true) return undefined;
    const [choice, ...others] = choices;
    if (others.length > 0 || !isJsonObject(choice) || !hasNothingBut(choice, ['index', 'delta']) || (choice['index'] ?? 0) !== 0)
      return undefined;
    const { delta } = choice;
    if (!isJsonObject(delta) || !hasNothingBut(delta, ['role', 'content'])) return undefined;
    return typeof delta['content'] === 'string' ? delta['content'] : undefined;
  }

  readText(text: string, events: ModelEvent[]): void {
    const choice = this.#choiceAt(0);
    if (choice !== undefined) this.#readDelta({ content: text }, choice, events);
  }

  /** The remaining events once the answer is complete, with one `finish` per choice at the end. @throws as `requireEnded` */
  finish(): ModelEvent[] {
    const events: ModelEvent[] = [];
    const endings: ModelEvent[] = [];
    if (this.#choices.size === 0) this.#choiceAt(0);
    const choices = [...this.#choices.values()];
    if (choices.length > 1) choices.sort((one, other) => one.index - other.index);
    for (const { finish } of choices) requireEnded(finish, this.#context.client);
    for (const choice of choices) {
      const { splitter } = choice;
      if (splitter !== undefined && !this.#context.isWhole) addPieces(splitter.flush({ isCut: isCut(choice) }), choice.index, events);
      const { templates, model, caller } = this.#context;
      templates.learn(model, splitter?.opensInTemplate, caller);
      const newCalls = choice.calls.finish();
      const legacyCalls = choice.legacyCall?.finish() ?? [];
      const isLegacy = newCalls.length === 0 || (!newCalls.some(hasArguments) && legacyCalls.some(hasArguments));
      const calls = isLegacy ? legacyCalls : newCalls;
      if (calls.length > 0) {
        const thought = { ...choice.signature, ...choice.details?.fields() };
        if (Object.keys(thought).length > 0) events.push(at(choice.index, { type: 'thought', fields: thought }));
        for (const call of calls) events.push(at(choice.index, { type: 'tool-call', call }));
      }
      endings.push(...finishEvents(choice.finish, { hasCalls: calls.length > 0, choice: choice.index }));
    }
    if (this.#usage !== undefined) events.push({ type: 'usage', usage: this.#usage });
    events.push(...endings);
    return events;
  }

  #choiceAt(index: number): Choice | undefined {
    const known = this.#choices.get(index);
    if (known !== undefined || !this.#isWanted(index)) return known;
    const choice: Choice = {
      index,
      calls: this.#newAssembler(),
      legacyCall: undefined,
      splitter: undefined,
      hasReasoningField: false,
      details: undefined,
      signature: undefined,
      hasDelta: false,
      hasEnd: false,
      finish: undefined,
    };
    this.#choices.set(index, choice);
    return choice;
  }

  #newAssembler(): ToolCallAssembler {
    const { makeCallId, toolNames, meter } = this.#context;
    return new ToolCallAssembler({ makeId: makeCallId, names: toolNames, meter });
  }

  /**
   * Further fields are kept by name until the answer ends, so a chunk with a new one counts in full. Of a known one only log probabilities add up:
   * those of a long answer are many times its text.
   */
  #countFields(events: readonly ModelEvent[], characters: number): void {
    let names: string[] | undefined;
    for (const event of events)
      if (event.type === 'extra') (names ??= []).push(...Object.keys(event.fields).map((key) => `${event.level} ${key}`));
    if (names === undefined) return;
    const counted = (this.#countedFields ??= new Set());
    const isNew = names.some((name) => !counted.has(name));
    this.#context.meter.add(isNew ? characters : Math.ceil(characters / 4));
    for (const name of names) counted.add(name);
  }

  #isWanted(index: number): boolean {
    return Number.isInteger(index) && index >= 0 && index < maxChoices && index < this.#context.choices;
  }

  #readChoice(wire: JsonObject, position: number, events: ModelEvent[]): void {
    const choice = this.#choiceAt(typeof wire['index'] === 'number' ? wire['index'] : position);
    if (choice === undefined) return;
    const reason = wire['finish_reason'];
    // Some servers write `null` as a word until the end.
    if (typeof reason === 'string' && reason !== '' && reason !== 'null')
      choice.finish = moreExactReason(reason, wire['native_finish_reason']);
    // Some servers end a stream with the complete message again; it counts only if there were no deltas.
    const delta = isJsonObject(wire['delta']) ? wire['delta'] : choice.hasDelta ? undefined : wire['message'];
    choice.hasEnd ||= choice.finish !== undefined && !isThere(wire['message']);
    const isContinuation = this.#context.isContinuation === true;
    if (isContinuation) this.#readContinuation(wire['text'], choice, events);
    else if (isJsonObject(delta)) this.#readDelta(delta, choice, events);
    const fields = pickFields(wire, ownChoiceFields, isContinuation ? continuationFields : undefined);
    if (fields !== undefined) events.push(at(choice.index, { type: 'extra', level: 'choice', fields }));
  }

  #readContinuation(text: JsonValue | undefined, choice: Choice, events: ModelEvent[]): void {
    if (typeof text !== 'string') return;
    choice.hasDelta = true;
    this.#context.meter.add(text.length);
    if (text !== '') events.push(at(choice.index, { type: 'text', text }));
  }

  #readDelta(delta: JsonObject, choice: Choice, events: ModelEvent[]): void {
    choice.hasDelta = true;
    const reasoning = readReasoning(delta);
    const content = readContent(delta['content']);
    const { refusal } = delta;
    this.#context.meter.add(reasoning.length + content.length + (typeof refusal === 'string' ? refusal.length : 0));
    if (reasoning !== '') {
      choice.hasReasoningField = true;
      const field = reasoningFieldOf(delta);
      events.push(at(choice.index, { type: 'reasoning', text: reasoning, ...(field !== undefined && { field }) }));
    }
    if (delta['reasoning_details'] !== undefined) {
      choice.details ??= new ReasoningDetails();
      this.#context.meter.add(choice.details.add(delta['reasoning_details']));
    }
    if (content !== '') this.#readText(content, choice, events);
    const { isWhole } = this.#context;
    const { tool_calls: written, function_call: legacyCall } = delta;
    if (written !== undefined)
      for (const call of callsIn(written))
        if (isWhole) choice.calls.addWhole(call);
        else choice.calls.add(call);
    if (legacyCall !== undefined && isJsonObject(legacyCall)) {
      choice.legacyCall ??= this.#newAssembler();
      choice.legacyCall.add(legacyCall);
    }
    const fields = pickFields(delta, ownDeltaFields, reasoningNames);
    if (fields !== undefined) events.push(at(choice.index, { type: 'extra', level: 'delta', fields }));
    if (fields?.['extra_content'] !== undefined) choice.signature = { extra_content: fields['extra_content'] };
  }

  #readText(text: string, choice: Choice, events: ModelEvent[]): void {
    const { templates, model, caller, isWhole } = this.#context;
    if (choice.splitter !== undefined) return addPieces(choice.splitter.push(text), choice.index, events);
    // A backend that separates the reasoning itself has removed it from the text.
    const isOpen = templates.startsInReasoning(model, caller) && !choice.hasReasoningField;
    if (isWhole) {
      const split = splitReasoning(text, { isOpen, isCut: isCut(choice) });
      choice.splitter = split.splitter;
      if (split.reasoning !== '') events.push(at(choice.index, { type: 'reasoning', text: split.reasoning }));
      if (split.text !== '') events.push(at(choice.index, { type: 'text', text: split.text }));
      return;
    }
    choice.splitter = new ReasoningSplitter({ isOpen });
    addPieces(choice.splitter.push(text), choice.index, events);
  }
}

/** Some servers send a single call without the list around it, or the list as text. */
function callsIn(written: JsonValue | undefined): JsonValue[] {
  const calls = typeof written === 'string' ? parseJson(written) : written;
  if (isJsonObject(calls)) return [calls];
  return Array.isArray(calls) ? calls : [];
}

/** `content` as a string, or as parts of which only text counts (Mistral). */
function readContent(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isJsonObject(part) && part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

/** Reasoning that the backend has separated itself. */
function readReasoning(delta: JsonObject): string {
  const field = reasoningFieldOf(delta);
  const text = field === undefined ? undefined : delta[field];
  if (typeof text === 'string') return text;
  return Array.isArray(delta['content']) ? readThinkingParts(delta['content']) : '';
}

/** Some servers send the same reasoning under two field names: the first non-empty one counts. */
function reasoningFieldOf(delta: JsonObject): string | undefined {
  return reasoningFields.find((field) => typeof delta[field] === 'string' && delta[field] !== '');
}

const reasoningFields = ['reasoning_content', 'reasoning', 'thinking'] as const;

/** Mistral's `{"type":"thinking","thinking":[{"type":"text","text":…}]}`. */
function readThinkingParts(content: readonly JsonValue[]): string {
  return content
    .map((part) => {
      if (!isJsonObject(part) || part['type'] !== 'thinking') return '';
      return typeof part['thinking'] === 'string' ? part['thinking'] : readContent(part['thinking']);
    })
    .join('');
}

function hasArguments(call: ToolCall): boolean {
  return call.arguments !== '{}';
}

/** It has a message, or says how it ended. */
function isSaid(choice: Choice): boolean {
  return choice.hasDelta || choice.hasEnd;
}

function isCut(choice: Choice): boolean {
  return endOf(choice.finish) === 'length';
}

function addPieces(pieces: ReasoningPiece[], index: number, events: ModelEvent[]): void {
  for (const { type, text } of pieces) if (text !== '') events.push(at(index, { type, text }));
}

/** Adds the choice's index to an event; the first choice needs none. */
function at(index: number, event: Exclude<ModelEvent, { type: 'usage' | 'selecting' | 'run-event' }>): ModelEvent {
  return index === 0 ? event : { ...event, choice: index };
}

function hasNothingBut(object: JsonObject, keys: readonly string[]): boolean {
  return Object.keys(object).every((key) => keys.includes(key) || !isThere(object[key]));
}

function isThere(value: JsonValue | undefined): boolean {
  return value !== null && value !== undefined;
}

type Names = Pick<ReadonlySet<string>, 'has'>;
const continuationFields: Names = new Set(['text']);
const reasoningNames: Names = { has: (key) => key.startsWith('reasoning') };

/** Keeps fields that are not among the names, have a value and are not nested so deep that serializing them would overflow the stack. */
function pickFields(object: JsonObject, own: Names, others: Names | undefined): JsonObject | undefined {
  let picked: [string, JsonValue][] | undefined;
  for (const key in object) {
    if (own.has(key) || others?.has(key) === true) continue;
    const value = object[key];
    if (value === null || value === undefined || key === '__proto__' || isDeeperThan(value, limits.jsonDepth)) continue;
    (picked ??= []).push([key, value]);
  }
  return picked === undefined ? undefined : Object.fromEntries(picked);
}
