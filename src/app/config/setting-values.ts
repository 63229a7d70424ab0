import { isIP } from 'node:net';
import type { ModelPrices } from '../../core/models/model-price.ts';
import { isJsonObject, type JsonValue } from '../../shared/json/json.ts';
import { longestTimerMs } from '../../shared/async/timer-limits.ts';
import { InvalidValue } from './config-error.ts';
import { explainJsonFault } from '../../shared/json/explain-json-fault.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';
import { withoutSlashesAtEnd } from '../../shared/text/document-url.ts';
import { findUrlFault } from '../../shared/text/http-url.ts';

/** Reads a setting's value: text from the environment, or what YAML made of it. Throws `InvalidValue`. */
export type ParseValue<Value> = (value: JsonValue) => Value;

export const text: ParseValue<string> = (value) => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new InvalidValue('is not text', 'set one line of text');
};

export function wholeNumber(min: number, max: number, reason = ''): ParseValue<number> {
  return (value) => {
    const written = text(value);
    const number = /^-?\d+$/.test(written) ? Number(written) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidValue(`is not a whole number from ${min} to ${max}`, `set a number in this range${reason}`);
  };
}

export const delayMs = wholeNumber(1, longestTimerMs, ' (milliseconds)');

export function oneOf<const Choice extends string>(choices: readonly Choice[]): ParseValue<Choice> {
  return (value) => {
    const written = text(value).toLowerCase();
    const found = choices.find((choice) => choice === written);
    if (found !== undefined) return found;
    throw new InvalidValue(`is not one of the known values`, `set ${choices.join(', ')}`);
  };
}

export const flag: ParseValue<boolean> = (value) => {
  const written = text(value).toLowerCase();
  if (written === 'true' || written === 'false') return written === 'true';
  throw new InvalidValue('is neither true nor false', 'set true or false');
};

/** What people put between addresses: each list takes one of them. */
const severalAddresses = /[,;\s]\s*(?=[a-z][a-z0-9+.-]*:\/\/|\*|$)|^[a-z]+:\/\/[^/]*[,;\s]/i;

/** A list of addresses. Another separator than its own would make one address of several, which may even be valid. */
export function addressesOf<Value>(separator: ';' | ',', parse: (entry: string) => Value): ParseValue<Value[]> {
  return listOf(separator, (entry) => {
    if (severalAddresses.test(entry)) throw new InvalidValue('contains several addresses', `separate them with "${separator}"`, entry);
    return parse(entry);
  });
}

/** `separator`-separated text or a YAML list. Trailing empty entries are dropped; others stay, because some lists are paired by position. */
export function listOf<Value>(separator: ';' | ',' | ' ', parse: (entry: string) => Value): ParseValue<Value[]> {
  return (value) => {
    const entries = Array.isArray(value) ? value.map((entry) => (entry === null ? '' : text(entry))) : text(value).split(separator);
    const trimmed = entries.map((entry) => entry.trim());
    const last = trimmed.findLastIndex((entry) => entry !== '');
    return trimmed.slice(0, last + 1).map((entry) => parse(entry));
  };
}

/** An `http:` or `https:` URL, returned without trailing slashes. */
export function httpUrl(entry: string): string {
  const fault = findUrlFault(entry);
  if (fault !== undefined) throw new InvalidValue(fault.problem, fault.cure, fault.isQuotable ? entry : 'the URL');
  return withoutSlashesAtEnd(entry);
}

/** The same as it is written: issuers are compared exactly, and some end with a slash. */
export const issuerUrl: ParseValue<string> = (value) => {
  const issuer = text(value);
  httpUrl(issuer);
  return issuer;
};

/** The empty entry stays empty. */
export const httpUrlOrEmpty = (entry: string): string => (entry === '' ? '' : httpUrl(entry));

/** An origin: scheme, host and port. */
export function httpOrigin(entry: string): string {
  const url = new URL(httpUrl(entry));
  if (url.pathname !== '/') throw new InvalidValue('is more than an origin', `set ${url.origin}`, entry);
  return url.origin;
}

/** An origin as browsers send it: http(s), `*`, or an application's own scheme (`tauri://localhost`). */
export function browserOrigin(entry: string): string {
  if (entry === '*' || /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9.-]+$/i.test(entry)) return entry.toLowerCase();
  return httpOrigin(entry);
}

export const hostName: ParseValue<string> = (value) => {
  const written = text(value);
  const bare = written.startsWith('[') && written.endsWith(']') ? written.slice(1, -1) : written;
  if (isIP(bare) !== 0 || /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i.test(bare)) return bare;
  throw new InvalidValue('is not an address or host name', 'set it without scheme and port, for example 127.0.0.1 or 0.0.0.0');
};

/** A template without its placeholder would silently drop the content that it is for. */
export function templateWith(placeholder: string): ParseValue<string> {
  return (value) => {
    const template = text(value);
    if (template.includes(placeholder)) return template;
    throw new InvalidValue(`does not contain ${placeholder}`, `add ${placeholder} where its content belongs`, 'the template');
  };
}

export const databaseAddress: ParseValue<string> = (value) => {
  const address = text(value);
  if (/^sqlite:./.test(address)) return address;
  if (/^postgres(?:ql)?:\/\//.test(address) && URL.canParse(address)) return address;
  throw new InvalidValue(
    'starts with neither sqlite: nor postgres://',
    'set for example sqlite:./data/toolwharf.db or postgres://user:password@host/database',
    'its value',
  );
};

/** Credentials are sent in HTTP headers: visible ASCII only (RFC 9110, section 5.5), no spaces. */
export function credential(minLength: number): ParseValue<string> {
  return (value) => {
    const written = text(value);
    if (/[^\x21-\x7e]/.test(written))
      throw new InvalidValue('contains spaces or non-ASCII characters', 'use letters, digits and punctuation');
    if (written.length >= minLength) return written;
    throw new InvalidValue(`is shorter than ${minLength} characters`, 'generate one with `openssl rand -hex 32`');
  };
}

/** The empty entry stays empty: no key at this position. */
export const keyOrEmpty = (entry: string): string => (entry === '' ? '' : credential(1)(entry));

/** JSON text, or a value that YAML has parsed already. The error of `JSON.parse` quotes the text, secrets included, so it is not shown. */
export const modelPrices: ParseValue<ModelPrices> = (value) => {
  const prices = json(value);
  const isPrice = (price: unknown): boolean =>
    isJsonObject(price) && ['input', 'output'].every((name) => typeof price[name] === 'number' && price[name] >= 0);
  if (isJsonObject(prices) && Object.values(prices).every(isPrice)) return prices as unknown as ModelPrices;
  throw new InvalidValue('is not a list of prices', 'write {"model id": {"input": 1.25, "output": 10}}', 'the value');
};

export const json: ParseValue<JsonValue> = (value) => {
  if (typeof value !== 'string') return value;
  try {
    return parseExactly(value) as JsonValue;
  } catch {
    const fault = explainJsonFault(value);
    const cure =
      fault === undefined ? 'check quotes, commas and brackets' : `at line ${fault.line}, column ${fault.column} it ${fault.problem}`;
    throw new InvalidValue('is not valid JSON', cure, 'the value');
  }
};
