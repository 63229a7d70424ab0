import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { alternativesOf, escaped, flatten, isReferring, keywordOf, memberOf, membersOf } from './flat-schema.ts';
import type { FlatSchema } from './flat-schema.ts';
import { lengthWithin } from './json-length.ts';

/** A schema that was made smaller, and where something is missing. */
export interface CutSchema {
  schema: JsonObject;
  /** Pointers to what was cut, in terms of the arguments, the most important first; empty if nothing was. */
  cuts: string[];
}

/** A part of a whole schema. */
export interface SchemaPart {
  schema: JsonValue;
  /** Where it is in terms of the arguments, such as `/spec/containers/*`; empty for all of them. */
  pointer: string;
}

/** How much less important a schema is than the one that holds it: what is required comes first, then what is near the root. */
const steps = { required: 0, optional: 2, items: 1, branch: 1, values: 2, repeated: 8 };
/** What is less important than this is left out. */
const maxPriority = 200;
/** The part of what is left that the optional members of one object, or the alternatives of one value, may take. */
const shareOfMembers = { outer: 0.5, inner: 0.125 };
/** Up to this priority a place counts as an outer one. */
const outerPriority = 2;
/** The same for the names of members that are left out. */
const shareOfNames = 0.1;
/** Of a description at first; what is left in the end lengthens the most important ones. */
const shortDescription = 100;
const longDescription = 1_000;
/** One keyword besides types and choices: a default, a pattern, a condition. */
const keywordCharacters = 400;
/** The part of all characters that the choices of one value may take. */
const shareOfChoices = 1 / 8;
const maxKeywords = 64;
const maxRequired = 1_000;
/** `"a":{},` */
const smallestMember = 7;
/** The characters of keywords without their values, with commas. */
const keyCharacters = { properties: 16, required: 14, additionalProperties: 28, description: 17 };

/** Keywords that are not copied: what holds schemas is written out below, the rest says nothing about values. */
const notCopied: ReadonlySet<string> = new Set(
  (
    'type nullable enum description properties required items prefixItems additionalItems additionalProperties patternProperties anyOf oneOf ' +
    'allOf $ref $defs definitions unevaluatedProperties unevaluatedItems $id id $schema $anchor $comment $async $dynamicRef $dynamicAnchor ' +
    '$recursiveRef $recursiveAnchor $vocabulary title example examples discriminator xml externalDocs'
  ).split(' '),
);
/** Keywords that belong together with others of the same schema. */
const compound: ReadonlySet<string> = new Set('if then else contains minContains maxContains'.split(' '));

/**
 * Cuts a schema in depth to at most so many characters as JSON. Required members and what is near the root come first, and descriptions are shortened
 * before structure is left out. Whatever fits the whole fits the cut schema too, and what was left out may still be passed: nothing is closed that
 * is not complete. References are written out, because most backends do the same, but no schema within itself. What is incomplete says so in its
 * description, with the pointer for `describe_function`. Deterministic; the work depends on the characters, not on the size of the whole.
 */
export function cutSchema(root: JsonObject, characters: number, part: SchemaPart = { schema: root, pointer: '' }): CutSchema {
  if (part.schema === root && lengthWithin(root, characters) <= characters) return { schema: root, cuts: [] };
  const cut: Cut = { root, characters, left: characters, places: [], queue: [], writtenAt: new Map() };
  const { pointer } = part;
  const top = addPlace(cut, part.schema, { pointer, priority: 0, opened: [], holder: undefined, overhead: 0, room: characters });
  if (typeof top !== 'object') return { schema: {}, cuts: [pointer] };
  for (let priority = 0; priority <= maxPriority; priority += 1) {
    // The list may grow while it is read.
    const places = cut.queue[priority] ?? [];
    for (let index = 0; index < places.length; index += 1) {
      const place = places[index];
      if (place !== undefined) expand(cut, place);
    }
  }
  return { schema: top.output, cuts: finish(cut, top) };
}

interface Cut {
  readonly root: JsonObject;
  readonly characters: number;
  /** Of the characters. */
  left: number;
  /** All that is written, outer before inner. */
  readonly places: Place[];
  /** What is to be expanded, by priority. */
  readonly queue: Place[][];
  /** Where the target of a reference was first written out. */
  readonly writtenAt: Map<string, string>;
}

