import { casual } from 'chrono-node/en';
import type { ParsedResult } from 'chrono-node';
import { DateTime } from 'luxon';
import { findTimeZone } from './time-zones.ts';

/** No timestamp is longer; longer texts are not parsed at all. */
export const maxTimestampLength = 200;
/**
 * A longer text does not name a single point in time, and chrono's patterns take superlinear time. With single spaces the worst known texts of this
 * length take about 30 ms; with runs of spaces, 200 characters take 20 s, which is why runs are collapsed first.
 */
const maxWordedLength = 100;

interface TimestampContext {
  /** Milliseconds since 1970: gives the date of `15:00`, and is what `tomorrow` counts from. */
  now: number;
  /** IANA name. Applies if the text has neither an offset nor a zone. */
  zone: string;
}

/**
 * Parses a text as digits, else as ISO 8601, else as English words; undefined if it is none of these, or is outside the years 1 to 9999.
 * An offset in the text wins over a zone in the text (`2024-06-01T12:00[Europe/Berlin]`), and that over the assumed zone.
 */
export function parseTimestamp(text: string, context: TimestampContext): DateTime | undefined {
  if (text.length > maxTimestampLength) return undefined;
  // U+2212 is the minus sign that ISO 8601 prescribes.
  const plain = text.replace(/\s+/g, ' ').replaceAll('\u2212', '-').trim();
  const named = /^(.*?) ?\[?([a-z_]+\/[\w/+-]+)\]?$/i.exec(plain);
  const zone = findTimeZone(named?.[2] ?? '');
  const [written, assumed] = zone === undefined ? [plain, context.zone] : [named?.[1] ?? '', zone];
  const time = /^-?[\d.]+$/.test(written)
    ? parseDigits(written, assumed)
    : (parseIso(written, { now: context.now, zone: assumed }) ?? parseWords(written, { now: context.now, zone: assumed }));
  return time?.isValid === true && time.toUTC().year >= 1 && time.toUTC().year <= 9999 ? time : undefined;
}

/** 9 to 11 digits are Unix seconds, perhaps with a fraction, 13 are milliseconds; 4, 7, 8, 12 and 14 are basic forms of ISO 8601. */
function parseDigits(text: string, zone: string): DateTime | undefined {
  if (/^-?\d{9,11}(?:\.\d+)?$/.test(text)) return DateTime.fromSeconds(Number(text), { zone });
  if (/^-?\d{13}$/.test(text)) return DateTime.fromMillis(Number(text), { zone });
  if (/^(?:\d{12}|\d{14})$/.test(text)) return DateTime.fromISO(`${text.slice(0, 8)}T${text.slice(8)}`, { zone });
  return /^(?:\d{4}|\d{7,8}|\d{4}\.\d{1,2}\.\d{1,2})$/.test(text) ? parseIso(text, { now: 0, zone }) : undefined;
}

/** ISO 8601 and its relatives: a space or a comma instead of `T`, slashes or dots in a date that begins with the year, `UTC` and `GMT`. */
function parseIso(text: string, { now, zone }: TimestampContext): DateTime | undefined {
  const iso = text
    .replace(/^(\d{4})([/.])(\d{1,2})\2(\d{1,2})/, '$1-$3-$4')
    .replace(/^(\d{4})-(\d)(?=-)/, '$1-0$2')
    .replace(/^(\d{4}-\d\d)-(\d)(?!\d)/, '$1-0$2')
    .replace(/^(\d{4}-?\d\d-?\d\d)(?:, ?| )(?=\d\d)/, '$1T')
    .replace(/ ?(?:Z|UTC|GMT)$/i, 'Z')
    .replace(/ (?=[+-]\d\d:?\d{0,2}$)/, '')
    .replace(/^(\d{4}-\d\d-\d\d)(?=Z|[+-]\d\d:)/, '$1T00');
  // Without a date, luxon takes that of this process.
  const isTimeOfDay = /^(?:T\d|\d\d:)/i.test(iso);
  const written = isTimeOfDay ? `${DateTime.fromMillis(now, { zone }).toISODate()}T${iso.replace(/^T/i, '')}` : iso;
  if (!/^\d{4}/.test(written)) return undefined;
  const time = DateTime.fromISO(written, { zone, setZone: true });
  return time.isValid && Math.abs(time.offset) < 24 * 60 ? time : undefined;
}

/** Expressions for a time of day without a number; the hour that chrono assumes for them is used. */
const timesOfDay = ['morning', 'afternoon', 'evening', 'tonight'].map((name) => `casualReference/${name}` as const);

/**
 * Dates in English words, RFC 2822 dates, `06/01/2024` (month first, unless it cannot be a month), and times relative to now. The whole text must
 * be one point in time: a date within a sentence, or a range, is rejected. A date without a time is its midnight.
 */
function parseWords(text: string, { now, zone }: TimestampContext): DateTime | undefined {
  // `… GMT+0200 (Central European Summer Time)`: JavaScript adds a comment to a date. chrono reads `.5` as five milliseconds.
  const wording = text
    .replace(/ ?\([^()]*\)$/, '')
    .replace(/(:\d\d)[.,](\d+)/, (_all, second: string, fraction: string) => `${second}.${fraction.slice(0, 3).padEnd(3, '0')}`);
  // Without a word or a slash it is ISO 8601 with a number out of range, of which chrono would read a part.
  if (wording.length > maxWordedLength || !/[a-su-y/]/i.test(wording)) return undefined;
  const results = casual.parse(wording, { instant: new Date(now), timezone: DateTime.fromMillis(now, { zone }).offset });
  const [result] = results;
  if (result === undefined || results.length > 1 || result.end) return undefined;
  const around = wording.slice(0, result.index) + wording.slice(result.index + result.text.length);
  return /^[\s,.;]*$/.test(around) ? toDateTime(result, zone) : undefined;
}

/** From the components of chrono's result, as its `date()` is an hour off around the clock changes of this process's time zone. */
function toDateTime(result: ParsedResult, zone: string): DateTime {
  const { start } = result;
  const tags = result.tags();
  const hasTime = start.isCertain('hour') || tags.has('result/relativeDate') || timesOfDay.some((tag) => tags.has(tag));
  const part = (name: Parameters<typeof start.get>[0]): number => start.get(name) ?? 0;
  const date = { year: part('year'), month: part('month'), day: part('day') };
  const clock = { hour: part('hour'), minute: part('minute'), second: part('second'), millisecond: part('millisecond') };
  const written = DateTime.fromObject({ ...date, ...(hasTime && clock) }, { zone: 'utc' });
  // Certain if the text has an offset, or is relative to now in hours.
  const isCertain = start.isCertain('timezoneOffset');
  return isCertain ? written.minus({ minutes: part('timezoneOffset') }) : written.setZone(zone, { keepLocalTime: true });
}
