import { isJsonObject } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { damagedCall, entryTo, noCall, plainName, readCall, type Reading } from '../answer-pieces.ts';
import { cutOff, matchEnd, spaceEnd, tooFar, type AnswerText } from '../answer-text.ts';
import { parseStrictly } from '../json/parse-json.ts';
import type { ReadContext } from '../read-context.ts';

/** Gemma 4, FunctionGemma and Gemini write one of these on both sides of a string, which has no escapes. */
export const stringMarks = ['<|"|>', '<escape>', '<ctrl46>'];

/** A key, a number, a constant, or a text whose marks are lost: up to the character that ends it. */
const bareText = /[^,{}[\]<>"\n]{1,4096}/y;
const bareKey = /[^,:{}[\]<>"\n]{1,4096}/y;
const maxBareText = 4096;
const key = /^[^\s:]{1,256}$/;
const number = /^-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:e[+-]?\d{1,5})?$/i;
const constants = new Map([
  ['true', 'true'],
  ['false', 'false'],
  ['null', 'null'],
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
]);

/** Gemini writes it before the name. */
export const geminiNamespace = 'default_api:';

/** `call:name{key:value}`; `start`: behind the colon. */
export function readGemmaCall(context: ReadContext, { at, start }: { at: number; start: number }): Reading {
  const { input } = context;
  const first = input.skipSpace(start);
  const nameAt = input.startsWith(geminiNamespace, first) ? first + geminiNamespace.length : first;
  const nameEnd = input.nameEnd(nameAt);
  const open = input.skipSpace(nameEnd);
  if (nameEnd === nameAt || input.at(open) !== '{') return noCall(open);
  return readGemmaArguments(context, { at, name: plainName(input.text.slice(nameAt, nameEnd)), start: open });
}

/** `{key:<|"|>text<|"|>,other:[1,{x:true}]}`. */
export function readGemmaArguments(context: ReadContext, { at, name, start }: { at: number; name: string; start: number }): Reading {
  const { input } = context;
  const { end, state, json, hasBareText, hasMarks } = new NotationReader(input, start).read();
  const text = input.text.slice(at, end);
  if (state !== 'closed') return entryTo(end, damagedCall(state, text, name));
  const args = parseStrictly(json);
  // A text without marks may be a variable where other texts have marks, and part of another text where none has.
  const isGuess = hasBareText && (hasMarks || !isJsonObject(args) || !context.takes(name, Object.keys(args)));
  if (!isJsonObject(args) || isGuess) return entryTo(end, damagedCall('malformed', text, name));
  return entryTo(end, readCall(name, args, text));
}

/** Rewrites the notation as JSON. */
class NotationReader {
  readonly #input: AnswerText;
  readonly #start: number;
  readonly #closings: string[] = [];
  #position: number;
  #json = '';
  #isKeyNext = false;
  #hasBareText = false;
  #hasMarks = false;

  constructor(input: AnswerText, start: number) {
    this.#input = input;
    this.#start = start;
    this.#position = start;
  }

  read(): { end: number; state: 'closed' | 'truncated' | 'malformed'; json: string; hasBareText: boolean; hasMarks: boolean } {
    let state = this.#readToken();
    while (state === 'open') state = this.#readToken();
    return { end: this.#position, state, json: this.#json, hasBareText: this.#hasBareText, hasMarks: this.#hasMarks };
  }

  #readToken(): 'open' | 'closed' | 'truncated' | 'malformed' {
    const input = this.#input;
    this.#position = spaceEnd(input.text, this.#position);
    if (this.#position - this.#start > limits.argumentsBytes) return 'malformed';
    const character = input.at(this.#position);
    if (character === '') return 'truncated';
    if (character === '{' || character === '[') return this.#open(character);
    if (character === '}' || character === ']') return this.#close(character);
    if (character === ',' || character === ':') {
      this.#isKeyNext = character === ',' && this.#closings.at(-1) === '}';
      return this.#pass(character, 1);
    }
    const mark = character === '<' ? input.firstOf(stringMarks, this.#position) : undefined;
    if (mark !== undefined) return this.#markedText(mark);
    return character === '"' ? this.#quotedText() : this.#bareText();
  }

  #open(character: '{' | '['): 'open' | 'malformed' {
    if (this.#closings.length >= limits.jsonDepth) return 'malformed';
    this.#closings.push(character === '{' ? '}' : ']');
    this.#isKeyNext = character === '{';
    return this.#pass(character, 1);
  }

  #close(character: string): 'open' | 'closed' | 'malformed' {
    if (this.#closings.pop() !== character) return 'malformed';
    this.#isKeyNext = false;
    this.#pass(character, 1);
    return this.#closings.length === 0 ? 'closed' : 'open';
  }

  #markedText(mark: string): 'open' | 'truncated' | 'malformed' {
    const from = this.#position + mark.length;
    const end = this.#input.find(mark, from, limits.argumentsBytes);
    if (end === cutOff) this.#position = this.#input.text.length;
    if (end < 0) return end === tooFar ? 'malformed' : 'truncated';
    this.#hasMarks ||= !this.#isKeyNext;
    return this.#pass(JSON.stringify(this.#input.text.slice(from, end)), end + mark.length - this.#position);
  }

  #quotedText(): 'open' | 'truncated' | 'malformed' {
    const end = this.#input.stringEnd(this.#position);
    if (end === cutOff) this.#position = this.#input.text.length;
    if (end < 0) return end === tooFar ? 'malformed' : 'truncated';
    return this.#pass(this.#input.text.slice(this.#position, end), end - this.#position);
  }

  #bareText(): 'open' | 'malformed' {
    const { text } = this.#input;
    const end = matchEnd(this.#isKeyNext ? bareKey : bareText, text, this.#position) ?? this.#position;
    if (end - this.#position < maxBareText) this.#input.need(end);
    const written = text.slice(this.#position, end).trim();
    const length = end - this.#position;
    if (this.#isKeyNext) return key.test(written) ? this.#pass(JSON.stringify(written), length) : 'malformed';
    const constant = constants.get(written);
    if (constant !== undefined) return this.#pass(constant, length);
    if (number.test(written)) return this.#pass(written, length);
    if (written === '') return 'malformed';
    this.#hasBareText = true;
    return this.#pass(JSON.stringify(written), length);
  }

  #pass(json: string, length: number): 'open' {
    this.#json += json;
    this.#position += length;
    return 'open';
  }
}
