import { isJsonObject, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';

/** Shorter parameters hold nothing that would be worth a definition. */
const smallestParameters = 500;
/** Larger ones have their references as definitions already. */
const largestParameters = 256 * 1024;
/** Looking for parts reads what is nested once a level; deeper ones than real documents have are left as they are. */
const longestReading = 12;
/** Characters of a reference, and of the frame of a definition. */
const referenceCharacters = 45;
const definitionCharacters = 20;
const pointer = '#/$defs/';

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const single = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];
const listed = ['anyOf', 'allOf', 'oneOf', 'prefixItems'];
const named = ['properties', 'patternProperties', '$defs'];

interface RepeatedSchema {
  text: string;
  count: number;
  /** The component or property that names its definition. */
  hint: string;
}

/**
 * Writes what the parameters of a function repeat once, as a definition. The root and its properties stay, for these are the
 * arguments. What was repeated by inlining and what the document itself repeats are the same here. The schemas given are not changed.
 * A definition is named by `nameOf`, else after the first property that contains it.
 */
export function shareDefinitions(parameters: JsonObject, nameOf: (schema: JsonObject) => string | undefined = () => undefined): JsonObject {
  const whole = JSON.stringify(parameters);
  if (whole.length < smallestParameters || whole.length > largestParameters) return parameters;
  const parts = new Map<string, RepeatedSchema>();
  // The parts of a repeated part are counted at its first occurrence.
  const room = { characters: whole.length * longestReading };
  const tally = (schema: JsonObject, hint: string): JsonObject => {
    if (room.characters < 0) return schema;
    const text = JSON.stringify(schema);
    room.characters -= text.length;
    if (text.length <= referenceCharacters) return schema;
    const part = parts.get(text);
    if (part !== undefined) {
      part.count += 1;
      return schema;
    }
    const name = nameOf(schema) ?? hint;
    if (isShareable(schema)) parts.set(text, { text, count: 1, hint: name });
    return mapChildren(schema, tally, name);
  };
  mapChildren(parameters, tally, 'Part');
  if (room.characters < 0) return parameters;
  const worthy = [...parts.values()].filter(({ text, count }) => isWorthy(text, count));
  if (worthy.length === 0) return parameters;
  const known = isJsonObject(parameters['$defs']) ? parameters['$defs'] : {};
  const names = new Map<string, string>();
  const taken = new Set(Object.keys(known));
  // A schema that equals an existing definition takes its name.
  for (const [name, schema] of Object.entries(known)) names.set(JSON.stringify(schema), name);
  for (const { text, hint } of worthy) if (!names.has(text)) names.set(text, freeName(hint, taken));
  const definitions: JsonObject = {};
  const replace = (schema: JsonObject): JsonObject => {
    const name = names.get(JSON.stringify(schema));
    if (name === undefined) return mapChildren(schema, replace);
    if (definitions[name] === undefined) {
      definitions[name] = {};
      definitions[name] = mapChildren(schema, replace);
    }
    return { $ref: `${pointer}${name}` };
  };
  const { $defs: _definitions, ...rest } = parameters;
  const shared = mapChildren(rest, replace);
  for (const [name, schema] of Object.entries(known)) if (isJsonObject(schema)) definitions[name] ??= mapChildren(schema, replace);
  return { ...shared, $defs: definitions };
}

/** A text or a number is easier to read in place, and a list of references is no longer than a reference to it. */
function isShareable(schema: JsonObject): boolean {
  return ['properties', 'anyOf', 'allOf', 'enum', 'additionalProperties', 'prefixItems'].some((key) => typeof schema[key] === 'object');
}

function isWorthy(text: string, count: number): boolean {
  return count > 1 && (count - 1) * text.length > count * referenceCharacters + definitionCharacters;
}

/** Applies `change` to each schema within the schema. The hint is the name of the property that contains it. */
function mapChildren(schema: JsonObject, change: (child: JsonObject, hint: string) => JsonObject, hint = ''): JsonObject {
  const mapped: JsonObject = { ...schema };
  const changed = (child: JsonValue | undefined, name = hint): JsonValue => (isJsonObject(child) ? change(child, name) : (child ?? null));
  for (const key of single) if (isJsonObject(schema[key])) mapped[key] = changed(schema[key]);
  for (const key of listed) if (Array.isArray(schema[key])) mapped[key] = schema[key].map((child) => changed(child));
  for (const key of named) {
    const members = schema[key];
    if (isJsonObject(members))
      mapped[key] = Object.fromEntries(Object.entries(members).map(([name, child]) => [name, changed(child, name)]));
  }
  return mapped;
}

/** `tag_ids` → `TagIds`. */
function freeName(hint: string, taken: Set<string>): string {
  const words = hint.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const name =
    words
      .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
      .join('')
      .slice(0, 48) || 'Part';
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name}_${number}`;
  taken.add(free);
  return free;
}