/** One schema of the output. */
interface Place {
  readonly flat: FlatSchema;
  readonly output: JsonObject;
  readonly pointer: string;
  /** Lower is more important. */
  priority: number;
  /** The references that lead here. */
  readonly opened: readonly string[];
  readonly holder: Place | undefined;
  /** It holds other schemas, and says itself what is missing; the characters are reserved. Otherwise its holder says so. */
  readonly isOuter: boolean;
  isIncomplete: boolean;
  isPutOff: boolean;
  /** Sentences before the pointer, beside the author's own description. */
  notes: string[];
}

interface Placing extends Pick<Place, 'pointer' | 'priority' | 'opened' | 'holder'> {
  /** Characters that the holder writes beside it. */
  overhead: number;
  /** What it may take. */
  room: number;
}

/** Writes the type of a schema, and queues the rest. A boolean schema is written as it is. Undefined if there is no room. */
function addPlace(cut: Cut, schema: JsonValue, { overhead, room, ...where }: Placing): Place | boolean | undefined {
  const most = Math.min(room, cut.left);
  if (typeof schema === 'boolean') {
    if (overhead + 5 > most) return undefined;
    cut.left -= overhead + 5;
    return schema;
  }
  const flat = isJsonObject(schema) ? flatten(schema, cut.root) : { parts: [], references: [], isWhole: false };
  const output = typeIn(flat);
  const isOuter = holdsSchemas(flat);
  const reserved = isOuter ? (isObject(flat) ? objectCharacters : 0) + keyCharacters.description + textLength(moreAt(where.pointer)) : 0;
  const cost = overhead + JSON.stringify(output).length + reserved;
  if (cost > most) return undefined;
  cut.left -= cost;
  const place: Place = { ...where, flat, output, isOuter, isIncomplete: true, isPutOff: false, notes: [] };
  cut.places.push(place);
  enqueue(cut, place);
  return place;
}

function enqueue({ queue }: Cut, place: Place): void {
  if (place.priority <= maxPriority) (queue[place.priority] ??= []).push(place);
}

function typeIn({ parts }: FlatSchema): JsonObject {
  const typed = parts.find((part) => part['type'] !== undefined);
  if (typed === undefined) return {};
  const { type, nullable } = typed;
  const isKnown = typeof type === 'string' || (Array.isArray(type) && type.length <= 8);
  return isKnown ? { type, ...(nullable === true && { nullable }) } : {};
}

/** Keywords with schemas that are written out one by one. */
const holding = ['properties', 'additionalProperties', 'items', 'prefixItems', 'anyOf', 'oneOf', 'patternProperties'];

const objectCharacters = keyCharacters.properties + keyCharacters.required + keyCharacters.additionalProperties;

function isObject({ parts }: FlatSchema): boolean {
  return parts.some((part) => ['properties', 'additionalProperties', 'patternProperties'].some((keyword) => part[keyword] !== undefined));
}

function holdsSchemas({ parts, isWhole }: FlatSchema): boolean {
  return !isWhole || parts.some((part) => holding.some((keyword) => typeof part[keyword] === 'object'));
}

function expand(cut: Cut, place: Place): void {
  const { flat, opened, isOuter } = place;
  const repeated = isOuter ? flat.references.find((reference) => cut.writtenAt.has(reference)) : undefined;
  if (repeated !== undefined) {
    const note = `As ${cut.writtenAt.get(repeated) || 'the arguments'}.`;
    if (!place.isPutOff && take(cut, textLength(note) + 1)) place.notes.push(note);
    // A schema within itself is not written out again, any other one where there is nothing else to write.
    if (opened.includes(repeated)) return;
    if (!place.isPutOff) {
      place.isPutOff = true;
      place.priority += steps.repeated;
      return enqueue(cut, place);
    }
  }
  for (const reference of flat.references) if (!cut.writtenAt.has(reference)) cut.writtenAt.set(reference, place.pointer);
  const isComplete = [writeKeywords, writeChoices, writeDescription, writeMembers, writeItems, writeAlternatives].map((write) =>
    write(cut, place),
  );
  place.isIncomplete = !flat.isWhole || isComplete.includes(false);
  if (!place.isIncomplete) place.notes = [];
}

