import type { Moment } from './moment.ts';
import { isWithinYears, momentFromMilliseconds, toMoment, toWallTime } from './moment.ts';
import type { WrittenTime } from './parse-iso-timestamp.ts';
import { parseIsoTimestamp } from './parse-iso-timestamp.ts';
import { parseWordedTimestamp } from './parse-worded-timestamp.ts';
import type { TimeZone } from './time-zones.ts';
import { findTimeZone } from './time-zones.ts';

/** No timestamp is longer; longer texts are not parsed at all. */
export const maxTimestampLength = 200;

interface TimestampContext {
  /** Milliseconds since 1970: fills in the date of `15:00`, and is what `tomorrow` counts from. */
  now: number;
  /** Applies if the text has neither an offset nor a zone. */
  zone: TimeZone;
}

/**
 * Parses a text as digits, else as ISO 8601, else as English words; undefined if it is none of these.
 * An offset in the text wins over a zone in the text (`2024-06-01T12:00[Europe/Berlin]`), and that over the assumed zone.
 */
export function parseTimestamp(text: string, context: TimestampContext): Moment | undefined {
  if (text.length > maxTimestampLength) return undefined;
  // U+2212 is the minus sign that ISO 8601 prescribes.
  const plain = text.replace(/\s+/g, ' ').replaceAll('\u2212', '-').trim();
  if (/^-?\d+(?:\.\d+)?$/.test(plain)) return parseDigits(plain, context);
  const named = splitZoneName(plain);
  return parseWritten(named.text, { now: context.now, zone: named.zone ?? context.zone });
}

function parseWritten(text: string, context: TimestampContext): Moment | undefined {
  const reading = parseIsoTimestamp(text);
  if (reading === 'out of range') return undefined;
  const moment = reading === undefined ? parseWordedTimestamp(text, context) : place(reading, context);
  return moment !== undefined && isWithinYears(moment) ? moment : undefined;
}

/**
 * Digits only: 9 to 11 are Unix seconds (perhaps with a fraction), 13 are Unix milliseconds; 4, 7, 8, 12 and 14 are the basic forms of a year,
 * an ordinal date, a date, and a date with hours and minutes, and seconds. Other lengths are ambiguous.
 */
function parseDigits(text: string, context: TimestampContext): Moment | undefined {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)\.?(\d*)$/.exec(text) ?? [];
  const count = Number(sign + whole);
  if (whole.length >= 9 && whole.length <= 11) return addFraction(count, sign, fraction);
  if (fraction !== '') return undefined;
  if (whole.length === 13) return momentFromMilliseconds(count);
  if (sign !== '') return undefined;
  if (whole.length === 12 || whole.length === 14) return parseWritten(`${whole.slice(0, 8)}T${whole.slice(8)}`, context);
  return [4, 7, 8].includes(whole.length) ? parseWritten(whole, context) : undefined;
}

function addFraction(count: number, sign: string, fraction: string): Moment {
  const microsecond = Number(fraction.slice(0, 6).padEnd(6, '0'));
  if (sign === '' || microsecond === 0) return { epochSeconds: count, microsecond };
  return { epochSeconds: count - 1, microsecond: 1_000_000 - microsecond };
}

/** A time without a date is today's, where the text's offset, or else the zone, determines the date. */
function place(written: WrittenTime, context: TimestampContext): Moment | undefined {
  const now = momentFromMilliseconds(context.now);
  const offsetSeconds = written.offsetSeconds ?? context.zone.offsetSecondsAt(now.epochSeconds);
  const { year, month, day } = written.date ?? toWallTime(now, offsetSeconds);
  return toMoment({ year, month, day, ...written.clock }, written.offsetSeconds ?? context.zone);
}

/** `… Europe/Berlin` and `…[Europe/Berlin]` (RFC 9557): the name of a zone at the end. */
function splitZoneName(text: string): { text: string; zone: TimeZone | undefined } {
  const start = text.endsWith(']') ? text.lastIndexOf('[') : text.lastIndexOf(' ');
  const name = text.slice(start + 1).replace(/\]$/, '');
  const zone = start > 0 && name.includes('/') ? findTimeZone(name) : undefined;
  return zone === undefined ? { text, zone } : { text: text.slice(0, start).trimEnd(), zone };
}
