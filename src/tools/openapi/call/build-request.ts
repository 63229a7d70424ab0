import { withoutSlashesAtEnd } from '../../../shared/text/document-url.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { PreparedRequest } from '../../../core/tools/browser-call.ts';
import { maxHops, resolveSchema } from '../../../shared/json-schema/resolve.ts';
import { ArgumentError } from './argument-error.ts';
import { buildBody, type BoundValue } from './build-body.ts';
import { bodyPlanFor, furtherNames } from './choose-body.ts';
import { asItIs, percentEncoder } from './encode-text.ts';
import type { ArgumentBinding, BodyAlternative, Operation } from '../../definitions/operation.ts';
import { isDotSegment, isReservedHeader, isToken } from '../request-rules.ts';
import { joinPairs, queryText, toPairs, toText } from './serialize-parameter.ts';

export { ArgumentError } from './argument-error.ts';

/** RFC 6265 section 4.1.1, and the comma that lists are joined with. */
const cookieValue = /^[\x21\x23-\x3a\x3c-\x5b\x5d-\x7e]*$/;

/**
 * The request of a call, without credentials. `baseUrl` is where the paths begin (`createBaseUrls`). Optional arguments that are null are not sent,
 * except in a body whose schema takes null: there it clears a field.
 * @throws ArgumentError for a value that is missing or cannot be sent where it belongs.
 */
export function buildRequest(operation: Operation, args: JsonObject, baseUrl: string): PreparedRequest {
  const chosen = bodyPlanFor(operation, args);
  const bindings = [...operation.bindings.filter((binding) => binding.in !== 'body'), ...(chosen?.bindings ?? [])];
  const values = [...bindings.flatMap((binding) => valueFor(binding, operation, args)), ...furtherValues(chosen, operation, args)];
  const url = buildUrl(operation, values, baseUrl);
  const headers = buildHeaders(operation, values);
  const body = buildBody(chosen?.plan, values);
  if (body === undefined) return { method: operation.method, url, headers };
  const typed = { method: operation.method, url, headers: { ...headers, 'content-type': body.type } };
  if (typeof body.content === 'string') return { ...typed, body: body.content };
  return { ...typed, body: Buffer.from(body.content).toString('base64'), bodyEncoding: 'base64' };
}

/** Method and URL of that request, for people; undefined for arguments of which none can be built. */
export function addressOfCall(operation: Operation, args: JsonObject, baseUrl: string): string | undefined {
  try {
    const { method, url } = buildRequest(operation, args, baseUrl);
    return `${method} ${url}`;
  } catch (error) {
    if (error instanceof ArgumentError) return undefined;
    throw error;
  }
}

function valueFor(binding: ArgumentBinding, operation: Operation, args: JsonObject): BoundValue[] {
  const value = ownValue(args, binding.argument);
  if (value !== undefined && value !== null) return [{ binding, value }];
  const { parameters } = operation.spec;
  const { properties } = parameters;
  if (value === null && binding.in === 'body' && isJsonObject(properties) && takesNull(ownValue(properties, binding.argument), parameters))
    return [{ binding, value }];
  // The server says better what a body lacks.
  const mayBeMissing = binding.in === 'body' && operation.body?.kind === 'properties';
  if (binding.isRequired && !mayBeMissing) throw new ArgumentError(`${binding.argument}: is required`);
  return [];
}

/** @throws ArgumentError for a member that another argument already sends */
function furtherValues(chosen: BodyAlternative | undefined, operation: Operation, args: JsonObject): BoundValue[] {
  if (chosen?.plan.further === undefined) return [];
  const { further } = chosen.plan;
  const { parameters } = operation.spec;
  return furtherNames(operation, args).flatMap((name): BoundValue[] => {
    const value = ownValue(args, name);
    const same = chosen.bindings.find((binding) => binding.name === name);
    if (same !== undefined) throw new ArgumentError(`${name}: is given as '${same.argument}'`);
    if (value === undefined || (value === null && !takesNull(ownValue(parameters, 'additionalProperties'), parameters))) return [];
    return [{ binding: { ...further, argument: name, in: 'body', name, isRequired: false }, value }];
  });
}

/** Whether null is a value of the schema. One that says nothing of its values takes all of them. */
function takesNull(stated: JsonValue | undefined, root: JsonObject, depth = 0): boolean {
  const schema = resolveSchema(stated ?? {}, root);
  if (!isJsonObject(schema)) return schema === true;
  const { type, enum: choices, const: fixed, anyOf, allOf } = schema;
  if (type !== undefined && ![type].flat().includes('null')) return false;
  if (Array.isArray(choices) && !choices.includes(null)) return false;
  if (fixed !== undefined && fixed !== null) return false;
  const isTooDeep = depth >= maxHops;
  if (Array.isArray(anyOf) && (isTooDeep || !anyOf.some((branch) => takesNull(branch, root, depth + 1)))) return false;
  return !Array.isArray(allOf) || (!isTooDeep && allOf.every((part) => takesNull(part, root, depth + 1)));
}