/** Takes characters from what is left; false if there are too few. */
function take(cut: Cut, characters: number): boolean {
  if (characters > cut.left) return false;
  cut.left -= characters;
  return true;
}

/** Keywords that are copied as they are, or left out. Each of these functions says whether everything was written. */
function writeKeywords(cut: Cut, { flat: { parts }, output }: Place): boolean {
  let isComplete = true;
  let count = 0;
  for (const part of parts) {
    for (const keyword in part) {
      const value = part[keyword];
      if (value === undefined || notCopied.has(keyword)) continue;
      count += 1;
      if (count > maxKeywords) return false;
      if (Object.hasOwn(output, keyword)) continue;
      const isApart = parts.length > 1 && compound.has(keyword);
      const length = isApart || isReferring(value) ? Infinity : lengthWithin(value, keywordCharacters);
      if (keyword !== '__proto__' && take(cut, length + keyword.length + 4)) output[keyword] = value;
      else isComplete = false;
    }
  }
  return isComplete;
}

/** A part of the choices would refuse the others: they are written all, or the first ones are named in words. */
function writeChoices(cut: Cut, { flat, output, notes, holder }: Place): boolean {
  const choices = keywordOf(flat, 'enum');
  if (!Array.isArray(choices)) return true;
  const most = holder === undefined ? cut.left / 2 : Math.max(keywordCharacters, cut.characters * shareOfChoices);
  if (take(cut, lengthWithin(choices, most) + 8)) {
    output['enum'] = choices;
    return true;
  }
  const shown = choices.slice(0, 5).map((choice) => shortened(JSON.stringify(choice ?? null), 40));
  const note = `One of ${choices.length}: ${shown.join(', ')}, …`;
  if (take(cut, textLength(note) + keyCharacters.description)) notes.push(note);
  return false;
}

function writeDescription(cut: Cut, { flat, output }: Place): boolean {
  const description = keywordOf(flat, 'description');
  if (typeof description !== 'string' || description === '') return true;
  const shown = shortened(description, shortDescription);
  if (!take(cut, textLength(shown) + keyCharacters.description)) return false;
  // One that ends in "…" says so itself.
  output['description'] = shown;
  return true;
}

/** The members of an object, required ones first. Those without room are named in words, and the object stays open for them. */
function writeMembers(cut: Cut, place: Place): boolean {
  const { flat, output, isOuter } = place;
  const required = requiredIn(flat);
  const { members, areAll } = membersInOrder(flat, required, cut.left / smallestMember);
  const entries: [string, JsonValue][] = [];
  let room = roomIn(cut, place);
  for (const [name, schema] of members) {
    const before = cut.left;
    const isRequired = required.has(name);
    // Its name with a colon and a comma, and a second time where it is required.
    const overhead = (textLength(name) + 4) * (isRequired ? 2 : 1);
    const child = addPlace(cut, schema, {
      ...below(place, isRequired ? steps.required : steps.optional, escaped(name)),
      overhead,
      room: isRequired ? cut.left : room,
    });
    if (child === undefined) break;
    if (!isRequired) room -= before - cut.left;
    entries.push([name, outputOf(child)]);
  }
  if (entries.length > 0) output['properties'] = Object.fromEntries(entries);
  const needed = entries.map(([name]) => name).filter((name) => required.has(name));
  for (const name of required) {
    // Named elsewhere, as in alternatives that differ in what they require.
    if (memberOf(flat, name) === undefined && take(cut, textLength(name) + 3 + (needed.length === 0 ? keyCharacters.required : 0)))
      needed.push(name);
  }
  if (needed.length > 0) output['required'] = needed;
  const isComplete = areAll && entries.length === members.length;
  if (!isComplete) nameOthers(cut, place, { names: members.slice(entries.length).map(([name]) => name), areAll });
  const areOthersComplete = writeOthers(cut, place, isComplete);
  if (isOuter && isObject(flat))
    for (const keyword of objectKeywords) if (output[keyword] === undefined) cut.left += keyCharacters[keyword];
  return areOthersComplete && isComplete;
}

