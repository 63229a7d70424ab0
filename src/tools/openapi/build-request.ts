import { isJsonObject, ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import type { PreparedRequest } from '../../core/tool.ts';
import { formType } from './convert-body.ts';
import type { ArgumentPlace, BodyPlan, Operation } from './operation.ts';
import { isReservedHeader } from './reserved-headers.ts';
import { allowsNull } from './schema-keywords.ts';
import { toPairs, toText, type Pair } from './serialize-parameter.ts';

/** An argument that cannot be sent. The message is for the model: it names the argument and what to write instead. */
export class ArgumentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ArgumentError';
  }
}

/** JSON where there is a choice: some servers answer in XML to whoever takes anything. */
const accept = 'application/json, text/*;q=0.9, */*;q=0.8';

interface PlacedValue {
  place: ArgumentPlace;
  value: JsonValue;
}

/**
 * The request of a call, without credentials. `baseUrl` is where the paths begin (`serverBaseUrl`). Optional arguments that are null are not sent,
 * except in a body whose schema takes null: there it clears a field.
 * @throws ArgumentError for a value that is missing or cannot stand in its place.
 */
export function buildRequest(operation: Operation, args: JsonObject, baseUrl: string): PreparedRequest {
  const values = operation.places.flatMap((place) => valueFor(place, operation, args));
  const url = buildUrl(operation, values, baseUrl);
  const headers = buildHeaders(values);
  const body = buildBody(operation.body, values);
  if (body === undefined) return { method: operation.method, url, headers };
  return { method: operation.method, url, headers: { ...headers, 'content-type': body.type }, body: body.text };
}

function valueFor(place: ArgumentPlace, operation: Operation, args: JsonObject): PlacedValue[] {
  const value = ownValue(args, place.argument);
  if (value !== undefined && value !== null) return [{ place, value }];
  const { properties } = operation.spec.parameters;
  if (value === null && place.in === 'body' && isJsonObject(properties) && allowsNull(ownValue(properties, place.argument)))
    return [{ place, value }];
  const isForgivable = place.in === 'body' && operation.body?.kind === 'properties';
  if (place.isRequired && !isForgivable) throw new ArgumentError(`${place.argument}: is required`);
  return [];
}

function buildUrl({ path, places }: Operation, values: readonly PlacedValue[], baseUrl: string): string {
  const [template = '', fixedQuery = ''] = path.replace(/#.*$/, '').split('?', 2);
  const filled = template.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const found = values.find(({ place }) => place.in === 'path' && place.name === name);
    if (found === undefined) throw new ArgumentError(`${name}: is required`);
    return pathText(found);
  });
  const pairs = values.flatMap(({ place, value }) => (place.in === 'query' ? pairsOf(place, value) : []));
  const query = [fixedQuery, joinPairs(pairs)].filter((part) => part !== '').join('&');
  const base = new URL(baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const url = new URL(`${base.origin}${prefix}${filled}${query === '' ? '' : `?${query}`}`);
  const isWhereItShouldBe =
    url.origin === base.origin &&
    url.pathname.startsWith(`${prefix}/`) &&
    segmentCount(url.pathname) === segmentCount(prefix) + segmentCount(template);
  const names = places.filter((place) => place.in === 'path').map((place) => place.argument);
  // The last word, whatever the checks of the values overlooked: an argument must not lead to another operation.
  if (!isWhereItShouldBe) throw new ArgumentError(`${names.join(', ') || 'path'}: the values lead to another address than ${path}`);
  return url.href;
}

function segmentCount(path: string): number {
  return path.split('/').length - 1;
}

function pathText({ place, value }: PlacedValue): string {
  const raw = toText(place, value, (text) => text);
  if (place.style === 'simple' || place.style === undefined || place.style === 'json') refusePathValue(place.argument, raw);
  else refusePathValue(place.argument, raw.replace(/^[.;]/, ''));
  return toText(place, value, (text) => percentEncode(place.argument, text));
}

/** `encodeURIComponent` leaves dots alone, and some servers decode a value twice before they look for `..`. */
function refusePathValue(argument: string, text: string): void {
  let decoded = text;
  for (let round = 0; round < 3; round += 1) {
    if (decoded.trim() === '') throw new ArgumentError(`${argument}: must not be empty, because it is a part of the path`);
    if (decoded.split(/[/\\]/).some((segment) => segment === '.' || segment === '..'))
      throw new ArgumentError(`${argument}: must not contain "." or ".." as a step of a path; give the name or id itself`);
    decoded = decodeOnce(decoded);
  }
}

function decodeOnce(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function percentEncode(argument: string, text: string): string {
  if (!text.isWellFormed()) throw new ArgumentError(`${argument}: contains half a character (a lone surrogate); write it anew`);
  return encodeURIComponent(text);
}

function pairsOf(place: ArgumentPlace, value: JsonValue): Pair[] {
  return toPairs(place, value, (text) => percentEncode(place.argument, text));
}

function joinPairs(pairs: readonly Pair[]): string {
  return pairs.map(([name, value]) => `${encodeURIComponent(name.toWellFormed())}=${value}`).join('&');
}

function buildHeaders(values: readonly PlacedValue[]): Record<string, string> {
  const headers = new Map([['accept', accept]]);
  const cookies: string[] = [];
  for (const { place, value } of values) {
    if (place.in === 'header' && !isReservedHeader(place.name))
      headers.set(
        place.name.toLowerCase(),
        headerText(
          place.argument,
          toText(place, value, (text) => text),
        ),
      );
    if (place.in === 'cookie') cookies.push(...pairsOf(place, value).map((pair) => pair.join('=')));
  }
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '));
  return Object.fromEntries(headers);
}

/** A line break would begin another header, and HTTP carries Latin-1 (RFC 9110 section 5.5). */
function headerText(argument: string, text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(text))
    throw new ArgumentError(`${argument}: is sent as a header and must not contain line breaks or control characters`);
  if (Array.from(text).some((character) => character > '\u00ff'))
    throw new ArgumentError(`${argument}: is sent as a header and may only contain Latin-1 characters`);
  return text.trim();
}

/** An optional body without arguments is not sent, and its type neither. */
function buildBody(plan: BodyPlan | undefined, values: readonly PlacedValue[]): { type: string; text: string } | undefined {
  if (plan === undefined) return undefined;
  const parts = values.filter(({ place }) => place.in === 'body');
  if (parts.length === 0 && !plan.isRequired) return undefined;
  if (plan.mediaType === formType) {
    const pairs = parts.flatMap(({ place, value }) => (value === null ? [] : pairsOf(place, value)));
    return { type: plan.mediaType, text: joinPairs(pairs) };
  }
  const [first] = parts;
  if (plan.kind === 'whole') return first === undefined ? undefined : { type: plan.mediaType, text: JSON.stringify(first.value) };
  const properties = parts.map(({ place, value }): [string, JsonValue] => [place.name, value]);
  return { type: plan.mediaType, text: JSON.stringify(Object.fromEntries(properties)) };
}
