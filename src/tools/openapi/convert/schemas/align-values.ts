import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';

/**
 * Brings `enum`, `const` and `default` to the type that the schema states: YAML reads an unquoted `100`, `1.5` or `true` among texts as a number or a
 * boolean, and no value is both that and a text. A value that can be meant in one way only is converted, any other stays. Choices of single values
 * beside `type: array` are those of its items.
 */
export function alignValues(schema: JsonObject): JsonObject {
  const { type, enum: choices, const: fixed, default: usual } = schema;
  if (type === undefined || (choices === undefined && fixed === undefined && usual === undefined)) return schema;
  const types = new Set([type].flat());
  if (types.size === 1 && types.has('array') && Array.isArray(choices) && choices.every((choice) => !Array.isArray(choice)))
    return withItemChoices(schema, choices);
  const aligned = { ...schema };
  if (Array.isArray(choices)) aligned['enum'] = alignAll(choices, types);
  if (fixed !== undefined) aligned['const'] = align(fixed, types);
  if (usual !== undefined) aligned['default'] = align(usual, types);
  return aligned;
}

function withItemChoices({ enum: _choices, ...schema }: JsonObject, choices: JsonValue[]): JsonObject {
  const items = ownValue(schema, 'items') ?? {};
  if (!isJsonObject(items) || items['enum'] !== undefined) return schema;
  return { ...schema, items: alignValues({ ...items, enum: choices }) };
}

/** Without those that have become equal to others. */
function alignAll(choices: readonly JsonValue[], types: ReadonlySet<JsonValue>): JsonValue[] {
  if (choices.every((choice) => isOfType(choice, types))) return [...choices];
  return [...new Set(choices.map((choice) => align(choice, types)))];
}

function align(value: JsonValue, types: ReadonlySet<JsonValue>): JsonValue {
  if (isOfType(value, types)) return value;
  if (typeof value === 'number' || typeof value === 'boolean') return types.has('string') ? String(value) : value;
  if (typeof value !== 'string') return value;
  const text = value.trim();
  if ((types.has('integer') || types.has('number')) && isPlainNumber(text, types)) return Number(text);
  return types.has('boolean') && /^(?:true|false)$/i.test(text) ? text.toLowerCase() === 'true' : value;
}

/** Written as JSON writes it, without what a number would lose. */
function isPlainNumber(text: string, types: ReadonlySet<JsonValue>): boolean {
  const number = Number(text);
  return String(number) === text && (types.has('number') ? Number.isFinite(number) : Number.isSafeInteger(number));
}

function isOfType(value: JsonValue, types: ReadonlySet<JsonValue>): boolean {
  if (value === null) return types.has('null');
  if (Array.isArray(value)) return types.has('array');
  if (typeof value === 'number') return types.has('number') || (types.has('integer') && Number.isInteger(value));
  return types.has(typeof value);
}
