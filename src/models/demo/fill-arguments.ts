import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { findMoments } from './find-moments.ts';
import { findPlaces } from './find-places.ts';
import { isMomentParameter, isZoneParameter, splitName } from './function-shape.ts';
import type { FunctionShape, Parameter } from './function-shape.ts';
import { objectOf, quotedTexts, stem, trimmed } from './question-words.ts';

export interface FilledArguments {
  args: JsonObject;
  /** False when a required argument had to be guessed. */
  isComplete: boolean;
}

/** What a question holds, each taken by at most one parameter. */
export interface Material {
  text: string;
  object: JsonObject;
  quoted: string[];
  numbers: number[];
  moments: string[];
  places: { zone: string; text: string }[];
  /** Whether the question as a whole has become an argument. */
  isTaken: boolean;
}

/** Fills a function's arguments from a question: named values first, then by kind, then what is left of the question. */
export function fillArguments(shape: FunctionShape, found: Material): FilledArguments {
  const { quoted, numbers, moments, places } = found;
  const material = { ...found, quoted: [...quoted], numbers: [...numbers], moments: [...moments], places: [...places] };
  const args: JsonObject = {};
  const ordered = shape.parameters.toSorted((one, other) => Number(other.isRequired) - Number(one.isRequired));
  for (const parameter of ordered) {
    const value = namedValue(parameter, material) ?? valueByKind(parameter, material);
    if (value !== undefined) args[parameter.name] = value;
  }
  let isComplete = true;
  for (const parameter of ordered.filter(({ name, isRequired }) => isRequired && !Object.hasOwn(args, name))) {
    const rest = isFreeText(parameter) ? takeRest(shape, material) : undefined;
    isComplete &&= rest !== undefined;
    args[parameter.name] = rest ?? guess(parameter, material.text);
  }
  return { args, isComplete };
}

export function readMaterial(text: string, now: number): Material {
  const moments = findMoments(text, new Date(now).toISOString().slice(0, 10));
  const plain = moments.reduceRight((left, moment) => `${left.slice(0, moment.start)} ${left.slice(moment.end)}`, text);
  const numbers = [...plain.matchAll(/(?<![\p{L}\p{N}_.])-?\d{1,15}(?:\.\d{1,15})?(?![\p{L}\p{N}_])/gu)].map(([digits]) => Number(digits));
  return {
    text,
    object: jsonIn(text),
    quoted: quotedTexts(text),
    numbers,
    moments: moments.map((moment) => moment.value),
    places: findPlaces(text),
    isTaken: false,
  };
}

