import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { damagedCall, entryTo, noCall, plainName, readCall, withText, type Reading } from '../answer-pieces.ts';
import { cutOff, tooFar, type AnswerText } from '../answer-text.ts';
import { readJsonArguments } from './json-calls.ts';
import { MarkTable } from '../mark-table.ts';
import { objectOfEntries, parseStrictly } from '../json/parse-json.ts';
import { readElements } from './tag-elements.ts';
import { typeParameter, withoutOuterBreaks } from './type-parameter.ts';
import type { ReadContext } from '../read-context.ts';

/** The tags of one notation. A name inside a tag ends at `nameEnd`, the tag itself at `tagEnd`. */
interface TagForm {
  open: string;
  nameEnd: '>' | '"';
  tagEnd: '>' | '<|sep|>';
  close: string;
  parameters: ParameterTag[];
  /** What stands before each tag of a notation whose parameters are named by the tag: see `readElements`. */
  elementMark?: string;
  /** Marks around arguments in JSON. */
  json?: { open: string; close: string };
}

interface ParameterTag {
  open: string;
  close: string;
  /** The value is everything between the tags, also a line break at an end. */
  isExact?: boolean;
  /** The value may stand in `<![CDATA[…]]>`. */
  hasCdata?: boolean;
}

/** `<tag=name>` or `<tag name="name">`, and the same for its parameters. */
function tagForm(tag: string, nameEnd: '>' | '"', { prefix = '', short = false }: { prefix?: string; short?: boolean } = {}): TagForm {
  const assign = nameEnd === '>' ? '=' : ' name="';
  const parameter = { open: `<${prefix}parameter${assign}`, close: `</${prefix}parameter>` };
  const shortened = { open: `<param${assign}`, close: '</param>', hasCdata: true };
  return {
    open: `<${prefix}${tag}${assign}`,
    nameEnd,
    tagEnd: '>',
    close: `</${prefix}${tag}>`,
    parameters: short ? [parameter, shortened] : [parameter],
  };
}

const miniMax = ']<]minimax[>[';
const forms: TagForm[] = [
  tagForm('function', '>'),
  tagForm('function', '"', { short: true }),
  tagForm('tool_call', '"'),
  tagForm('function', '>', { prefix: '__' }),
  ...['', '｜DSML｜', '|DSML|', 'atem:', 'steptml:', 'antml:'].map((prefix) => tagForm('invoke', '"', { prefix })),
  {
    open: '<|open|>call tool="',
    nameEnd: '"',
    tagEnd: '<|sep|>',
    close: '<|close|>call<|sep|>',
    parameters: [{ open: '<|open|>argument key="', close: '<|close|>argument<|sep|>', isExact: true }],
    json: { open: '<|open|>json type="object"<|sep|>', close: '<|close|>json<|sep|>' },
  },
  {
    open: `${miniMax}<invoke name="`,
    nameEnd: '"',
    tagEnd: '>',
    close: `${miniMax}</invoke>`,
    parameters: [],
    elementMark: miniMax,
  },
];

export const tagForms = new MarkTable(forms);

/** The beginnings of calls in tags. */
export const tagOpenings = forms.map((form) => form.open);

const maxTagName = 256;

interface OpenCall {
  at: number;
  form: TagForm;
  name: string;
}

/**
 * `<function=f><parameter=a>1</parameter></function>`, `<invoke name="f">…`, `<function=f>{"a": 1}</function>`, and the same with the tags of DeepSeek,
 * Kimi, Step, Muse and MiniMax.
 */
export function readTagCall(context: ReadContext, at: number): Reading {
  const { input } = context;
  const form = tagForms.at(input, at);
  if (form === undefined) return noCall(at + 1);
  const unended = form.open === '<function=' ? readUnendedTag(context, at, form) : undefined;
  if (unended !== undefined) return unended;
  const head = readTag(input, at + form.open.length, form);
  if (typeof head !== 'object') return noCall(at + 1);
  const call = { at, form, name: plainName(head.name) };
  // `<invoke name="f" a="1">`: attributes are not read.
  if (Array.from(head.attributes.matchAll(attribute)).some(([, key = '']) => context.takes(call.name, [key])))
    return skipDamaged(input, call);
  if (form.elementMark !== undefined) return readElementCall(context, call, head.end);
  const { json } = form;
  const mark = json === undefined ? undefined : input.firstOf([json.open], input.skipSpace(head.end));
  const start = input.skipSpace(head.end) + (mark?.length ?? 0);
  if (mark === undefined && input.at(start) !== '{' && input.at(start) !== '"') return readParameters(context, call, start);
  const reading = readJsonArguments(context, input.skipSpace(start), call.name);
  if (reading.type !== 'entries') return skipDamaged(input, call);
  const closeAt = input.skipSpace(reading.end);
  const inner = json === undefined ? undefined : input.firstOf([json.close], closeAt);
  const after = input.skipSpace(closeAt + (inner?.length ?? 0));
  const end = input.startsWith(form.close, after) ? after + form.close.length : reading.end;
  return withText(reading, input.text.slice(at, end), end);
}

/** What Llama writes instead of the end of the tag: `<function=f={…}</function>`, `<function=f({…})</function>`, `<function=f {…} </function>`. */
const insteadOfEnd: ReadonlySet<string> = new Set(['=', '(', ',', ' ']);

