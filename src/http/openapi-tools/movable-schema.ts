import { schemaMaps } from '../../shared/json-schema/keywords.ts';
import { findByPointer } from '../../shared/json-schema/pointer.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** Keywords whose values are data, in which `$ref` is a name like any other. */
const dataKeywords = new Set(['const', 'enum', 'default', 'example', 'examples', 'required', 'dependentRequired']);
/** They say where a schema lies and which dialect it is in, and both are the document's now. */
const placeKeywords = new Set(['$schema', '$id', '$anchor', '$dynamicAnchor', '$dynamicRef', '$vocabulary']);
/** They speak to clients of where the schema comes from: by `x-fastmcp-wrap-result` FastMCP expects another form of the result than this one. */
const extension = /^x-/iu;

interface MovableSchema {
  /** Whether it refers to parts of itself, so that it has to lie where `moveSchema` was told. */
  isReferring: boolean;
  schema: JsonObject;
}

/**
 * A schema that stood alone, as a part of an OpenAPI 3.1 document: references to its own parts begin with `place`. A reference that leads nowhere, or
 * elsewhere, is dropped, so that any value fits. Forms of older drafts become those of 2020-12 where these would refuse the document.
 */
export function moveSchema(root: JsonObject, place: string): MovableSchema {
  let isReferring = false;

  function move(value: JsonValue | undefined): JsonValue | undefined {
    if (Array.isArray(value)) return value.map((entry) => move(entry) ?? null);
    if (!isJsonObject(value)) return value;
    const moved: JsonObject = {};
    for (const [key, entry] of Object.entries(value)) {
      if (placeKeywords.has(key) || extension.test(key) || entry === undefined) continue;
      if (dataKeywords.has(key)) moved[key] = entry;
      else if (schemaMaps.has(key) && isJsonObject(entry)) moved[key] = moveMembers(entry);
      else if (key === '$ref') Object.assign(moved, moveReference(entry));
      else moved[key] = move(entry);
    }
    return modernized(moved);
  }

  function moveMembers(schemas: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, move(schema)]));
  }

  function moveReference(reference: JsonValue): JsonObject {
    if (typeof reference !== 'string' || findByPointer(root, reference) === undefined) return {};
    isReferring = true;
    return { $ref: `${place}${reference.slice(1)}` };
  }

  const schema = move(root) as JsonObject;
  return { schema, isReferring };
}

/** Drafts before 2019-09 allow lists in `items`, draft 4 truth values in `exclusiveMinimum` and `exclusiveMaximum`. */
function modernized(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...rest } = schema;
  const listed = Array.isArray(items)
    ? { ...rest, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
    : schema;
  return withNumericBound(withNumericBound(listed, 'minimum', 'exclusiveMinimum'), 'maximum', 'exclusiveMaximum');
}

function withNumericBound(schema: JsonObject, bound: string, exclusive: string): JsonObject {
  if (typeof schema[exclusive] !== 'boolean') return schema;
  const { [bound]: value, [exclusive]: isExclusive, ...rest } = schema;
  if (value === undefined) return rest;
  return isExclusive === true ? { ...rest, [exclusive]: value } : { ...rest, [bound]: value };
}
