import type { ParsedResult } from 'chrono-node';
import { casual } from 'chrono-node/en';
import type { Moment } from './moment.ts';
import { toMoment } from './moment.ts';
import type { TimeZone } from './time-zones.ts';

/**
 * A longer text does not name a single point in time, and chrono's patterns take superlinear time. With single spaces the worst known texts of this
 * length take about 30 ms; with runs of spaces, 200 characters take 20 s, which is why callers collapse spaces.
 */
const maxWordedLength = 100;

/** Expressions for a time of day without a number; the hour that chrono assumes for them is used. */
const timesOfDay = ['morning', 'afternoon', 'evening', 'tonight'].map((name) => `casualReference/${name}` as const);

interface WordedContext {
  /** Milliseconds since 1970, for `tomorrow` and `in 2 hours`. */
  now: number;
  zone: TimeZone;
}

/**
 * Dates in English words, RFC 2822 dates, `06/01/2024` (month first, unless it cannot be a month), and times relative to now. The whole text must
 * be one point in time: a date within a sentence, or a range, is rejected. A date without a time is its midnight.
 * Expects single spaces.
 */
export function parseWordedTimestamp(text: string, context: WordedContext): Moment | undefined {
  const wording = withMilliseconds(withoutComment(text));
  if (wording.length > maxWordedLength) return undefined;
  const offsetMinutes = context.zone.offsetSecondsAt(Math.floor(context.now / 1000)) / 60;
  const results = casual.parse(wording, { instant: new Date(context.now), timezone: offsetMinutes });
  const [result] = results;
  if (result === undefined || results.length > 1 || result.end) return undefined;
  const around = wording.slice(0, result.index) + wording.slice(result.index + result.text.length);
  return /^[\s,.;]*$/.test(around) ? toMomentOf(result, context.zone) : undefined;
}

/**
 * Computed from the components of chrono's result: its `date()` uses this process's time zone, and is an hour off around that zone's clock changes.
 * chrono marks an offset as certain if the text names one, or is relative to now in hours.
 */
function toMomentOf(result: ParsedResult, zone: TimeZone): Moment | undefined {
  const { start } = result;
  const tags = result.tags();
  const hasTime = start.isCertain('hour') || tags.has('result/relativeDate') || timesOfDay.some((tag) => tags.has(tag));
  const clockPart = (name: Parameters<typeof start.get>[0]) => (hasTime ? part(result, name) : 0);
  return toMoment(
    {
      year: part(result, 'year'),
      month: part(result, 'month'),
      day: part(result, 'day'),
      hour: clockPart('hour'),
      minute: clockPart('minute'),
      second: clockPart('second'),
      microsecond: clockPart('millisecond') * 1000,
    },
    start.isCertain('timezoneOffset') ? part(result, 'timezoneOffset') * 60 : zone,
  );
}

function part(result: ParsedResult, name: Parameters<ParsedResult['start']['get']>[0]): number {
  return result.start.get(name) ?? 0;
}

/** `… GMT+0200 (Central European Summer Time)`: a comment of RFC 2822, which JavaScript appends to a date. */
function withoutComment(text: string): string {
  const start = text.endsWith(')') ? text.lastIndexOf('(') : -1;
  return start < 0 ? text : text.slice(0, start).trimEnd();
}

/** chrono reads a fraction of a second as a number of milliseconds, so `.5` must become `.500`. */
function withMilliseconds(text: string): string {
  return text.replace(/(:\d\d)[.,](\d+)/, (_match, second: string, fraction: string) => `${second}.${fraction.slice(0, 3).padEnd(3, '0')}`);
}