function buildUrl({ path, bindings }: Operation, values: readonly BoundValue[], baseUrl: string): string {
  const [template = '', fixedQuery = ''] = path.replace(/#.*$/, '').split('?', 2);
  const filled = template.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const found = values.find(({ binding }) => binding.in === 'path' && binding.name === name);
    if (found === undefined) throw new ArgumentError(`${name}: is required`);
    return pathText(found);
  });
  const query = [fixedQuery, ...values.flatMap(queryParts)].filter((part) => part !== '').join('&');
  const base = new URL(baseUrl);
  const prefix = withoutSlashesAtEnd(base.pathname);
  const url = new URL(`${base.origin}${prefix}${filled}${query === '' ? '' : `?${query}`}`);
  const isExpectedPath =
    url.origin === base.origin &&
    url.pathname.startsWith(`${prefix}/`) &&
    segmentCount(url.pathname) === segmentCount(prefix) + segmentCount(template) &&
    !url.pathname.slice(prefix.length).split('/').some(isDotSegment);
  const names = bindings.filter((binding) => binding.in === 'path').map((binding) => binding.argument);
  // The last check, whatever those of the values overlooked: an argument must not lead to another operation.
  if (!isExpectedPath) throw new ArgumentError(`${names.join(', ') || 'path'}: the values lead to another address than ${path}`);
  return url.href;
}

function segmentCount(path: string): number {
  return path.split('/').length - 1;
}

function pathText({ binding, value }: BoundValue): string {
  const { argument, style } = binding;
  const raw = toText(binding, value, asItIs);
  refusePathValue(binding, style === 'label' || style === 'matrix' ? raw.replace(/^[.;]/, '') : raw);
  return toText(binding, value, percentEncoder(argument, binding.allowReserved && 'path'));
}

/** `encodeURIComponent` does not encode dots, and some servers decode a value twice before they look for `..`. */
function refusePathValue({ argument, allowReserved = false }: ArgumentBinding, text: string): void {
  let decoded = text;
  for (let round = 0; round < 3; round += 1) {
    if (decoded.trim() === '') throw new ArgumentError(`${argument}: must not be empty, because it is a part of the path`);
    const segments = decoded.split(/[/\\]/);
    if (segments.some(isDotSegment))
      throw new ArgumentError(`${argument}: must not contain "." or ".." as a step of a path; give the name or id itself`);
    // Servers that cut off path parameters would read nothing.
    if (allowReserved && segments.some((segment) => segment.startsWith(';')))
      throw new ArgumentError(`${argument}: must not begin with ";", because it is a part of the path`);
    decoded = decodeOnce(decoded);
  }
}

/** Code by code, as loose servers do: a stray `%` elsewhere in the text must not hide what can be decoded. */
function decodeOnce(text: string): string {
  return text.replaceAll(/%[\da-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));
}

function queryParts({ binding, value }: BoundValue): string[] {
  const { argument } = binding;
  if (binding.in === 'query') return [joinPairs(toPairs(binding, value, percentEncoder(argument, binding.allowReserved && 'query')))];
  if (binding.in !== 'querystring') return [];
  // The whole query: what is no form is a single encoded text (OpenAPI 3.2, section 4.12.3).
  if (binding.style === 'urlencoded' && isJsonObject(value)) return [queryText(value)];
  return toPairs({ ...binding, name: '' }, value, percentEncoder(argument, binding.style === 'urlencoded' ? 'query' : undefined)).map(
    ([, text]) => text,
  );
}

function buildHeaders({ accepts }: Operation, values: readonly BoundValue[]): Record<string, string> {
  const headers = new Map([['accept', acceptHeader(accepts)]]);
  const cookies: string[] = [];
  for (const { binding, value } of values) {
    if (binding.in === 'header' && !isReservedHeader(binding.name))
      headers.set(binding.name.toLowerCase(), headerText(binding.argument, toText(binding, value, asItIs)));
    if (binding.in === 'cookie') cookies.push(...cookiePairs(binding, value));
  }
  if (cookies.length > 0) headers.set('cookie', cookies.join('; '));
  return Object.fromEntries(headers);
}

/**
 * JSON first, then the types that the operation declares, then plain text. Nothing wider: a range that includes `text/html` makes Spring answer errors
 * as a page, Rails takes whoever sends `, *\/*` for a browser, and so do the usual error handlers of Flask and Express. The model could not read why a
 * call failed.
 */
function acceptHeader(types: readonly string[] = []): string {
  return ['application/json', ...types.filter((type) => type !== 'text/plain').map((type) => `${type};q=0.9`), 'text/plain;q=0.5'].join(
    ', ',
  );
}

/** Percent-encoded, except in OpenAPI 3.2's own style for cookies, where only what a cookie may hold can be sent (RFC 6265 section 4.1.1). */
function cookiePairs(binding: ArgumentBinding, value: JsonValue): string[] {
  const { argument } = binding;
  const pairs = toPairs(binding, value, binding.style === 'cookie' ? asItIs : percentEncoder(argument, undefined));
  return pairs.map(([name, text]) => {
    if (!isToken(name)) throw new ArgumentError(`${argument}: "${name.slice(0, 80)}" cannot be the name of a cookie`);
    if (!cookieValue.test(text))
      throw new ArgumentError(`${argument}: a cookie may not hold spaces, commas, semicolons, quotes or backslashes`);
    return `${name}=${text}`;
  });
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