/** Undefined: the tag is not such a one. */
function readUnendedTag(context: ReadContext, at: number, form: TagForm): Reading | undefined {
  const { input } = context;
  const start = at + form.open.length;
  const nameEnd = input.nameEnd(start);
  if (nameEnd === start || !insteadOfEnd.has(input.at(nameEnd))) return undefined;
  const args = input.skipSpace(nameEnd + 1);
  if (input.at(args) !== '{') return undefined;
  const reading = readJsonArguments(context, args, plainName(input.text.slice(start, nameEnd)));
  if (reading.type !== 'entries') return undefined;
  let end = input.skipSpace(reading.end);
  while (input.at(end) === ')' || input.at(end) === '>') end = input.skipSpace(end + 1);
  if (!input.startsWith(form.close, end)) return undefined;
  end += form.close.length;
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
    const tag = form.parameters.find(({ open }) => input.startsWith(open, position));
    if (tag !== undefined) {
      const parameter = readParameter(context, position, { call, tag });
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

/** `<parameter=key>value</parameter>`; if the closing tag is missing, the next known parameter or the end of the call ends the value. */
function readParameter(
  context: ReadContext,
  at: number,
  { call: { form, name }, tag }: { call: OpenCall; tag: ParameterTag },
): { key: string; value: JsonValue; end: number } | 'truncated' | 'malformed' {
  const { input } = context;
  const head = readTag(input, at + tag.open.length, form);
  if (typeof head === 'string') return head;
  const isCdata = tag.hasCdata === true && input.startsWith(cdata.open, head.end);
  const from = isCdata ? input.find(cdata.close, head.end, limits.argumentsBytes) : head.end;
  const close = from < 0 ? from : input.find(tag.close, from, limits.argumentsBytes);
  if (close === tooFar) return 'malformed';
  const raw = input.text.slice(head.end, close === cutOff ? undefined : close);
  const forgotten = isCdata ? undefined : endOfUnclosed(context, raw, { form, name, tag, isClosed: close !== cutOff });
  if (close === cutOff && forgotten === undefined) return 'truncated';
  const written = isCdata ? raw.trimEnd().slice(cdata.open.length, -cdata.close.length) : raw.slice(0, forgotten);
  const text = tag.isExact === true || isCdata ? written : withoutOuterBreaks(written);
  const value = statedText.test(head.attributes) ? text : typeParameter(text, context.schemaOf(name, head.name));
  return { key: head.name, value, end: forgotten === undefined ? close + tag.close.length : head.end + forgotten };
}

/** What may come between two calls: the marks around each. */
const betweenCalls = /^\s{0,99}(?:<\/[\w:]{1,40}>\s{0,99}){0,2}(?:<[\w:]{1,40}>\s{0,99}){0,2}$/;

/** The mark that ends the block, where the call in it has none of its own. */
const outerClose = /<\/(?:\w{1,20}:)?(?:tool|function)_calls?>\s{0,99}$/;

/**
 * Where the value of a parameter ends that has no closing tag: before the next known parameter, or at the end of its call. `raw` is the text up to the
 * next closing tag, which then belongs to another call, or to the end of the answer.
 */
function endOfUnclosed(
  context: ReadContext,
  raw: string,
  { form, name, tag, isClosed }: { form: TagForm; name: string; tag: ParameterTag; isClosed: boolean },
): number | undefined {
  const next = raw.indexOf(`\n${tag.open}`);
  const isKnown = next !== -1 && context.schemaOf(name, nameIn(raw, next + 1 + tag.open.length, form)) !== undefined;
  const ends = isKnown ? [next] : [];
  const callEnd = raw.indexOf(form.close);
  const rest = callEnd === -1 ? '' : raw.slice(callEnd + form.close.length);
  const open = rest.indexOf(form.open);
  const isFollowed = open !== -1 && context.isKnown(plainName(nameIn(rest, open + form.open.length, form)));
  const isEnd = isFollowed ? betweenCalls.test(rest.slice(0, open)) : !isClosed && betweenCalls.test(rest);
  if (callEnd !== -1 && isEnd) ends.push(callEnd);
  const blockEnd = callEnd === -1 && !isClosed ? outerClose.exec(raw) : null;
  if (blockEnd !== null) ends.push(blockEnd.index);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function nameIn(text: string, at: number, { nameEnd }: TagForm): string {
  return text.slice(at, at + maxTagName).split(nameEnd, 1)[0] ?? '';
}

const cdata = { open: '<![CDATA[', close: ']]>' };
/** Attributes that say that a value is text. */
const statedText = /\b(?:string="true"|type="string")/;

const attribute = /([\w-]{1,64})\s{0,9}=/g;

function readTag(
  input: AnswerText,
  start: number,
  { nameEnd, tagEnd }: Pick<TagForm, 'nameEnd' | 'tagEnd'>,
): { name: string; attributes: string; end: number } | 'truncated' | 'malformed' {
  const stop = input.find(nameEnd, start, maxTagName);
  if (stop <= start) return stop === cutOff ? 'truncated' : 'malformed';
  const end = input.find(tagEnd, stop, maxTagName);
  if (end < 0) return end === cutOff ? 'truncated' : 'malformed';
  const name = input.text.slice(start, stop);
  return /[\n<>{}]/.test(name) ? 'malformed' : { name: name.trim(), attributes: input.text.slice(stop, end), end: end + tagEnd.length };
}

/** A call whose parameters are named by their tags. */
function readElementCall(context: ReadContext, call: OpenCall, start: number): Reading {
  const { input } = context;
  const { at, form, name } = call;
  const mark = form.elementMark ?? '';
  const read = readElements({ input, mark }, { at: start, close: form.close, schema: context.parametersOf(name), depth: 0 });
  if (read === 'truncated') return entryTo(input.text.length, damagedCall('truncated', input.text.slice(at), name));
  if (read === 'malformed' || !isJsonObject(read.value)) return skipDamaged(input, call);
  return entryTo(read.end, readCall(name, read.value, input.text.slice(at, read.end)));
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