/** A JSON object in the question is taken as arguments. */
function jsonIn(text: string): JsonObject {
  const start = text.indexOf('{');
  const end = text.lastIndexOf('}');
  if (start < 0 || end < start) return {};
  try {
    const value: unknown = JSON.parse(text.slice(start, end + 1));
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** From JSON, or from `name: value`, `name=value`, `name "value"`. */
function namedValue(parameter: Parameter, material: Material): JsonValue | undefined {
  const given = ownValue(material.object, parameter.name);
  if (given !== undefined) return given;
  const name = splitName(parameter.name)
    .replaceAll(/[\\^$.*+?()[\]{}|/]/gu, '\\$&')
    .replaceAll(' ', '[ _-]?');
  const written = new RegExp(`(?<![\\p{L}\\p{N}_])${name}(?: ?[:=] ?| (?="))("[^"\\n]*"|[^\\s,;]+)`, 'iu').exec(material.text)?.[1];
  if (written === undefined) return undefined;
  const bare = written.replace(/^"|"$|(?<=.)[.?!]$/gu, '');
  material.quoted = material.quoted.filter((text) => text !== bare);
  return typed(bare, parameter, material);
}

function typed(text: string, { type }: Parameter, material: Material): JsonValue | undefined {
  if (type === 'boolean') return /^(?:true|yes|on|1)$/iu.test(text);
  if (type !== 'number' && type !== 'integer') return text;
  const value = Number(text);
  if (Number.isNaN(value)) return undefined;
  material.numbers = material.numbers.filter((number) => number !== value);
  return type === 'integer' ? Math.trunc(value) : value;
}

function valueByKind(parameter: Parameter, material: Material): JsonValue | undefined {
  const { schema, type } = parameter;
  const constant = ownValue(schema, 'const');
  if (constant !== undefined) return constant;
  const values = ownValue(schema, 'enum');
  if (Array.isArray(values)) return values.find((value) => isMentioned(value, material.text));
  if (type === 'number') return material.numbers.shift();
  if (type === 'integer') {
    const index = material.numbers.findIndex((number) => Number.isInteger(number));
    return index < 0 ? undefined : material.numbers.splice(index, 1)[0];
  }
  if (type === 'array') return listOf(parameter, material);
  return type === 'string' || type === undefined ? textByKind(parameter, material) : undefined;
}

function isMentioned(value: JsonValue, text: string): boolean {
  if (typeof value !== 'string' || value === '') return false;
  const words = text.toLowerCase().split(/[^\p{L}\p{N}_]+/u);
  const wanted = value.toLowerCase();
  return (
    words.includes(wanted) ||
    words.some((word) => stem(word) === stem(wanted)) ||
    (wanted.includes(' ') && text.toLowerCase().includes(wanted))
  );
}

const kinds = {
  email: /\be-?mails?\b|\bmail address\b/u,
  address: /\b(?:ur[il]|link|website)\b/u,
  place: /\b(?:city|location|place|country|town|region|where)\b/u,
};
/** `in Springfield`, `near Stratford Upon Avon`: a place that the table does not know. */
const capitalisedPlace = /\b(?:in|at|for|near|of|to) (\p{Lu}[\p{L}'’-]*(?: \p{Lu}[\p{L}'’-]*){0,4})/u;

function textByKind(parameter: Parameter, material: Material): string | undefined {
  if (isZoneParameter(parameter)) return material.places.shift()?.zone;
  if (isMomentParameter(parameter)) return material.moments.shift();
  if (kinds.email.test(parameter.words)) return /[^\s@<>"]{1,64}@[^\s@<>".]{1,64}(?:\.[^\s@<>".]{1,64}){1,8}/u.exec(material.text)?.[0];
  if (kinds.address.test(parameter.words)) return /https?:\/\/[^\s"<>)]+/u.exec(material.text)?.[0];
  if (kinds.place.test(parameter.words)) return material.places.shift()?.text ?? capitalisedPlace.exec(material.text)?.[1];
  return parameter.isRequired ? material.quoted.shift() : undefined;
}

/** Whether what is left of the question can be its value. */
function isFreeText(parameter: Parameter): boolean {
  if (parameter.type !== 'string' && parameter.type !== undefined) return false;
  if (Array.isArray(ownValue(parameter.schema, 'enum')) || isZoneParameter(parameter) || isMomentParameter(parameter)) return false;
  return !Object.values(kinds).some((kind) => kind.test(parameter.words));
}

function listOf({ schema, isRequired }: Parameter, material: Material): JsonValue[] | undefined {
  const items = ownValue(schema, 'items');
  const type = isJsonObject(items) ? ownValue(items, 'type') : undefined;
  if (type === 'number' || type === 'integer') return material.numbers.length > 0 ? material.numbers.splice(0) : undefined;
  return material.quoted.length > 0 && isRequired ? material.quoted.splice(0) : undefined;
}

function takeRest(shape: FunctionShape, material: Material): string | undefined {
  if (material.isTaken) return undefined;
  material.isTaken = true;
  const rest = objectOf(material.text, shape.words.split(/[^\p{L}\p{N}]+/u));
  return rest === '' ? undefined : rest;
}

/** Something of the right type, for a function that had to be called. */
function guess({ schema, type }: Parameter, text: string): JsonValue {
  const values = ownValue(schema, 'enum');
  const preset = ownValue(schema, 'default') ?? (Array.isArray(values) ? values[0] : undefined);
  if (preset !== undefined) return preset;
  switch (type) {
    case 'number':
    case 'integer':
      return 0;
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'object':
      return {};
    case undefined:
    default:
      return trimmed(text);
  }
}
