import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { ToolSpec } from '../../core/tool.ts';

/** One parameter of a function. */
export interface Parameter {
  name: string;
  /** Name and description in small letters, to look for words in. */
  words: string;
  schema: JsonObject;
  type: string | undefined;
  isRequired: boolean;
}

/** A function with what the demo model looks at. */
export interface FunctionShape {
  name: string;
  description: string;
  /** Name (in words) and description in small letters. */
  words: string;
  parameters: Parameter[];
}

export function toShape({ name, description, parameters }: ToolSpec): FunctionShape {
  const properties = ownValue(parameters, 'properties');
  const required = ownValue(parameters, 'required');
  const names = new Set(Array.isArray(required) ? required : []);
  const list = isJsonObject(properties) ? Object.entries(properties) : [];
  return {
    name,
    description,
    words: `${splitName(name)} ${description}`.toLowerCase(),
    parameters: list.map(([key, schema]) => toParameter(key, isJsonObject(schema) ? schema : {}, names.has(key))),
  };
}

function toParameter(name: string, schema: JsonObject, isRequired: boolean): Parameter {
  const description = ownValue(schema, 'description');
  const words = `${splitName(name)} ${typeof description === 'string' ? description : ''}`.toLowerCase();
  return { name, words, schema, type: typeOf(schema), isRequired };
}

/** The first type that is not `null`, of `type` as text or list, or of the alternatives. */
function typeOf(schema: JsonObject): string | undefined {
  const type = ownValue(schema, 'type');
  const types: JsonValue[] = Array.isArray(type) ? type : type === undefined ? [] : [type];
  const own = types.find((entry) => typeof entry === 'string' && entry !== 'null');
  if (typeof own === 'string') return own;
  const alternatives = ownValue(schema, 'anyOf') ?? ownValue(schema, 'oneOf');
  if (!Array.isArray(alternatives)) return undefined;
  for (const alternative of alternatives) {
    const found = isJsonObject(alternative) ? ownValue(alternative, 'type') : undefined;
    if (typeof found === 'string' && found !== 'null') return found;
  }
  return undefined;
}

/** `getUserName_v2` → `get User Name v2`. */
export function splitName(name: string): string {
  return name
    .replaceAll(/[_.-]+/gu, ' ')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .trim();
}

export function isZoneParameter(parameter: Parameter): boolean {
  const name = splitName(parameter.name).toLowerCase();
  return /\b(?:time ?zone|tz|iana)\b|^zone$/u.test(name) || /\b(?:iana|time ?zone)\b/u.test(parameter.words);
}

export function isMomentParameter(parameter: Parameter): boolean {
  const format = ownValue(parameter.schema, 'format');
  if (format === 'date-time' || format === 'date' || format === 'time') return true;
  return !isZoneParameter(parameter) && /\b(?:time ?stamp|date ?time|date|iso 8601|moment)\b/u.test(parameter.words);
}
