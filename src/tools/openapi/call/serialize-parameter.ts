import { isContainer, isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { Encode } from './encode-text.ts';
import type { ArgumentBinding } from '../../definitions/operation.ts';

/** One `name=value` of a query, a form or a cookie header. The value is encoded, its separators are not; the name is not. */
type Pair = [name: string, value: string];

/** The settings that decide how a value is serialized. */
type WireForm = Pick<ArgumentBinding, 'name' | 'in' | 'style' | 'explode'>;

const separators: Record<string, string> = { spaceDelimited: ' ', pipeDelimited: '|', tabDelimited: '\t' };

/** A single value as text: `true`, `3`, JSON for what has parts. */
export function scalarText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * The pairs of a query parameter, a cookie or a form field (OpenAPI 3.1.1, section 4.8.12.6, Style Examples). The default of forms is that of the
 * Encoding Object (section 4.8.15.1.1): lists repeat the name, objects are JSON. What is null is left out, as RFC 6570 section 2.3 has it.
 */
export function toPairs(binding: WireForm, value: JsonValue, encode: Encode): Pair[] {
  const { name } = binding;
  const style = binding.style ?? (binding.in === 'body' ? undefined : 'form');
  const explodes = binding.explode ?? (style === undefined || ['form', 'deepObject', 'cookie'].includes(style));
  if (style === 'deepObject')
    return value === null || isContainer(value) ? deepPairs(name, value, encode) : [[name, encode(scalarText(value))]];
  const typed = style === undefined ? undefined : typedText(style, value);
  if (typed !== undefined) return [[name, encode(typed)]];
  const separator = encode(separators[style ?? ''] ?? '') || ',';
  if (Array.isArray(value)) {
    const items = value.filter((item) => item !== null).map((item) => encode(scalarText(item)));
    if (items.length === 0) return [];
    return explodes ? items.map((item) => [name, item]) : [[name, items.join(separator)]];
  }
  if (!isJsonObject(value) || style === undefined) return [[name, encode(scalarText(value))]];
  const members = membersOf(value);
  if (explodes && (style === 'form' || style === 'cookie')) return members.map(([key, member]) => [key, encode(member)]);
  return members.length === 0 ? [] : [[name, members.flat().map(encode).join(separator)]];
}

/** A value whose media type is declared instead of a style. */
function typedText(style: string, value: JsonValue): string | undefined {
  if (style === 'json') return JSON.stringify(value);
  if (style === 'text') return scalarText(value);
  return style === 'urlencoded' ? queryText(value) : undefined;
}

/** `application/x-www-form-urlencoded` of an object; a text is taken for the finished one. */
export function queryText(value: JsonValue): string {
  if (!isJsonObject(value)) return scalarText(value);
  const pairs = Object.entries(value).flatMap(([name, member]) =>
    member === undefined || member === null ? [] : toPairs({ name, in: 'body' }, member, encodeWellFormed),
  );
  return joinPairs(pairs);
}

/** `a=1&b=2`, the names encoded. */
export function joinPairs(pairs: readonly Pair[]): string {
  return pairs.map(([name, value]) => `${encodeWellFormed(name)}=${value}`).join('&');
}

function encodeWellFormed(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/**
 * `filter[a][b]=1`. Deeper levels and lists are no part of the specification (OpenAPI 3.1.1, section 4.8.12.6: undefined); frameworks read
 * `filter[a][]=1` for lists, and numbers where the items have parts of their own (`filter[a][0][b]=1`).
 */
function deepPairs(name: string, value: JsonValue[] | JsonObject | null, encode: Encode): Pair[] {
  if (value === null) return [];
  const keyed: [string, JsonValue | undefined][] = Array.isArray(value)
    ? value.map((item, index) => [isContainer(item) ? `${index}` : '', item])
    : Object.entries(value);
  return keyed.flatMap(([key, member]): Pair[] => {
    const inner = `${name}[${key}]`;
    if (member === undefined || member === null) return [];
    return isContainer(member) ? deepPairs(inner, member, encode) : [[inner, encode(scalarText(member))]];
  });
}

/** The text of a path or header parameter, its separators written as they are (RFC 6570: `{x}`, `{.x}`, `{;x}`). */
export function toText(binding: WireForm, value: JsonValue, encode: Encode): string {
  const { name, style, explode = false } = binding;
  const typed = style === undefined ? undefined : typedText(style, value);
  if (typed !== undefined) return encode(typed);
  const items = Array.isArray(value) ? value.filter((item) => item !== null).map((item) => encode(scalarText(item))) : undefined;
  const members = isJsonObject(value) ? membersOf(value).map((member) => member.map(encode)) : undefined;
  const assigned = explode ? members?.map((member) => member.join('=')) : undefined;
  const flat = items ?? members?.flat() ?? [encode(scalarText(value))];
  if (style === 'label') return `.${(assigned ?? flat).join(explode ? '.' : ',')}`;
  if (style === 'matrix')
    return matrixText(encode(name), { flat, assigned: assigned ?? (explode ? items : undefined), isList: items !== undefined });
  return (assigned ?? flat).join(encode(separators[style ?? ''] ?? '') || ',');
}

/** For an empty value, only the name is written (RFC 6570 section 3.2.7). */
function matrixText(name: string, { flat, assigned, isList }: { flat: string[]; assigned: string[] | undefined; isList: boolean }): string {
  if (assigned === undefined) return `;${name}${flat.join(',') === '' ? '' : `=${flat.join(',')}`}`;
  return isList ? assigned.map((item) => `;${name}=${item}`).join('') : `;${assigned.join(';')}`;
}

function membersOf(value: JsonObject): [string, string][] {
  return Object.entries(value).flatMap(([key, member]): [string, string][] =>
    member === undefined || member === null ? [] : [[key, scalarText(member)]],
  );
}
