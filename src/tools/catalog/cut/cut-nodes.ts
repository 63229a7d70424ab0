import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { flatten, type FlatSchema } from '../../../shared/json-schema/flatten.ts';

/** How much less important a schema is than the one that holds it: what is required comes first, then what is near the root. */
export const steps = { required: 0, optional: 2, items: 1, branch: 1, values: 2, repeated: 8 };
/** Less important schemas are omitted. */
export const maxPriority = 200;
/** The part of what is left that the optional members of one object, or the alternatives of one value, may take. */
const shareOfMembers = { outer: 0.5, inner: 0.125 };
/** Up to this priority a place counts as an outer one. */
const outerPriority = 2;
/** One keyword besides types and choices: a default, a pattern, a condition. */
export const keywordCharacters = 400;
export const maxKeywords = 64;
/** The characters of keywords without their values, with commas. */
export const keyCharacters = { properties: 16, required: 14, additionalProperties: 28, description: 17 };

/** A schema while it is cut. */
export interface Cut {
  readonly root: JsonObject;
  readonly characters: number;
  /** Of the characters. */
  left: number;
  /** All that is written, outer before inner. */
  readonly nodes: SchemaNode[];
  /** Schemas to expand, by priority. */
  readonly queue: SchemaNode[][];
  /** Where the target of a reference was first written out. */
  readonly writtenAt: Map<string, string>;
}

/** One schema of the output. */
export interface SchemaNode {
  readonly flat: FlatSchema;
  readonly output: JsonObject;
  readonly pointer: string;
  /** Lower is more important. */
  priority: number;
  /** The references that lead here. */
  readonly opened: readonly string[];
  readonly holder: SchemaNode | undefined;
  /** It holds other schemas, and says itself what is missing; the characters are reserved. Otherwise its holder says so. */
  readonly isOuter: boolean;
  isIncomplete: boolean;
  /** To be expanded later, because it is written out elsewhere. */
  isPutOff: boolean;
  /** Sentences before the pointer, beside the author's own description. */
  notes: string[];
}

interface Placing extends Pick<SchemaNode, 'pointer' | 'priority' | 'opened' | 'holder'> {
  /** Characters that the holder writes beside it. */
  overhead: number;
  /** The characters it may take. */
  room: number;
}

/** Writes the type of a schema, and queues the rest. A boolean schema is written as it is. Undefined if there is no room. */
export function addNode(cut: Cut, schema: JsonValue, { overhead, room, ...where }: Placing): SchemaNode | boolean | undefined {
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
  const node: SchemaNode = { ...where, flat, output, isOuter, isIncomplete: true, isPutOff: false, notes: [] };
  cut.nodes.push(node);
  enqueue(cut, node);
  return node;
}

export function enqueue({ queue }: Cut, node: SchemaNode): void {
  if (node.priority <= maxPriority) (queue[node.priority] ??= []).push(node);
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

export function isObject({ parts }: FlatSchema): boolean {
  return parts.some((part) => ['properties', 'additionalProperties', 'patternProperties'].some((keyword) => part[keyword] !== undefined));
}

export function holdsSchemas({ parts, isWhole }: FlatSchema): boolean {
  return !isWhole || parts.some((part) => holding.some((keyword) => typeof part[keyword] === 'object'));
}

/** Takes characters from what is left; false if there are too few. */
export function take(cut: Cut, characters: number): boolean {
  if (characters > cut.left) return false;
  cut.left -= characters;
  return true;
}

export function roomIn({ left }: Cut, { priority }: SchemaNode): number {
  return left * (priority <= outerPriority ? shareOfMembers.outer : shareOfMembers.inner);
}

/** A schema below another one. */
export function below(node: SchemaNode, step: number, token?: string): Pick<SchemaNode, 'pointer' | 'priority' | 'opened' | 'holder'> {
  return {
    pointer: token === undefined ? node.pointer : `${node.pointer}/${token}`,
    priority: node.priority + step,
    opened: node.flat.references.length === 0 ? node.opened : [...node.opened, ...node.flat.references],
    holder: node,
  };
}

export function outputOf(node: SchemaNode | boolean): JsonValue {
  return typeof node === 'boolean' ? node : node.output;
}

export function moreAt(pointer: string): string {
  return `More: ${pointer === '' ? '/' : pointer}`;
}

export function textLength(text: string): number {
  return JSON.stringify(text).length - 2;
}

/** Cut between words where that is possible. */
export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = text.slice(0, length - 1);
  const end = head.lastIndexOf(' ');
  return `${head.slice(0, end > length / 2 ? end : head.length).toWellFormed()}…`;
}
