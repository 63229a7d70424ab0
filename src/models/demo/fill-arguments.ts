import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';
import { stem, wordsOf, type Question } from './read-question.ts';

export interface FilledArguments {
  args: JsonObject;
  /** How many arguments the question itself has values for. */
  found: number;
  /** False when a required argument had to be guessed. */
  isComplete: boolean;
}

interface Parameter {
  name: string;
  /** Name and description in lower case, to look for words in. */
  words: string;
  schema: JsonObject;
  type: string;
}

/** What the question still has to give: each value is used once. */
type Material = Omit<Question, 'object' | 'text'>;

/** Fills a function's arguments from a question: by their names, by their kinds, then with what is left of the question. */
export function fillArguments(spec: ToolSpec, question: Question): FilledArguments {
  const { emails, moments, numbers, places, quoted } = question;
  const material: Material = {
    ...question,
    emails: [...emails],
    moments: [...moments],
    numbers: [...numbers],
    places: [...places],
    quoted: [...quoted],
  };
  const required = ownValue(spec.parameters, 'required');
  const isRequired = ({ name }: Parameter): boolean => Array.isArray(required) && required.includes(name);
  const parameters = parametersOf(spec).toSorted((one, other) => Number(isRequired(other)) - Number(isRequired(one)));
  const args: JsonObject = {};
  for (const parameter of parameters) {
    const value = ownValue(question.object, parameter.name) ?? takeValue(parameter, material, isRequired(parameter));
    if (value !== undefined) args[parameter.name] = value;
  }
  const found = Object.keys(args).length;
  let isComplete = true;
  let isRestTaken = false;
  for (const parameter of parameters.filter((each) => isRequired(each) && !Object.hasOwn(args, each.name))) {
    const takesRest: boolean = !isRestTaken && parameter.type === 'string' && kindOf(parameter) === 'text';
    const rest = takesRest ? restOf(question.text, spec) : '';
    isRestTaken ||= takesRest;
    isComplete &&= rest !== '';
    args[parameter.name] = rest === '' ? guess(parameter, question.text) : rest;
  }
  return { args, found, isComplete };
}

function parametersOf(spec: ToolSpec): Parameter[] {
  return propertiesOf(spec).map(([name, schema]) => {
    const description = ownValue(schema, 'description');
    const words = `${splitName(name)} ${typeof description === 'string' ? description : ''}`.toLowerCase();
    return { name, words, schema, type: typeOf(schema) };
  });
}

export function propertiesOf({ parameters }: ToolSpec): [name: string, schema: JsonObject][] {
  const properties = ownValue(parameters, 'properties');
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => [name, isJsonObject(schema) ? schema : {}]);
}

/** The first type that is not `null`, of `type` itself or of the alternatives. */
function typeOf(schema: JsonObject): string {
  const alternatives = ownValue(schema, 'anyOf') ?? ownValue(schema, 'oneOf');
  const schemas = [schema, ...(Array.isArray(alternatives) ? alternatives.filter((each) => isJsonObject(each)) : [])];
  const types = schemas.flatMap((each) => ownValue(each, 'type') ?? []);
  const type = types.find((each) => each !== 'null');
  return typeof type === 'string' ? type : 'string';
}

/** `getUserName_v2` → `get User Name v2`. */
export function splitName(name: string): string {
  return name.replaceAll(/[_.-]+/gu, ' ').replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
}

function kindOf({ words, schema }: Parameter): 'enum' | 'zone' | 'moment' | 'place' | 'email' | 'text' {
  if (Array.isArray(ownValue(schema, 'enum'))) return 'enum';
  if (/\b(?:time ?zone|tz|iana|zone)\b/u.test(words)) return 'zone';
  if (ownValue(schema, 'format') === 'date-time' || /\b(?:time ?stamp|date ?time|date|iso 8601)\b/u.test(words)) return 'moment';
  if (/\b(?:city|location|place|country|town)\b/u.test(words)) return 'place';
  return /\be-?mail\b/u.test(words) ? 'email' : 'text';
}

function takeValue(parameter: Parameter, material: Material, isRequired: boolean): JsonValue | undefined {
  const { schema, type } = parameter;
  if (type === 'number') return material.numbers.shift();
  if (type === 'integer') {
    const index = material.numbers.findIndex((number) => Number.isInteger(number));
    return index < 0 ? undefined : material.numbers.splice(index, 1)[0];
  }
  if (type === 'array') return takeList(schema, material, isRequired);
  if (type === 'boolean') return material.words.has(stem(parameter.name)) || undefined;
  if (type !== 'string') return undefined;
  switch (kindOf(parameter)) {
    case 'enum':
      return enumOf(schema).find((value) => typeof value === 'string' && material.words.has(stem(value.toLowerCase())));
    case 'zone':
      return takePlace(parameter, material)?.zone;
    case 'moment':
      return material.moments.shift();
    case 'place':
      return material.places.shift()?.text ?? namedPlaceIn(material.english);
    case 'email':
      return material.emails.shift();
    case 'text':
      return isRequired ? material.quoted.shift() : undefined;
  }
}

export function enumOf(schema: JsonObject): JsonValue[] {
  const values = ownValue(schema, 'enum');
  return Array.isArray(values) ? values : [];
}

/** `from Berlin to Tokyo`, `to Tokyo from Berlin`: the word before a place decides, else the order. */
function takePlace({ words }: Parameter, material: Material): Material['places'][number] | undefined {
  const direction = /\b(?:from|to)\b/u.exec(words)?.[0];
  const named = material.places.findIndex(({ index }) =>
    material.english.slice(0, index).trimEnd().toLowerCase().endsWith(` ${direction}`),
  );
  return material.places.splice(Math.max(0, named), 1)[0];
}

/** `in Springfield`, `near Stratford Upon Avon`: a place that is in no list of zones. */
export function namedPlaceIn(english: string): string | undefined {
  return /\b(?:in|at|for|near|of) (\p{Lu}[\p{Ll}'’-]+(?: \p{Lu}[\p{Ll}'’-]+){0,4})/u.exec(english)?.[1];
}

function takeList(schema: JsonObject, material: Material, isRequired: boolean): JsonValue[] | undefined {
  const items = ownValue(schema, 'items');
  const type = isJsonObject(items) ? typeOf(items) : 'string';
  const values = type === 'number' || type === 'integer' ? material.numbers : material.quoted;
  return isRequired && values.length > 0 ? values.splice(0) : undefined;
}

/** `Search the wiki for quantum physics, please.` gives a function `search_wiki` the text `quantum physics`. */
function restOf(text: string, { name, description }: ToolSpec): string {
  const known = wordsOf(`${splitName(name)} ${description}`);
  const words = text.split(' ');
  const start = words.findIndex((word) => [...wordsOf(word)].some((each) => !known.has(each)));
  const rest = start < 0 ? '' : words.slice(start).join(' ');
  return rest.replace(/,? (?:please|thanks|thank you)[.!]?$/iu, '').replace(/[.!?]+$/u, '');
}

/** Something of the right type, for a function that had to be called. */
function guess({ schema, type }: Parameter, text: string): JsonValue {
  const preset = ownValue(schema, 'default') ?? enumOf(schema)[0];
  if (preset !== undefined) return preset;
  if (type === 'number' || type === 'integer') return 0;
  if (type === 'boolean') return false;
  if (type === 'array') return [];
  return type === 'object' ? {} : text;
}
