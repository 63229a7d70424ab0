import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import {
  addNode,
  below,
  holdsSchemas,
  isObject,
  keyCharacters,
  keywordCharacters,
  maxKeywords,
  outputOf,
  roomIn,
  steps,
  take,
  textLength,
  type Cut,
  type SchemaNode,
} from './cut-nodes.ts';
import { alternativesOf, flatten, isReferring, memberOf, membersOf, type FlatSchema } from '../../../shared/json-schema/flatten.ts';
import { escapeStep } from '../../../shared/json-schema/pointer.ts';
import { lengthWithin } from './json-length.ts';

/** The part of what is left that the names of members that are left out may take. */
const shareOfNames = 0.1;
const maxRequired = 1_000;
/** `"a":{},` */
const smallestMember = 7;

/** The members of an object, required ones first. Those without room are named in words, and the object stays open for them. */
export function writeMembers(cut: Cut, node: SchemaNode): boolean {
  const { flat, output, isOuter } = node;
  const required = requiredIn(flat);
  const { members, areAll } = membersInOrder(flat, required, cut.left / smallestMember);
  const entries: [string, JsonValue][] = [];
  let room = roomIn(cut, node);
  for (const [name, schema] of members) {
    const before = cut.left;
    const isRequired = required.has(name);
    // Its name with a colon and a comma, and a second time where it is required.
    const overhead = (textLength(name) + 4) * (isRequired ? 2 : 1);
    const child = addNode(cut, schema, {
      ...below(node, isRequired ? steps.required : steps.optional, escapeStep(name)),
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
  if (!isComplete) nameOthers(cut, node, { names: members.slice(entries.length).map(([name]) => name), areAll });
  const areOthersComplete = writeOthers(cut, node, isComplete);
  if (isOuter && isObject(flat))
    for (const keyword of objectKeywords) if (output[keyword] === undefined) cut.left += keyCharacters[keyword];
  return areOthersComplete && isComplete;
}

const objectKeywords = ['properties', 'required', 'additionalProperties'] as const;

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

function nameOthers(cut: Cut, { notes }: SchemaNode, { names, areAll }: { names: readonly string[]; areAll: boolean }): void {
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
function writeOthers(cut: Cut, node: SchemaNode, areMembersComplete: boolean): boolean {
  const { flat, output } = node;
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
    const child = addNode(cut, others, { ...below(node, steps.values, '*'), overhead: 0, room: cut.left });
    output['additionalProperties'] = child === undefined ? true : outputOf(child);
    return child !== undefined;
  }
  if (typeof others === 'boolean') output['additionalProperties'] = others;
  return true;
}

/** Taken from one part of the schema, because `items` applies to the items after the `prefixItems` beside it. */
export function writeItems(cut: Cut, node: SchemaNode): boolean {
  const parts = node.flat.parts.filter(({ items, prefixItems }) => items !== undefined || prefixItems !== undefined);
  const [part] = parts;
  if (part === undefined) return true;
  const { items, prefixItems } = part;
  const first = Array.isArray(prefixItems) ? prefixItems : [];
  const schemas: JsonValue[] = [];
  for (const [index, item] of first.entries()) {
    const child = addNode(cut, item, {
      ...below(node, steps.items, String(index)),
      overhead: schemas.length === 0 ? 18 : 1,
      room: cut.left,
    });
    if (child === undefined) break;
    schemas.push(outputOf(child));
  }
  if (schemas.length > 0) node.output['prefixItems'] = schemas;
  if (schemas.length < first.length) return false;
  if (items === undefined) return parts.length === 1;
  // A list of schemas is a form of older drafts, which nothing here checks.
  if (Array.isArray(items)) return false;
  const child = addNode(cut, items, { ...below(node, steps.items, '*'), overhead: 9, room: cut.left });
  if (child === undefined) return false;
  node.output['items'] = outputOf(child);
  return parts.length === 1;
}

/** `oneOf` becomes `anyOf`: of alternatives that are cut, several may fit. One without room is replaced by one that everything fits. */
export function writeAlternatives(cut: Cut, node: SchemaNode): boolean {
  const { flat, output } = node;
  const alternatives = alternativesOf(flat);
  if (alternatives === undefined) return true;
  const { keyword, branches } = alternatives;
  const rest = (count: number): JsonObject => ({ description: `${count} more.` });
  if (!take(cut, JSON.stringify(rest(branches.length)).length + 11)) return false;
  const isSole =
    branches.length <= maxKeywords &&
    branches.filter((branch) => isJsonObject(branch) && holdsSchemas(flatten(branch, cut.root))).length === 1;
  const schemas: JsonValue[] = [];
  let room = roomIn(cut, node);
  for (const [index, branch] of branches.entries()) {
    const before = cut.left;
    // Members of the only alternative that has some are found at the pointer of the value itself.
    const where = below(node, steps.branch, isSole ? undefined : `${keyword}/${index}`);
    const child = addNode(cut, branch, { ...where, overhead: 1, room });
    if (child === undefined) break;
    room -= before - cut.left;
    schemas.push(outputOf(child));
  }
  if (schemas.length === 0) return false;
  const isComplete = schemas.length === branches.length;
  output['anyOf'] = isComplete ? schemas : [...schemas, rest(branches.length - schemas.length)];
  return isComplete && node.flat.parts.filter((part) => part['anyOf'] !== undefined || part['oneOf'] !== undefined).length === 1;
}
