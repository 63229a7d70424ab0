import type { JsonValue } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import { damagedCall, entryTo, noCall, plainName, readCall, withText, type Reading } from '../answer-pieces.ts';
import { cutOff, type AnswerText } from '../answer-text.ts';
import { readJsonArguments } from './json-calls.ts';
import { objectOfEntries } from '../json/parse-json.ts';
import { readGemmaArguments, readGemmaCall, stringMarks } from './gemma-calls.ts';
import { readPythonicCall } from './pythonic-calls.ts';
import type { Enclosure, ReadContext } from '../read-context.ts';
import { typeParameter, withoutOuterBreaks } from './type-parameter.ts';

/** Kimi writes it before the name. */
export const kimiNamespace = 'functions.';
const solarOpening = '<|tool_call:begin|>';
const solarName = '<|tool_call:name|>';
const qwenAgentOpening = '✿FUNCTION✿';
/** Marks that begin a single call of Kimi, DeepSeek, Solar or Qwen-Agent. DeepSeek writes full-width bars; distilled models write ASCII ones. */
export const namedOpenings = ['<｜tool▁call▁begin｜>', '<|tool▁call▁begin|>', '<|tool_call_begin|>', solarOpening, qwenAgentOpening];
const callEnds = ['<｜tool▁call▁end｜>', '<|tool▁call▁end|>', '<|tool_call_end|>', '<|tool_call:end|>'];
const separators = ['<｜tool▁sep｜>', '<|tool▁sep|>'];
/** Hunyuan's mark behind the name. */
const nameEnds = ['<tool_sep>', '<tool_sep:opensource>'];
const argumentMarks = ['[ARGS]', '<|tool_call_argument_begin|>', '<|tool_call:args|>', '✿ARGS✿'];
/** Qwen-Agent writes one after each of its marks. */
const colons = [':', '：'];

/** Tags of keys and of values: GLM, LongCat, Hunyuan. */
const keyTags = ['arg_key', 'longcat_arg_key', 'arg_key:opensource'].map((key) => ({ key, value: key.replace('key', 'value') }));
/** How a call begins after its name if its opening tag is lost. */
export const keyOpenings = keyTags.map(({ key }) => `<${key}>`);
/** Headers of harmony that lost their marks, up to the name of the function. */
export const bareOpenings = ['assistantcommentary to=', 'assistantanalysis to=', 'commentary to=functions.'];
/** The word of such a header. */
const bareHeader = /^(?:assistant)?(?:commentary|analysis)?$/;

const maxKey = 256;
/** Characters of the id of a call. */
const maxId = 64;
/** Characters within which the closing brace of unreadable arguments is searched for. */
const maxUnreadable = 1024;

interface NamedCall {
  at: number;
  name: string;
  /** Where the part after the name begins. */
  start: number;
}

/** Calls whose name stands before the arguments: Mistral, DeepSeek, Kimi, GLM, `name(…)`, `name{…}`, Gemma's `call:name{…}`. */
export function readNamedCall(context: ReadContext, at: number, enclosure: Enclosure): Reading {
  const { input } = context;
  const begin = input.firstOf(namedOpenings, at);
  const start = nameStart(input, at, begin);
  let nameEnd = input.nameEnd(start);
  // Kimi counts the calls: `functions.get_time:0`, or `functions.get_time!0`.
  const isCounted = begin !== undefined || input.text.startsWith(kimiNamespace, start);
  if (isCounted && [':', '!'].includes(input.at(nameEnd))) nameEnd = input.nameEnd(nameEnd + 1);
  if (nameEnd === start) return noCall(start);
  const name = plainName(input.text.slice(start, nameEnd));
  if (bareHeader.test(name)) return readAddressedCall(context, nameEnd);
  let position = input.skipSpace(nameEnd);
  if (name === 'call' && input.at(position) === ':') return readGemmaCall(context, { at, start: position + 1 });
  if (position === nameEnd && input.at(position) === '(') return readPythonicCall(context, start, enclosure);
  if (input.at(position) === '{') return readArguments(context, { at, name, start: position });
  const separator = input.firstOf(separators, position);
  if (separator !== undefined) return readSeparatedCall(context, { at, name, start: position + separator.length });
  if (input.startsWith('[CALL_ID]', position)) position = input.skipSpace(input.nameEnd(position + '[CALL_ID]'.length));
  position = input.skipSpace(position + (input.firstOf(nameEnds, position)?.length ?? 0));
  const tags = keyTags.find(({ key }) => input.startsWith(`<${key}>`, position));
  if (tags !== undefined) return readKeysAndValues(context, { at, name, start: position, tags }, enclosure);
  const mark = input.firstOf(argumentMarks, position);
  const args = skipColon(input, position + (mark?.length ?? 0));
  if (input.at(args) === '{' || (mark !== undefined && input.at(args) === '"')) return readArguments(context, { at, name, start: args });
  const isWhole = mark === undefined && begin === undefined && input.firstOf(enclosure.closes, position) !== undefined;
  return isWhole ? entryTo(position, readCall(name, {}, input.text.slice(at, position))) : noCall(position);
}

function nameStart(input: AnswerText, at: number, begin: string | undefined): number {
  const start = input.skipSpace(at + (begin?.length ?? 0));
  if (begin === qwenAgentOpening) return skipColon(input, start);
  // Solar writes the id of the call first.
  const mark = begin === solarOpening ? input.find(solarName, start, maxId) : -1;
  return mark < 0 ? start : input.skipSpace(mark + solarName.length);
}

function skipColon(input: AnswerText, from: number): number {
  const position = input.skipSpace(from);
  return input.skipSpace(position + (input.firstOf(colons, position)?.length ?? 0));
}

