import { isJsonObject } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import type { ArgumentPlace } from './operation.ts';

/** One `name=value` of a query, a form or a cookie header. The value is encoded, its separators are not; the name is not. */
export type Pair = [name: string, value: string];

/** Turns a text into what may stand in the place, e.g. by percent-encoding. */
export type Encode = (text: string) => string;

const separators: Record<string, string> = { spaceDelimited: '%20', pipeDelimited: '%7C' };

/** A single value as text: `true`, `3`, JSON for what has parts. */
export function scalarText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * The pairs of a query parameter, a cookie or a form field (OpenAPI 3.1, section 4.8.12.4). By default arrays repeat the name and objects are JSON
 * text: the documents that leave the style out have servers that read objects in that way, if in any. A stated style is followed to the letter.
 */
export function toPairs(place: Pick<ArgumentPlace, 'name' | 'style' | 'explode'>, value: JsonValue, encode: Encode): Pair[] {
  const { name, style } = place;
  const explodes = place.explode ?? (style === undefined || style === 'form' || style === 'deepObject');
  if (style === 'json') return [[name, encode(JSON.stringify(value))]];
  if (Array.isArray(value)) {
    const items = value.map((item) => encode(scalarText(item)));
    if (items.length === 0) return [];
    return explodes ? items.map((item) => [name, item]) : [[name, items.join(separators[style ?? ''] ?? ',')]];
  }
  if (!isJsonObject(value) || style === undefined) return [[name, encode(scalarText(value))]];
  if (style === 'deepObject') return deepPairs(name, value, encode);
  const members = membersOf(value);
  if (style === 'form' && explodes) return members.map(([key, member]) => [key, encode(member)]);
  return members.length === 0
    ? []
    : [
        [
          name,
          members
            .flat()
            .map(encode)
            .join(separators[style] ?? ','),
        ],
      ];
}

/** `filter[a][b]=1`; lists repeat the name. Deeper levels are no part of the specification, but all that read the first read them so. */
function deepPairs(name: string, value: JsonObject, encode: Encode): Pair[] {
  return Object.entries(value).flatMap(([key, member]): Pair[] => {
    const inner = `${name}[${key}]`;
    if (member === undefined || member === null) return [];
    if (isJsonObject(member)) return deepPairs(inner, member, encode);
    return [member].flat().map((item): Pair => [inner, encode(scalarText(item))]);
  });
}

/** The text of a path or header parameter, its separators written as they are (RFC 6570: `{x}`, `{.x}`, `{;x}`). */
export function toText(place: Pick<ArgumentPlace, 'name' | 'style' | 'explode'>, value: JsonValue, encode: Encode): string {
  const { name, style, explode = false } = place;
  if (style === 'json') return encode(JSON.stringify(value));
  const items = Array.isArray(value) ? value.map((item) => encode(scalarText(item))) : undefined;
  const members = isJsonObject(value) ? membersOf(value).map((member) => member.map(encode)) : undefined;
  const assigned = members?.map((member) => member.join('='));
  const flat = items ?? members?.flat() ?? [encode(scalarText(value))];
  if (style === 'label') return `.${((explode ? assigned : undefined) ?? flat).join(explode ? '.' : ',')}`;
  if (style === 'matrix') {
    if (explode && assigned !== undefined) return `;${assigned.join(';')}`;
    return explode && items !== undefined ? items.map((item) => `;${encode(name)}=${item}`).join('') : `;${encode(name)}=${flat.join(',')}`;
  }
  return ((explode ? assigned : undefined) ?? flat).join(',');
}

function membersOf(value: JsonObject): [string, string][] {
  return Object.entries(value).flatMap(([key, member]): [string, string][] =>
    member === undefined || member === null ? [] : [[key, scalarText(member)]],
  );
}
