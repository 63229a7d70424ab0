import { ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { limits } from '../../core/limits.ts';
import { plainName } from './plain-name.ts';
import type { ReadEntry, Reading, Scan } from './call-pieces.ts';
import { cutOff, findMark, markAt, standsAt, tooFar } from './find-mark.ts';
import { withoutOuterBreaks } from './growing-text.ts';
import { parseStrictly } from './parse-json.ts';
import type { ReadContext } from './read-context.ts';
import { readJsonArguments } from './read-json-entry.ts';
import { typeParameter } from './type-parameter.ts';
import { skipSpace } from './run-ends.ts';

/** Marks of one spelling of a call in tags. Names end with `nameEnd`, and the tag that holds one with `>`. */
interface TagForm {
  open: string;
  nameEnd: '>' | '"';
  close: string;
  parameter: string;
  closeParameter: string;
}

const functionForm: TagForm = {
  open: '<function=',
  nameEnd: '>',
  close: '</function>',
  parameter: '<parameter=',
  closeParameter: '</parameter>',
};
const namedForm: TagForm = {
  open: '<function name="',
  nameEnd: '"',
  close: '</function>',
  parameter: '<parameter name="',
  closeParameter: '</parameter>',
};
const invokeForm: TagForm = {
  open: '<invoke name="',
  nameEnd: '"',
  close: '</invoke>',
  parameter: '<parameter name="',
  closeParameter: '</parameter>',
};
const dsml = (bar: string): TagForm => ({
  open: `<${bar}DSML${bar}invoke name="`,
  nameEnd: '"',
  close: `</${bar}DSML${bar}invoke>`,
  parameter: `<${bar}DSML${bar}parameter name="`,
  closeParameter: `</${bar}DSML${bar}parameter>`,
});
const forms = [functionForm, namedForm, invokeForm, dsml('｜'), dsml('|')];

/** What a call in tags begins with. */
export const tagOpenings = forms.map((form) => form.open);

const maxTagName = 256;

/** `<function=f><parameter=a>1</parameter></function>`, `<invoke name="f">…`, `<function=f>{"a": 1}</function>` and DeepSeek's DSML. */
export function* readXmlCall(context: ReadContext, at: number): Scan<Reading> {
  const { input } = context;
  const opening = yield* markAt(input, at, tagOpenings);
  const form = forms.find((candidate) => candidate.open === opening);
  if (form === undefined) return { type: 'none', at };
  const head = yield* readTag(context, at, { open: form.open, nameEnd: form.nameEnd });
  if (typeof head === 'string') return { type: 'none', at: at + 1 };
  const name = plainName(head.name);
  const start = yield* skipSpace(input, head.end);
  if (input.text[start] === '{' || input.text[start] === '"') {
    const reading = yield* readJsonArguments(context, start, name);
    return reading.type === 'entries' ? yield* closeCall(context, { at, form, reading }) : yield* skipDamaged(context, { at, form, name });
  }
  return yield* readParameters(context, { at, form, name, start });
}

interface OpenCall {
  at: number;
  form: TagForm;
  name: string;
}

function* readParameters(context: ReadContext, call: OpenCall & { start: number }): Scan<Reading> {
  const { input } = context;
  const { at, form, name } = call;
  const entries: [string, JsonValue][] = [];
  let position = call.start;
  const done = (end: number, reason?: 'truncated' | 'malformed'): Reading => {
    const text = input.text.slice(at, end);
    if (reason !== undefined) return { type: 'entries', end, entries: [{ type: 'damaged', reason, name, text }] };
    return { type: 'entries', end, entries: [{ type: 'call', name, arguments: unwrapped(entries, context, name), text, repairs: [] }] };
  };
  for (;;) {
    position = yield* skipSpace(input, position);
    if (yield* standsAt(input, position, form.close)) return done(position + form.close.length);
    if (yield* standsAt(input, position, form.parameter)) {
      const parameter = yield* readParameter(context, position, call);
      if (parameter === 'malformed') return yield* skipDamaged(context, call);
      if (parameter === 'truncated') return done(input.text.length, 'truncated');
      entries.push([parameter.key, parameter.value]);
      position = parameter.end;
    } else if (position >= input.text.length) {
      // The closing tags may have been taken for a stop word, but not where the answer was cut.
      return entries.length > 0 && !input.isCut ? done(position) : done(position, 'truncated');
    } else if (entries.length > 0 && (yield* standsAt(input, position, '</'))) return done(position);
    else return entries.length === 0 ? { type: 'none', at: position } : yield* skipDamaged(context, call);
  }
}

/** `<parameter=key>value</parameter>`; where the closing tag was forgotten, the next known parameter ends the value. */
function* readParameter(
  context: ReadContext,
  at: number,
  { form, name }: OpenCall,
): Scan<{ key: string; value: JsonValue; end: number } | 'truncated' | 'malformed'> {
  const { input } = context;
  const head = yield* readTag(context, at, { open: form.parameter, nameEnd: form.nameEnd });
  if (typeof head === 'string') return head;
  const close = yield* findMark(input, head.end, { mark: form.closeParameter, maxDistance: limits.argumentsBytes });
  if (close === cutOff) return 'truncated';
  if (close === tooFar) return 'malformed';
  const raw = input.text.slice(head.end, close);
  const next = raw.indexOf(`\n${form.parameter}`);
  const nextName = next === -1 ? '' : (raw.slice(next + 1 + form.parameter.length).split(form.nameEnd, 1)[0] ?? '');
  const isForgotten = next !== -1 && context.schemaOf(name, nextName) !== undefined;
  const text = withoutOuterBreaks(isForgotten ? raw.slice(0, next) : raw);
  const isText = head.attributes.includes('string="true"');
  const value = isText ? text : typeParameter(text, context.schemaOf(name, head.name));
  return { key: head.name, value, end: isForgotten ? head.end + next + 1 : close + form.closeParameter.length };
}

function* readTag(
  context: ReadContext,
  at: number,
  { open, nameEnd }: { open: string; nameEnd: string },
): Scan<{ name: string; attributes: string; end: number } | 'truncated' | 'malformed'> {
  const { input } = context;
  const start = at + open.length;
  const stop = yield* findMark(input, start, { mark: nameEnd, maxDistance: maxTagName });
  if (stop <= start) return stop === cutOff ? 'truncated' : 'malformed';
  const end = nameEnd === '>' ? stop : yield* findMark(input, stop, { mark: '>', maxDistance: maxTagName });
  const name = input.text.slice(start, stop);
  if (end < 0) return end === cutOff ? 'truncated' : 'malformed';
  if (/[\n<>{}]/.test(name)) return 'malformed';
  return { name: name.trim(), attributes: input.text.slice(stop, end), end: end + 1 };
}

function* closeCall(
  context: ReadContext,
  { at, form, reading }: { at: number; form: TagForm; reading: { entries: ReadEntry[]; end: number } },
): Scan<Reading> {
  const { input } = context;
  const after = yield* skipSpace(input, reading.end);
  const isClosed = yield* standsAt(input, after, form.close);
  const end = isClosed ? after + form.close.length : reading.end;
  const text = input.text.slice(at, end);
  return { type: 'entries', end, entries: reading.entries.map((entry) => ({ ...entry, text })) };
}

/** A call that cannot be read is left behind up to its closing tag, so that the next one is found. */
function* skipDamaged(context: ReadContext, { at, form, name }: OpenCall): Scan<Reading> {
  const { input } = context;
  const close = yield* findMark(input, at, { mark: form.close, maxDistance: limits.argumentsBytes });
  if (close < 0) return { type: 'none', at: at + 1 };
  const end = close + form.close.length;
  return { type: 'entries', end, entries: [{ type: 'damaged', reason: 'malformed', name, text: input.text.slice(at, end) }] };
}

/** One parameter `arguments` that the function does not have holds all the arguments. */
function unwrapped(entries: [string, JsonValue][], context: ReadContext, name: string): JsonObject {
  const all = Object.fromEntries(entries.filter(([key]) => key !== '__proto__'));
  const inner = entries.length === 1 && context.schemaOf(name, 'arguments') === undefined ? ownValue(all, 'arguments') : undefined;
  const decoded = typeof inner === 'string' ? parseStrictly(inner) : inner;
  return typeof decoded === 'object' && decoded !== null && !Array.isArray(decoded) ? decoded : all;
}
