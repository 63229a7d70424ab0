import { parse } from 'secure-json-parse';
import { isJsonObject, ownValue } from '../core/json.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';

/** Arguments fitted to a schema, with what was changed on the way. */
export interface CoercedArguments {
  args: JsonObject;
  /** Sentences such as `limit: "5" read as 5`, for the run's events. */
  changes: string[];
}

/**
 * Fits what a model wrote to the function's schema where the meaning is beyond doubt: `"5"` for a number, `"true"` for a boolean,
 * JSON text for an object or array, one value for a list of it, `null` for an optional argument that was left open. Unknown arguments are dropped, unless the
 * schema takes additional ones. Nothing is invented: what does not fit stays and fails validation.
 */
export function coerceArguments(args: JsonObject, schema: JsonObject): CoercedArguments {
  const changes: string[] = [];
  return { args: coerceObject(args, schema, { path: '', changes, dropsUnknown: true, root: schema }), changes };
}

interface Place {
  path: string;
  changes: string[];
  /** Only at the root: below it, unknown keys may be data. */
  dropsUnknown: boolean;
  /** Holds the definitions. */
  root: JsonObject;
}

/** Below these a schema may name arguments too; what none of them takes fails validation. */
const namesElsewhere = ['allOf', 'anyOf', 'oneOf', 'patternProperties', '$ref', 'then', 'else', 'dependentSchemas'];

/** References that lead to references; more of them are a circle. */
const maxHops = 8;

function coerceObject(value: JsonObject, schema: JsonObject, place: Place): JsonObject {
  const properties = ownValue(schema, 'properties');
  if (!isJsonObject(properties)) return value;
  const required = ownValue(schema, 'required');
  const isRequired = (key: string): boolean => Array.isArray(required) && required.includes(key);
  const takesMore =
    isJsonObject(schema['additionalProperties']) ||
    schema['additionalProperties'] === true ||
    namesElsewhere.some((keyword) => Object.hasOwn(schema, keyword));
  const entries: [string, JsonValue][] = [];
  for (const [key, child] of Object.entries(value)) {
    if (child === undefined) continue;
    const path = place.path === '' ? key : `${place.path}.${key}`;
    const childSchema = resolved(ownValue(properties, key), place.root);
    if (childSchema === undefined) {
      if (takesMore || isRequired(key) || !place.dropsUnknown) entries.push([key, child]);
      else place.changes.push(`${path}: unknown argument left out`);
    } else if (
      child === null &&
      !isRequired(key) &&
      isJsonObject(childSchema) &&
      statesType(childSchema) &&
      !allowsType(childSchema, 'null')
    ) {
      place.changes.push(`${path}: null left out`);
    } else entries.push([key, coerceValue(child, childSchema, { ...place, path, dropsUnknown: false })]);
  }
  return Object.fromEntries(entries);
}

function coerceValue(value: JsonValue, stated: JsonValue, place: Place): JsonValue {
  const schema = resolved(stated, place.root);
  if (!isJsonObject(schema)) return value;
  const fitted = wrapped(typeof value === 'string' ? fromText(value, schema) : fromScalar(value, schema), schema);
  if (fitted !== value) place.changes.push(`${place.path}: ${shown(value)} read as ${shown(fitted)}`);
  if (isJsonObject(fitted)) return coerceObject(fitted, branchFor(fitted, schema, place.root), place);
  const items = ownValue(schema, 'items');
  if (!Array.isArray(fitted) || items === undefined) return fitted;
  return fitted.map((item, index) => coerceValue(item, items, { ...place, path: `${place.path}[${index}]` }));
}

/** Of several kinds of objects the one that a value says it is, by its constants; the schema itself where that is not beyond doubt. */
function branchFor(value: JsonObject, schema: JsonObject, root: JsonObject): JsonObject {
  if (Object.hasOwn(schema, 'properties')) return schema;
  const stated = [ownValue(schema, 'anyOf') ?? ownValue(schema, 'oneOf')].flat();
  const branches = stated.map((branch) => resolved(branch, root)).filter((branch) => isJsonObject(branch) && allowsType(branch, 'object'));
  const fitting = branches.filter((branch) => isJsonObject(branch) && constantsFit(value, branch));
  const [only] = fitting;
  return fitting.length === 1 && isJsonObject(only) ? only : schema;
}

