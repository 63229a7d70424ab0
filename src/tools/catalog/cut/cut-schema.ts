import { ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import {
  addNode,
  enqueue,
  keyCharacters,
  keywordCharacters,
  maxKeywords,
  maxPriority,
  moreAt,
  shortened,
  steps,
  take,
  textLength,
  type Cut,
  type SchemaNode,
} from './cut-nodes.ts';
import { isReferring, keywordOf } from '../../../shared/json-schema/flatten.ts';
import { lengthWithin } from './json-length.ts';
import { writeAlternatives, writeItems, writeMembers } from './write-inner-schemas.ts';

/** A schema that was made smaller, and where something is missing. */
interface CutSchema {
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

/** The initial length of a description. Remaining characters lengthen the most important ones at the end. */
const shortDescription = 100;
const longDescription = 1_000;
/** The part of all characters that the choices of one value may take. */
const shareOfChoices = 1 / 8;
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
  const cut: Cut = { root, characters, left: characters, nodes: [], queue: [], writtenAt: new Map() };
  const { pointer } = part;
  const top = addNode(cut, part.schema, { pointer, priority: 0, opened: [], holder: undefined, overhead: 0, room: characters });
  if (typeof top !== 'object') return { schema: {}, cuts: [pointer] };
  for (let priority = 0; priority <= maxPriority; priority += 1) {
    // The list may grow while it is read.
    const nodes = cut.queue[priority] ?? [];
    for (let index = 0; index < nodes.length; index += 1) {
      const node = nodes[index];
      if (node !== undefined) expand(cut, node);
    }
  }
  return { schema: top.output, cuts: finish(cut, top) };
}

function expand(cut: Cut, node: SchemaNode): void {
  const { flat, opened, isOuter } = node;
  const repeated = isOuter ? flat.references.find((reference) => cut.writtenAt.has(reference)) : undefined;
  if (repeated !== undefined) {
    const note = `As ${cut.writtenAt.get(repeated) || 'the arguments'}.`;
    if (!node.isPutOff && take(cut, textLength(note) + 1)) node.notes.push(note);
    // A schema within itself is not written out again, any other one where there is nothing else to write.
    if (opened.includes(repeated)) return;
    if (!node.isPutOff) {
      node.isPutOff = true;
      node.priority += steps.repeated;
      return enqueue(cut, node);
    }
  }
  for (const reference of flat.references) if (!cut.writtenAt.has(reference)) cut.writtenAt.set(reference, node.pointer);
  const isComplete = [writeKeywords, writeChoices, writeDescription, writeMembers, writeItems, writeAlternatives].map((write) =>
    write(cut, node),
  );
  node.isIncomplete = !flat.isWhole || isComplete.includes(false);
  if (!node.isIncomplete) node.notes = [];
}

/** Keywords that are copied as they are, or left out. Each of these functions says whether everything was written. */
function writeKeywords(cut: Cut, { flat: { parts }, output }: SchemaNode): boolean {
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
function writeChoices(cut: Cut, { flat, output, notes, holder }: SchemaNode): boolean {
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

function writeDescription(cut: Cut, { flat, output }: SchemaNode): boolean {
  const description = keywordOf(flat, 'description');
  if (typeof description !== 'string' || description === '') return true;
  const shown = shortened(description, shortDescription);
  if (!take(cut, textLength(shown) + keyCharacters.description)) return false;
  // One that ends in "…" says so itself.
  output['description'] = shown;
  return true;
}

/** Says where something is missing, and lengthens descriptions as far as there is room. Gives the pointers of what was cut. */
function finish(cut: Cut, top: SchemaNode): string[] {
  for (const { isIncomplete, isOuter, holder } of cut.nodes.toReversed())
    if (isIncomplete && !isOuter && holder !== undefined) holder.isIncomplete = true;
  const incomplete = cut.nodes.filter(({ isIncomplete }) => isIncomplete);
  for (const { output, notes, isOuter, pointer } of incomplete) {
    const said = ownValue(output, 'description');
    const words = [...(typeof said === 'string' ? [said] : []), ...notes, ...(isOuter ? [moreAt(pointer)] : [])];
    if (words.length > 0) output['description'] = words.join(' ');
  }
  cut.left = cut.characters - JSON.stringify(top.output).length;
  for (const node of cut.nodes) lengthen(cut, node);
  const cuts = incomplete.filter(({ isOuter }) => isOuter).toSorted((one, other) => one.priority - other.priority);
  return cuts.map(({ pointer }) => pointer);
}

function lengthen(cut: Cut, { flat, output }: SchemaNode): void {
  const description = keywordOf(flat, 'description');
  const said = ownValue(output, 'description');
  if (typeof description !== 'string' || typeof said !== 'string') return;
  const short = shortened(description, shortDescription);
  if (short === description || !said.startsWith(short)) return;
  const long = shortened(description, longDescription);
  if (take(cut, textLength(long) - textLength(short))) output['description'] = `${long}${said.slice(short.length)}`;
}
