import type { ToolSpec } from '../../../core/tools/tool.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { parseExactly, withPlainNumbers } from '../../../shared/json/parse-exactly.ts';
import { canonicalJson } from '../../fit-calls/canonical-json.ts';
import type { ReadCall } from '../answer-pieces.ts';
import { hidingMarks } from '../block-marks.ts';
import { characterOf, compact, isFound, searchQuote } from './quoted-calls.ts';
import { createToolCallParser } from '../tool-call-parser.ts';

interface DefinitionSearch {
  /** Of functions that must not make the call run. */
  definitions: readonly ToolSpec[];
  /** The function that is called. */
  target: ToolSpec;
  call: Pick<ReadCall, 'name' | 'arguments' | 'text'>;
}

/** A text may be escaped several times: a call in JSON, as the default of a schema, in a text about it. */
const mostEscapes = 3;
/** Places in one text at which a call without marks may begin. A text that names the function more often counts as one that has the call. */
const mostPlaces = 500;
/** Of a call of Python: brackets in its arguments may look like its end. */
const mostEnds = 5;
/** From the name of a function to the end of its call. */
const placeCharacters = 16 * 1024;

/** The same for a worker thread: sending the definitions as JSON text takes a fraction of the time that sending objects does. */
export function findInDefinitionsText({
  definitions,
  ...search
}: Omit<DefinitionSearch, 'definitions'> & { definitions: string }): string | undefined {
  return findInDefinitions({ ...search, definitions: parseExactly(definitions) as ToolSpec[] });
}

/**
 * The name of a function in whose definition a call stands: with the same text, or with the same name and arguments in any form that the parser reads.
 * Its work grows with the definitions, so it belongs in a worker thread.
 */
function findInDefinitions({ definitions, target, call }: DefinitionSearch): string | undefined {
  const name = compact(call.name);
  const wanted = keyOf(call.arguments);
  const isIn = (definition: ToolSpec): boolean => {
    const whole = compact(JSON.stringify(definition));
    if (isFound(searchQuote({ plain: [whole], labelled: [] }, call.text))) return true;
    if (!whole.includes(name)) return false;
    const texts = textsIn(definition).filter((text) => compact(text).includes(name));
    return texts.flatMap(spellingsOf).some((spelling) => hasCall(spelling, target, wanted));
  };
  return definitions.find(isIn)?.name;
}

/** Every text of a definition, and what is not a text but could be written as one: a default or a choice may be the call itself. */
function* textsIn(value: JsonValue | ToolSpec): Generator<string, void> {
  if (typeof value === 'string') yield value;
  if (typeof value !== 'object' || value === null) return;
  yield JSON.stringify(value);
  for (const [key, child] of Object.entries(value) as [string, JsonValue | undefined][]) {
    if (!Array.isArray(value)) yield key;
    if (child !== undefined) yield* textsIn(child);
  }
}

/** A text as it is, unescaped, and without what hides a call from the parser. */
function spellingsOf(text: string): Set<string> {
  const levels = [text];
  for (let level = 0; level < mostEscapes; level += 1) levels.push(unescaped(levels.at(-1) ?? ''));
  return new Set([...levels, ...levels.map(withoutHiding)]);
}

const fences = /```[\w-]{0,20}|~~~[\w-]{0,20}|`/g;

function withoutHiding(text: string): string {
  return hidingMarks.reduce((rest, mark) => rest.replaceAll(mark, ' '), text.replaceAll(fences, ' '));
}

const namedEntities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
const letters: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** With one level less of escapes of JSON, patterns and HTML. */
function unescaped(text: string): string {
  return text
    .replaceAll(/\\(?:u([\da-f]{4})|([^]))/gi, (_whole, code: string | undefined, letter: string) =>
      code === undefined ? (letters[letter] ?? letter) : characterOf(code, 16),
    )
    .replaceAll(/&#(\d{1,7});/g, (_whole, code: string) => characterOf(code, 10))
    .replaceAll(/&#x([\da-f]{1,6});/gi, (_whole, code: string) => characterOf(code, 16))
    .replaceAll(/&(lt|gt|quot|apos|amp);/g, (_whole, name: string) => namedEntities[name] ?? '');
}

function hasCall(text: string, target: ToolSpec, wanted: string): boolean {
  const places = placesOf(target.name, text);
  if (places.length > mostPlaces) return true;
  const candidates = [text, ...places.flatMap((at) => meantAt(text.slice(at, at + placeCharacters), target.name))];
  return candidates.some((candidate) => callsIn(candidate, target).some((args) => keyOf(args) === wanted));
}

/** Where a name stands that is not part of another word. */
function placesOf(name: string, text: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(name); at !== -1 && places.length <= mostPlaces; at = text.indexOf(name, at + name.length)) {
    const isPart = [text.charAt(at - 1), text.charAt(at + name.length)].some((neighbour) => /\w/.test(neighbour));
    if (!isPart) places.push(at);
  }
  return places;
}

/** What begins with a function's name as the parser reads it as a call, though prose goes on behind it: between marks, or as a call of Python. */
function meantAt(text: string, name: string): string[] {
  const ends: number[] = [];
  if (/^\s{0,9}\(/.test(text.slice(name.length)))
    for (let end = text.indexOf(')'); end !== -1 && ends.length < mostEnds; end = text.indexOf(')', end + 1)) ends.push(end + 1);
  return [`<tool_call>${text}`, ...ends.map((end) => `[${text.slice(0, end)}]`)];
}

/**
 * The arguments of every call of the function that the text may be meant to hold. Only this function is known here, so that the call of another one beside
 * it looks like arguments that it has lost.
 */
function callsIn(text: string, target: ToolSpec): JsonObject[] {
  const parser = createToolCallParser({ tools: [target], isSelection: true });
  const pieces = [...parser.push(text), ...parser.flush({ isCut: false })];
  return pieces.flatMap((piece) => {
    if (piece.type !== 'call' && piece.type !== 'damaged') return [];
    if (piece.name !== target.name) return [];
    return piece.type === 'call' ? [piece.arguments] : [{}];
  });
}

/** The same for arguments that differ in order, white space, quotes or the type of a value alone, as one and the same call may in two forms. */
function keyOf(args: JsonObject): string {
  return canonicalJson(loose(args));
}

function loose(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(loose);
  if (!isJsonObject(value)) return compact(JSON.stringify(withPlainNumbers(value)));
  const entries = Object.entries(value).flatMap(([key, child]): [string, JsonValue][] =>
    child === undefined ? [] : [[compact(key), loose(child)]],
  );
  return Object.fromEntries(entries);
}
