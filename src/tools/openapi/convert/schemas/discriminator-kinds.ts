import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../../shared/json/json.ts';
import { escapeStep } from '../../../../shared/json-schema/pointer.ts';
import type { Spend } from '../../conversion-budget.ts';
import { findReference } from '../../document/resolve-references.ts';
import { referenceOf } from '../../../../shared/json-schema/resolve.ts';
import { saysItself } from './name-choices.ts';
import { listOf } from './schema-keywords.ts';

/** The kinds of a base schema, which extend it (OpenAPI 3.1.1, section 4.8.25.4). */
export interface Kinds {
  /** References to schemas that are no base of each other's, with what is to be said of each besides itself. */
  members: ReadonlyMap<string, JsonObject | undefined>;
  /** The same of values that are of no other kind; undefined where there are none. */
  base: JsonObject | undefined;
  /** There are more kinds than are written. */
  isTooMany: boolean;
}

export interface KindFinder {
  /** `opened`: the references that led to the schema, its own last. Undefined for a schema without kinds, and for the part that a kind has of it. */
  find(schema: JsonObject, opened: readonly string[]): Kinds | undefined;
}

/** Real bases have a few dozen. */
const maxKinds = 200;
/** Where the named schemas of OpenAPI 3 and of Swagger 2.0 are. */
const sections = ['components/schemas', 'definitions'];
/** The value of a kind in documents of Swagger 2.0, which has no mapping. */
const valueKeys = ['x-ms-discriminator-value', 'x-discriminator-value'];

/** Finds kinds by the `mapping` of a discriminator, else by the schemas that extend the base, under their names. */
export function createKindFinder(document: JsonObject, spend: Spend): KindFinder {
  const known = new Map<string, Kinds | undefined>();
  let extensions: ReadonlyMap<string, readonly string[]> | undefined;

  const valuesOfKinds = (discriminator: JsonValue, base: string): ReadonlyMap<string, string[]> => {
    const mapping = isJsonObject(discriminator) ? ownValue(discriminator, 'mapping') : undefined;
    if (isJsonObject(mapping) && Object.keys(mapping).length > 0) return readMapping(document, mapping, spend);
    extensions ??= readExtensions(document, spend);
    const found = new Map<string, string[]>([[base, [valueOf(document, base)]]]);
    for (const reference of found.keys())
      for (const extending of extensions.get(reference) ?? []) {
        spend(1);
        if (!found.has(extending) && found.size <= maxKinds) found.set(extending, [valueOf(document, extending)]);
      }
    return found;
  };

  const read = (schema: JsonObject, base: string): Kinds | undefined => {
    const discriminator = ownValue(schema, 'discriminator');
    const stated = isJsonObject(discriminator) ? ownValue(discriminator, 'propertyName') : discriminator;
    if (discriminator === undefined || typeof stated !== 'string' || stated === '') return undefined;
    if (listOf(schema, 'anyOf').length > 0 || listOf(schema, 'oneOf').length > 0) return undefined;
    const values = valuesOfKinds(discriminator, base);
    const members = [...values].filter(([reference]) => reference !== base && isJsonObject(findReference(document, reference)));
    if (members.length === 0) return undefined;
    const choices = choicesOf(schema, stated);
    const allowed = choices && new Set(choices);
    const tag = (named: readonly string[]): JsonObject | undefined => {
      const possible = allowed === undefined ? named : named.filter((value) => allowed.has(value));
      return possible.length === 0 ? undefined : { type: 'object', properties: { [stated]: { type: 'string', enum: [...possible] } } };
    };
    const taken = new Set(members.flatMap(([, named]) => named));
    return {
      members: new Map(
        members.slice(0, maxKinds).map(([reference, named]) => {
          return [reference, saysItself({ document, reference, property: stated }, spend) ? undefined : tag(named)];
        }),
      ),
      base: tag([...(values.get(base) ?? []), ...(allowed ?? [])].filter((value) => !taken.has(value))),
      isTooMany: members.length > maxKinds,
    };
  };

  return {
    find(schema, opened) {
      const base = opened.at(-1);
      if (base === undefined || ownValue(schema, 'discriminator') === undefined) return undefined;
      if (!known.has(base)) known.set(base, read(schema, base));
      const kinds = known.get(base);
      return kinds === undefined || opened.some((reference) => kinds.members.has(reference)) ? undefined : kinds;
    },
  };
}

/** The values of each schema; a mapping names schemas by reference or only by name. */
function readMapping(document: JsonObject, mapping: JsonObject, spend: Spend): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [value, target] of Object.entries(mapping)) {
    spend(1);
    if (typeof target !== 'string') continue;
    const candidates = target.startsWith('#') ? [target] : sections.map((section) => `#/${section}/${target}`);
    const reference = candidates.find((candidate) => findReference(document, candidate) !== undefined);
    if (reference !== undefined) addTo(values, reference, value);
  }
  return values;
}

function addTo(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** By the reference of a base: the named schemas that have it in their `allOf`. */
function readExtensions(document: JsonObject, spend: Spend): Map<string, string[]> {
  const extensions = new Map<string, string[]>();
  for (const section of sections) {
    const schemas = findReference(document, `#/${section}`);
    for (const [name, schema] of Object.entries(isJsonObject(schemas) ? schemas : {})) {
      const parts = isJsonObject(schema) ? listOf(schema, 'allOf') : [];
      spend(1 + parts.length);
      for (const base of parts.flatMap((part) => (isJsonObject(part) ? (referenceOf(part) ?? []) : [])))
        addTo(extensions, base, `#/${section}/${escapeStep(name)}`);
    }
  }
  return extensions;
}

function valueOf(document: JsonObject, reference: string): string {
  const schema = findReference(document, reference);
  const stated = valueKeys
    .map((key) => (isJsonObject(schema) ? ownValue(schema, key) : undefined))
    .find((value) => typeof value === 'string');
  return stated ?? reference.slice(reference.lastIndexOf('/') + 1);
}

/** The values that the base itself states for the property. */
function choicesOf(schema: JsonObject, property: string): string[] | undefined {
  const properties = ownValue(schema, 'properties');
  const own = isJsonObject(properties) ? ownValue(properties, property) : undefined;
  const choices = isJsonObject(own) ? listOf(own, 'enum').filter((choice) => typeof choice === 'string') : [];
  return choices.length === 0 ? undefined : choices;
}
