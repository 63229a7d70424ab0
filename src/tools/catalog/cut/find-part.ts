import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { SchemaPart } from './cut-schema.ts';
import { alternativesOf, flatten, keywordOf, memberOf, membersOf, type FlatSchema } from '../../../shared/json-schema/flatten.ts';
import { escapeStep } from '../../../shared/json-schema/pointer.ts';

/** `unknown`: how far the pointer led, and the members there. */
type FoundPart = { type: 'found'; part: SchemaPart } | { type: 'unknown'; pointer: string; token: string; members: string[] };

/** Arguments are not nested deeper. */
const maxTokens = 100;
/** Alternatives that are searched for a member, over all levels of alternatives within alternatives. */
const maxViews = 100;
const maxMembers = 1_000;

/**
 * The part of a function's parameters at a pointer in terms of the arguments: `/spec/containers/0/image`. Models write it in many ways, so a missing
 * slash, dots, brackets, `*` for any item or key, and the keywords of the schema itself (`/properties/spec/items`) are understood.
 */
export function findPart(root: JsonObject, text: string): FoundPart {
  let part: SchemaPart = { schema: root, pointer: '' };
  const tokens = tokensOf(text, root).slice(0, maxTokens);
  for (const token of tokens) {
    const next = step(part, token, root);
    if (next === undefined) return { type: 'unknown', pointer: part.pointer, token, members: namesIn(part, root) };
    part = next;
  }
  return { type: 'found', part };
}

/** RFC 6901, section 3. Without a slash in it, dots and brackets separate names, unless the whole text is a name. */
function tokensOf(text: string, root: JsonObject): string[] {
  const pointer = text.trim().replace(/^[#$]/, '');
  const isName = memberOf(flatten(root, root), pointer) !== undefined;
  const parted = pointer.includes('/') || isName ? pointer.split('/') : pointer.replaceAll('[]', '.*').split(/[.[\]]/);
  return parted.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~')).filter((token) => token !== '');
}

function step({ schema, pointer }: SchemaPart, token: string, root: JsonObject): SchemaPart | undefined {
  const views = viewsOf(schema, root);
  const found = views.map((view) => memberOf(view, token)).filter((member) => member !== undefined);
  if (found.length > 0) return { schema: oneOf(found), pointer: `${pointer}/${escapeStep(token)}` };
  const isAny = token === '*' || token === '-' || token === '[]' || /^\d{1,9}$/.test(token);
  const first = views.map((view) => itemAt(view, token)).filter((item) => item !== undefined);
  if (first.length > 0) return { schema: oneOf(first), pointer: `${pointer}/${token}` };
  const items = isAny || token === 'items' ? views.map((view) => keywordOf(view, 'items')).filter(isJsonObject) : [];
  if (items.length > 0) return { schema: oneOf(items), pointer: `${pointer}/*` };
  const values = views.map((view) => keywordOf(view, 'additionalProperties')).filter(isJsonObject);
  if (token === 'properties') return { schema, pointer };
  return alternativeAt(views, token, pointer) ?? (values.length > 0 ? { schema: oneOf(values), pointer: `${pointer}/*` } : undefined);
}

/** The schema, and the alternatives in it. */
function viewsOf(schema: JsonValue, root: JsonObject): FlatSchema[] {
  const views: FlatSchema[] = [];
  const open = [schema];
  for (let next = open.shift(); next !== undefined && views.length < maxViews; next = open.shift()) {
    if (!isJsonObject(next)) continue;
    const flat = flatten(next, root);
    views.push(flat);
    for (const branch of alternativesOf(flat)?.branches.slice(0, maxViews) ?? []) open.push(branch);
  }
  return views;
}

/** Several alternatives may have a member of one name. */
function oneOf(schemas: JsonValue[]): JsonValue {
  const [only, ...others] = [...new Set(schemas)];
  return others.length === 0 ? (only ?? {}) : { anyOf: [...new Set(schemas)] };
}

/** The number of items that each have their own schema. */
function itemAt(view: FlatSchema, token: string): JsonValue | undefined {
  const first = keywordOf(view, 'prefixItems');
  return Array.isArray(first) && /^\d{1,9}$/.test(token) ? first[Number(token)] : undefined;
}

/** `anyOf/2`: the second token of the two comes with the next step. */
function alternativeAt(views: readonly FlatSchema[], token: string, pointer: string): SchemaPart | undefined {
  if (token !== 'anyOf' && token !== 'oneOf' && token !== 'additionalProperties') return undefined;
  const held = views.map((view) => keywordOf(view, token)).find((value) => value !== undefined);
  if (Array.isArray(held)) return { schema: { type: 'array', prefixItems: held }, pointer: `${pointer}/${token}` };
  return isJsonObject(held) ? { schema: held, pointer: `${pointer}/*` } : undefined;
}

/** Each once. */
function namesIn({ schema }: SchemaPart, root: JsonObject): string[] {
  const names = new Set<string>();
  for (const view of viewsOf(schema, root)) {
    for (const [name] of membersOf(view)) {
      if (names.size >= maxMembers) return [...names];
      names.add(name);
    }
  }
  return [...names];
}
