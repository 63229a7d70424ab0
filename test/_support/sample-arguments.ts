import { isJsonObject, ownValue } from '../../src/shared/json/json.ts';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';

const maxDepth = 4;

/**
 * A value for a schema as functions have them, for tests that need many different requests. `seed` decides what stands where there is a choice. What
 * a pattern or a rule between properties asks for is not met: whoever needs valid values checks them.
 */
export function sampleValue(schema: JsonValue | undefined, root: JsonObject, seed: number): JsonValue {
  return sample(schema, { root, seed, depth: 0 });
}

interface Place {
  root: JsonObject;
  seed: number;
  depth: number;
}

function sample(schema: JsonValue | undefined, place: Place): JsonValue {
  if (!isJsonObject(schema)) return 'any';
  const reference = schema['$ref'];
  const definitions = place.root['$defs'];
  const within = { ...place, depth: place.depth + 1 };
  if (typeof reference === 'string')
    return sample(isJsonObject(definitions) ? ownValue(definitions, reference.replace('#/$defs/', '')) : undefined, within);
  if (schema['const'] !== undefined) return schema['const'];
  const choices = Array.isArray(schema['enum']) ? schema['enum'].filter((choice) => choice !== null) : [];
  if (choices.length > 0) return choices[place.seed % choices.length] ?? 'any';
  const branches = Array.isArray(schema['anyOf'])
    ? schema['anyOf'].filter((branch) => !isJsonObject(branch) || branch['type'] !== 'null')
    : [];
  if (branches.length > 0) return sample(branches[place.seed % branches.length], within);
  const [type] = [schema['type']].flat().filter((entry) => entry !== 'null');
  if (type === 'object') return sampleObject(schema, within);
  if (type === 'array') return sampleList(schema, within);
  if (type === 'boolean') return place.seed % 2 === 0;
  if (type === 'integer' || type === 'number') return sampleNumber(schema, place.seed);
  return sampleText(schema, place.seed);
}

/** Required members always, others where there is room: deep documents would never end. */
function sampleObject(schema: JsonObject, place: Place): JsonObject {
  const properties = isJsonObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const kept = properties.filter(([name], index) => required.has(name) || (place.depth < maxDepth && (index + place.seed) % 3 !== 0));
  return Object.fromEntries(kept.map(([name, member], index) => [name, sample(member, { ...place, seed: place.seed + index })]));
}

function sampleList(schema: JsonObject, place: Place): JsonValue[] {
  const count = typeof schema['minItems'] === 'number' ? Math.max(schema['minItems'], 1) : 2;
  const items = place.depth > maxDepth + 2 ? undefined : schema['items'];
  return Array.from({ length: Math.min(count, 5) }, (_, index) => sample(items, { ...place, seed: place.seed + index }));
}

function sampleNumber(schema: JsonObject, seed: number): number {
  const low = typeof schema['minimum'] === 'number' ? schema['minimum'] : 1;
  const high = typeof schema['maximum'] === 'number' ? schema['maximum'] : low + 100;
  return Math.min(low + (seed % 7), high);
}

const formats: Record<string, string> = {
  'date-time': '2026-01-02T03:04:05Z',
  date: '2026-01-02',
  time: '03:04:05Z',
  email: 'ada@example.org',
  uuid: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  uri: 'https://example.org/a?b=c&d=e',
  url: 'https://example.org/a?b=c&d=e',
  ipv4: '192.0.2.1',
};
/** What has to be encoded somewhere, and looks like no JSON. */
const texts = ['plain', 'two words', 'a&b=c', 'é/ü', '50% off', 'x+y', 'semi;colon'];

function sampleText(schema: JsonObject, seed: number): string {
  const format = schema['format'];
  const text = (typeof format === 'string' ? formats[format] : undefined) ?? texts[seed % texts.length] ?? 'plain';
  const { minLength, maxLength } = schema;
  const long = typeof minLength === 'number' ? text.padEnd(minLength, 'x') : text;
  return typeof maxLength === 'number' ? long.slice(0, maxLength) : long;
}
