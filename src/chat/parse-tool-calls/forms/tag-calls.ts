import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { damagedCall, entryTo, noCall, plainName, readCall, withText, type Reading } from '../answer-pieces.ts';
import { cutOff, type AnswerText } from '../answer-text.ts';
import { readJsonArguments } from './json-calls.ts';
import { objectOfEntries, parseStrictly } from '../parse-json.ts';
import { typeParameter, withoutOuterBreaks } from './type-parameter.ts';
import type { ReadContext } from '../read-context.ts';

/** The tags of one notation. A name inside a tag ends at `nameEnd`, the tag itself at `>`. */
interface TagForm {
  open: string;
  nameEnd: '>' | '"';
  close: string;
  parameter: string;
  closeParameter: string;
}

function tagForm(tag: string, nameEnd: '>' | '"', bar = ''): TagForm {
  const assign = nameEnd === '>' ? '=' : ' name="';
  return {
    open: `<${bar}${tag}${assign}`,
    nameEnd,
    close: `</${bar}${tag}>`,
    parameter: `<${bar}parameter${assign}`,
    closeParameter: `</${bar}parameter>`,
  };
}

const forms = [
  tagForm('function', '>'),
  tagForm('function', '"'),
  tagForm('invoke', '"'),
  tagForm('invoke', '"', '｜DSML｜'),
  tagForm('invoke', '"', '|DSML|'),
];

/** The beginnings of calls in tags. */
export const tagOpenings = forms.map((form) => form.open);

const maxTagName = 256;

interface OpenCall {
  at: number;
  form: TagForm;
  name: string;
}

/** `<function=f><parameter=a>1</parameter></function>`, `<invoke name="f">…`, `<function=f>{"a": 1}</function>` and DeepSeek's DSML. */
export function readTagCall(context: ReadContext, at: number): Reading {
  const { input } = context;
  const form = forms.find(({ open }) => input.startsWith(open, at));
  const head = form && readTag(input, at + form.open.length, form.nameEnd);
  if (form === undefined || typeof head !== 'object') return noCall(at + 1);
  const call = { at, form, name: plainName(head.name) };
  const start = input.skipSpace(head.end);
  if (input.at(start) !== '{' && input.at(start) !== '"') return readParameters(context, call, start);
  const reading = readJsonArguments(context, start, call.name);
  if (reading.type !== 'entries') return skipDamaged(input, call);
  const after = input.skipSpace(reading.end);
  const end = input.startsWith(form.close, after) ? after + form.close.length : reading.end;
  return withText(reading, input.text.slice(at, end), end);
}

function readParameters(context: ReadContext, call: OpenCall, start: number): Reading {
  const { input } = context;
  const { at, form, name } = call;
  const entries: [string, JsonValue][] = [];
  const truncated = (): Reading => entryTo(input.text.length, damagedCall('truncated', input.text.slice(at), name));
  const whole = (end: number): Reading => entryTo(end, readCall(name, unwrapped(entries, context, name), input.text.slice(at, end)));
  for (let position = input.skipSpace(start); ; position = input.skipSpace(position)) {
    if (input.startsWith(form.close, position)) return whole(position + form.close.length);
    if (input.startsWith(form.parameter, position)) {
      const parameter = readParameter(context, position, call);
      if (parameter === 'malformed') return skipDamaged(input, call);
      if (parameter === 'truncated') return truncated();
      entries.push([parameter.key, parameter.value]);
      position = parameter.end;
      // Missing closing tags may have been a stop sequence, which servers remove, unless the token limit cut the answer off.
    } else if (position >= input.text.length) return entries.length > 0 && !input.isCut ? whole(position) : truncated();
    else if (entries.length === 0) return noCall(position);
    else return input.startsWith('</', position) ? whole(position) : skipDamaged(input, call);
  }
}

/** `<parameter=key>value</parameter>`; if the closing tag is missing, the next known parameter ends the value. */
function readParameter(
  context: ReadContext,
  at: number,
  { form, name }: OpenCall,
): { key: string; value: JsonValue; end: number } | 'truncated' | 'malformed' {
  const { input } = context;
  const head = readTag(input, at + form.parameter.length, form.nameEnd);
  if (typeof head === 'string') return head;
  const close = input.find(form.closeParameter, head.end, limits.argumentsBytes);
  if (close < 0) return close === cutOff ? 'truncated' : 'malformed';
  const raw = input.text.slice(head.end, close);
  const next = raw.indexOf(`\n${form.parameter}`);
  const nextName = next === -1 ? '' : (raw.slice(next + 1 + form.parameter.length).split(form.nameEnd, 1)[0] ?? '');
  const isForgotten = next !== -1 && context.schemaOf(name, nextName) !== undefined;
  const text = withoutOuterBreaks(isForgotten ? raw.slice(0, next) : raw);
  const value = head.attributes.includes('string="true"') ? text : typeParameter(text, context.schemaOf(name, head.name));
  return { key: head.name, value, end: isForgotten ? head.end + next + 1 : close + form.closeParameter.length };
}

function readTag(
  input: AnswerText,
  start: number,
  nameEnd: string,
): { name: string; attributes: string; end: number } | 'truncated' | 'malformed' {
  const stop = input.find(nameEnd, start, maxTagName);
  if (stop <= start) return stop === cutOff ? 'truncated' : 'malformed';
  const end = input.find('>', stop, maxTagName);
  if (end < 0) return end === cutOff ? 'truncated' : 'malformed';
  const name = input.text.slice(start, stop);
  return /[\n<>{}]/.test(name) ? 'malformed' : { name: name.trim(), attributes: input.text.slice(stop, end), end: end + 1 };
}

/** Skips an unreadable call up to its closing tag, so that the next one is found. */
function skipDamaged(input: AnswerText, { at, form, name }: OpenCall): Reading {
  const close = input.find(form.close, at, limits.argumentsBytes);
  if (close < 0) return noCall(at + 1);
  const end = close + form.close.length;
  return entryTo(end, damagedCall('malformed', input.text.slice(at, end), name));
}

/** A single parameter `arguments` that the function does not have contains the actual arguments. */
function unwrapped(entries: [string, JsonValue][], context: ReadContext, name: string): JsonObject {
  const all = objectOfEntries(entries);
  const inner = entries.length === 1 && context.schemaOf(name, 'arguments') === undefined ? ownValue(all, 'arguments') : undefined;
  const decoded = typeof inner === 'string' ? parseStrictly(inner) : inner;
  return isJsonObject(decoded) ? decoded : all;
}