/** Reads the arguments, possibly in a fence, and the mark that ends the call. */
function readArguments(context: ReadContext, { at, name, start }: NamedCall): Reading {
  const { input } = context;
  const reading = readJsonArguments(context, start, name);
  if (reading.type === 'none' && input.firstOf(stringMarks, reading.at) !== undefined)
    return readGemmaArguments(context, { at, name, start });
  if (reading.type !== 'entries') return skipDamaged(context, { at, name, start });
  const after = input.skipSpace(reading.end);
  const fenceEnd = input.startsWith('```', after) ? after + 3 : reading.end;
  const closeAt = input.skipSpace(fenceEnd);
  const close = input.firstOf(callEnds, closeAt);
  const end = close === undefined ? fenceEnd : closeAt + close.length;
  return withText(reading, input.text.slice(at, end), end);
}

/** Skips an unreadable call up to its closing mark, so that the next one is found. */
function skipDamaged({ input }: ReadContext, { at, name, start }: NamedCall): Reading {
  const damagedTo = (end: number): Reading => entryTo(end, damagedCall('malformed', input.text.slice(at, end), name));
  const isDeepSeek = input.text.slice(at, start).includes('▁');
  for (const mark of input.text.startsWith('<', at) ? callEnds : []) {
    if (mark.includes('▁') !== isDeepSeek) continue;
    const close = input.find(mark, start, limits.argumentsBytes);
    if (close >= 0) return damagedTo(close + mark.length);
  }
  const brace = input.text[start] === '{' ? input.find('}', start, maxUnreadable) : -1;
  return brace < 0 ? noCall(start) : damagedTo(brace + 1);
}

/** DeepSeek: `function<sep>name`, a line break and a fence with the arguments, or `name<sep>` and the arguments. */
function readSeparatedCall(context: ReadContext, { at, name, start }: NamedCall): Reading {
  const { input } = context;
  const isArguments = (position: number): boolean => ['{', '"'].includes(input.at(position));
  const first = input.skipSpace(start);
  if (isArguments(first)) return readArguments(context, { at, name, start: first });
  const nameEnd = input.nameEnd(first);
  let position = input.skipSpace(nameEnd);
  if (input.startsWith('```', position)) position = input.skipSpace(input.nameEnd(position + 3));
  if (nameEnd === first || !isArguments(position)) return noCall(position);
  return readArguments(context, { at, name: plainName(input.text.slice(first, nameEnd)), start: position });
}

/** `<arg_key>k</arg_key><arg_value>v</arg_value>` after the name. */
function readKeysAndValues(
  context: ReadContext,
  { at, name, start, tags }: NamedCall & { tags: { key: string; value: string } },
  { closes }: Enclosure,
): Reading {
  const { input } = context;
  const args: [string, JsonValue][] = [];
  const damagedTo = (end: number, reason: 'truncated' | 'malformed'): Reading =>
    entryTo(end, damagedCall(reason, input.text.slice(at, end), name));
  let position = start;
  while (input.startsWith(`<${tags.key}>`, position)) {
    const key = readTagged(input, position, { tag: tags.key, maxDistance: maxKey });
    if (key === 'truncated') return damagedTo(input.text.length, key);
    if (key === 'malformed' || key.text.includes('<')) return damagedTo(position, 'malformed');
    const valueAt = input.skipSpace(key.end);
    if (!input.startsWith(`<${tags.value}>`, valueAt)) return damagedTo(valueAt, valueAt >= input.text.length ? 'truncated' : 'malformed');
    const value = readTagged(input, valueAt, { tag: tags.value, maxDistance: limits.argumentsBytes });
    if (typeof value === 'string') return damagedTo(value === 'truncated' ? input.text.length : valueAt, value);
    const parameter = key.text.trim();
    args.push([parameter, typeParameter(withoutOuterBreaks(value.text), context.schemaOf(name, parameter))]);
    position = input.skipSpace(value.end);
  }
  const isAtEnd = position >= input.text.length;
  // A missing closing mark may have been a stop sequence, which servers remove, unless the token limit cut the answer off.
  if (input.firstOf(closes, position) === undefined && (!isAtEnd || input.isCut))
    return damagedTo(position, isAtEnd ? 'truncated' : 'malformed');
  return entryTo(position, readCall(name, objectOfEntries(args), input.text.slice(at, position)));
}

export type Tagged = { text: string; end: number } | 'truncated' | 'malformed';

export function readTagged(input: AnswerText, at: number, { tag, maxDistance }: { tag: string; maxDistance: number }): Tagged {
  const start = at + `<${tag}>`.length;
  const end = input.find(`</${tag}>`, start, maxDistance);
  if (end < 0) return end === cutOff ? 'truncated' : 'malformed';
  return { text: input.text.slice(start, end), end: end + `</${tag}>`.length };
}

/** `assistant to=functions.name json` and the arguments: a harmony header that lost its marks. */
function readAddressedCall(context: ReadContext, from: number): Reading {
  const { input } = context;
  const to = input.skipSpace(from);
  if (!input.startsWith('to=', to)) return noCall(to);
  const nameEnd = input.nameEnd(to + 3);
  let position = input.skipSpace(nameEnd);
  const type = input.firstOf(contentTypes, position);
  if (type !== undefined) position = input.skipSpace(position + type.length);
  const name = plainName(input.text.slice(to + 3, nameEnd));
  return name !== '' && input.at(position) === '{' ? readArguments(context, { at: to, name, start: position }) : noCall(position);
}

const contentTypes = ['json', 'code', '<|constrain|>json'];