const objectKeywords = ['properties', 'required', 'additionalProperties'] as const;

function roomIn({ left }: Cut, { priority }: Place): number {
  return left * (priority <= outerPriority ? shareOfMembers.outer : shareOfMembers.inner);
}

function requiredIn({ parts }: FlatSchema): ReadonlySet<string> {
  const lists = parts.map(({ required }) => (Array.isArray(required) ? required.slice(0, maxRequired) : []));
  return new Set(lists.flat().filter((name) => typeof name === 'string'));
}

function membersInOrder(
  flat: FlatSchema,
  required: ReadonlySet<string>,
  max: number,
): { members: [name: string, schema: JsonValue][]; areAll: boolean } {
  const first: [string, JsonValue][] = [];
  for (const name of required) {
    const schema = memberOf(flat, name);
    if (schema !== undefined) first.push([name, schema]);
  }
  const others: [string, JsonValue][] = [];
  for (const [name, schema] of membersOf(flat)) {
    if (required.has(name)) continue;
    if (first.length + others.length >= max) return { members: [...first, ...others], areAll: false };
    others.push([name, schema]);
  }
  return { members: [...first, ...others], areAll: true };
}

/** What is known of a place below another one. */
function below(place: Place, step: number, token?: string): Pick<Place, 'pointer' | 'priority' | 'opened' | 'holder'> {
  return {
    pointer: token === undefined ? place.pointer : `${place.pointer}/${token}`,
    priority: place.priority + step,
    opened: place.flat.references.length === 0 ? place.opened : [...place.opened, ...place.flat.references],
    holder: place,
  };
}

function outputOf(place: Place | boolean): JsonValue {
  return typeof place === 'boolean' ? place : place.output;
}

function nameOthers(cut: Cut, { notes }: Place, { names, areAll }: { names: readonly string[]; areAll: boolean }): void {
  let note = '';
  let count = 0;
  for (const name of names) {
    const longer = note === '' ? `Also ${name}` : `${note}, ${name}`;
    if (textLength(longer) + 10 > cut.left * shareOfNames) break;
    note = longer;
    count += 1;
  }
  const more = areAll && count === names.length ? '.' : note === '' ? '' : ', ….';
  if (note !== '' && take(cut, textLength(note) + more.length + 1)) notes.push(`${note}${more}`);
}

/** Members that are not named: forbidden ones only where the whole forbids them and nothing was left out. */
function writeOthers(cut: Cut, place: Place, areMembersComplete: boolean): boolean {
  const { flat, output } = place;
  const [part] = flat.parts;
  const { additionalProperties: others, patternProperties: patterns } = part ?? {};
  const isApart = flat.parts.length > 1;
  const isOpen = flat.parts.some(
    (each) => each['additionalProperties'] === true || typeof (each['additionalProperties'] ?? each['patternProperties']) === 'object',
  );
  if (!areMembersComplete || (isApart && isOpen) || !flat.isWhole) {
    if (isObject(flat)) output['additionalProperties'] = true;
    return !isOpen || others === true;
  }
  if (isApart) return true;
  if (patterns !== undefined) {
    const length = isReferring(patterns) ? Infinity : lengthWithin(patterns, keywordCharacters);
    if (!take(cut, length + 22)) {
      output['additionalProperties'] = true;
      return false;
    }
    output['patternProperties'] = patterns;
  }
  if (isJsonObject(others)) {
    const child = addPlace(cut, others, { ...below(place, steps.values, '*'), overhead: 0, room: cut.left });
    output['additionalProperties'] = child === undefined ? true : outputOf(child);
    return child !== undefined;
  }
  if (typeof others === 'boolean') output['additionalProperties'] = others;
  return true;
}