function constantsFit(value: JsonObject, branch: JsonObject): boolean {
  const properties = ownValue(branch, 'properties');
  if (!isJsonObject(properties)) return false;
  return Object.entries(properties).every(
    ([name, property]) => !isJsonObject(property) || !Object.hasOwn(property, 'const') || property['const'] === ownValue(value, name),
  );
}

/** What a reference to a definition stands for. A schema that says more than its reference is left as it is. */
function resolved(schema: JsonValue | undefined, root: JsonObject): JsonValue | undefined {
  let current = schema;
  for (let hop = 0; hop < maxHops; hop += 1) {
    const reference = isJsonObject(current) ? ownValue(current, '$ref') : undefined;
    if (!isJsonObject(current) || typeof reference !== 'string' || !reference.startsWith('#/$defs/')) return current;
    const definitions = ownValue(root, '$defs');
    current = isJsonObject(definitions) ? (ownValue(definitions, reference.slice('#/$defs/'.length)) ?? {}) : {};
  }
  return {};
}

function fromText(text: string, schema: JsonObject): JsonValue {
  if (allowsType(schema, 'string')) return text;
  const trimmed = text.trim();
  if ((allowsType(schema, 'integer') || allowsType(schema, 'number')) && /^-?\d{1,17}(?:\.\d{1,17})?(?:e[+-]?\d{1,3})?$/i.test(trimmed))
    return Number(trimmed);
  if (allowsType(schema, 'boolean') && /^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === 'true';
  if (allowsType(schema, 'null') && /^(?:null|none)$/i.test(trimmed)) return null;
  if (!allowsType(schema, 'object') && !allowsType(schema, 'array')) return text;
  const decoded = decode(trimmed);
  return (isJsonObject(decoded) && allowsType(schema, 'object')) || (Array.isArray(decoded) && allowsType(schema, 'array'))
    ? decoded
    : text;
}

/** A number or boolean where only text is allowed: its written form. */
function fromScalar(value: JsonValue, schema: JsonObject): JsonValue {
  const isScalar = typeof value === 'number' || typeof value === 'boolean';
  const allowsItself =
    typeof value === 'number' ? allowsType(schema, 'number') || allowsType(schema, 'integer') : allowsType(schema, 'boolean');
  return isScalar && allowsType(schema, 'string') && !allowsItself ? String(value) : value;
}

/** One value where only a list may stand. An empty text and what was meant to be JSON may be something else, and stay to be refused. */
function wrapped(value: JsonValue, schema: JsonObject): JsonValue {
  if (value === null || typeof value === 'object' || !allowsType(schema, 'array')) return value;
  const isOwnType = typeof value === 'number' ? ['number', 'integer'] : [typeof value];
  if (isOwnType.some((type) => allowsType(schema, type))) return value;
  return typeof value === 'string' && /^\s*(?:$|[[{])/.test(value) ? value : [value];
}

function decode(text: string): JsonValue | undefined {
  try {
    return parse(text, undefined, { protoAction: 'remove', constructorAction: 'remove' }) as JsonValue;
  } catch {
    return undefined;
  }
}

/** A schema that states no type takes anything, null too. */
function statesType(schema: JsonObject): boolean {
  return ['type', 'anyOf', 'oneOf', 'enum', 'const', '$ref', 'allOf'].some((key) => Object.hasOwn(schema, key));
}

/** Only types that the schema states outright; a schema without `type` allows nothing here, so that nothing is converted. */
function allowsType(schema: JsonObject, type: string): boolean {
  const stated = ownValue(schema, 'type');
  if (stated === type) return true;
  if (Array.isArray(stated)) return stated.includes(type);
  return ['anyOf', 'oneOf'].some((key) => {
    const branches = ownValue(schema, key);
    return Array.isArray(branches) && branches.some((branch) => isJsonObject(branch) && allowsType(branch, type));
  });
}

function shown(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