/** Of one part of the schema, because `items` holds for what follows the `prefixItems` beside it. */
function writeItems(cut: Cut, place: Place): boolean {
  const parts = place.flat.parts.filter(({ items, prefixItems }) => items !== undefined || prefixItems !== undefined);
  const [part] = parts;
  if (part === undefined) return true;
  const { items, prefixItems } = part;
  const first = Array.isArray(prefixItems) ? prefixItems : [];
  const schemas: JsonValue[] = [];
  for (const [index, item] of first.entries()) {
    const child = addPlace(cut, item, {
      ...below(place, steps.items, String(index)),
      overhead: schemas.length === 0 ? 18 : 1,
      room: cut.left,
    });
    if (child === undefined) break;
    schemas.push(outputOf(child));
  }
  if (schemas.length > 0) place.output['prefixItems'] = schemas;
  if (schemas.length < first.length) return false;
  if (items === undefined) return parts.length === 1;
  // A list of schemas is a form of older drafts, which nothing here checks.
  if (Array.isArray(items)) return false;
  const child = addPlace(cut, items, { ...below(place, steps.items, '*'), overhead: 9, room: cut.left });
  if (child === undefined) return false;
  place.output['items'] = outputOf(child);
  return parts.length === 1;
}

/** `oneOf` becomes `anyOf`: of alternatives that are cut, several may fit. One without room is replaced by one that everything fits. */
function writeAlternatives(cut: Cut, place: Place): boolean {
  const { flat, output } = place;
  const alternatives = alternativesOf(flat);
  if (alternatives === undefined) return true;
  const { keyword, branches } = alternatives;
  const rest = (count: number): JsonObject => ({ description: `${count} more.` });
  if (!take(cut, JSON.stringify(rest(branches.length)).length + 11)) return false;
  const isSole =
    branches.length <= maxKeywords &&
    branches.filter((branch) => isJsonObject(branch) && holdsSchemas(flatten(branch, cut.root))).length === 1;
  const schemas: JsonValue[] = [];
  let room = roomIn(cut, place);
  for (const [index, branch] of branches.entries()) {
    const before = cut.left;
    // Members of the only alternative that has some are found at the pointer of the value itself.
    const where = below(place, steps.branch, isSole ? undefined : `${keyword}/${index}`);
    const child = addPlace(cut, branch, { ...where, overhead: 1, room });
    if (child === undefined) break;
    room -= before - cut.left;
    schemas.push(outputOf(child));
  }
  if (schemas.length === 0) return false;
  const isComplete = schemas.length === branches.length;
  output['anyOf'] = isComplete ? schemas : [...schemas, rest(branches.length - schemas.length)];
  return isComplete && place.flat.parts.filter((part) => part['anyOf'] !== undefined || part['oneOf'] !== undefined).length === 1;
}

/** Says where something is missing, and lengthens descriptions as far as there is room. Gives the pointers of what was cut. */
function finish(cut: Cut, top: Place): string[] {
  for (const { isIncomplete, isOuter, holder } of cut.places.toReversed())
    if (isIncomplete && !isOuter && holder !== undefined) holder.isIncomplete = true;
  const incomplete = cut.places.filter(({ isIncomplete }) => isIncomplete);
  for (const { output, notes, isOuter, pointer } of incomplete) {
    const said = ownValue(output, 'description');
    const words = [...(typeof said === 'string' ? [said] : []), ...notes, ...(isOuter ? [moreAt(pointer)] : [])];
    if (words.length > 0) output['description'] = words.join(' ');
  }
  cut.left = cut.characters - JSON.stringify(top.output).length;
  for (const place of cut.places) lengthen(cut, place);
  const cuts = incomplete.filter(({ isOuter }) => isOuter).toSorted((one, other) => one.priority - other.priority);
  return cuts.map(({ pointer }) => pointer);
}

function lengthen(cut: Cut, { flat, output }: Place): void {
  const description = keywordOf(flat, 'description');
  const said = ownValue(output, 'description');
  if (typeof description !== 'string' || typeof said !== 'string') return;
  const short = shortened(description, shortDescription);
  if (short === description || !said.startsWith(short)) return;
  const long = shortened(description, longDescription);
  if (take(cut, textLength(long) - textLength(short))) output['description'] = `${long}${said.slice(short.length)}`;
}

function moreAt(pointer: string): string {
  return `More: ${pointer === '' ? '/' : pointer}`;
}

function textLength(text: string): number {
  return JSON.stringify(text).length - 2;
}

/** Cut between words where that is possible. */
export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = text.slice(0, length - 1);
  const end = head.lastIndexOf(' ');
  return `${head.slice(0, end > length / 2 ? end : head.length).toWellFormed()}…`;
}
