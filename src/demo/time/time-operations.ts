import { DateTime } from 'luxon';
import { formatStrftime } from './format-strftime.ts';
import type { timeServerDocument } from './openapi-document.ts';
import { maxTimestampLength, parseTimestamp } from './parse-timestamp.ts';
import { readBody, Refusal, type ReceivedBody } from './read-body.ts';
import { findTimeZone, listTimeZones } from './time-zones.ts';

/** Also bounds the result, because a directive produces at most 24 characters. */
const maxFormatLength = 1000;
/** How much of an invalid value error messages repeat. */
const maxEchoLength = 100;

const units = ['seconds', 'minutes', 'hours', 'days'] as const;

interface TimeOperationOptions {
  /** Milliseconds since 1970. */
  now: () => number;
  /** The name of a time zone. */
  localZone: string;
}

/** One operation of the API. Throws `Refusal` for invalid input. */
type TimeOperation = (body: ReceivedBody | undefined) => unknown;

/** The operations of the time server's document, by path. */
export type TimeOperations = Record<keyof typeof timeServerDocument.paths, TimeOperation>;

export function createTimeOperations({ now, localZone }: TimeOperationOptions): TimeOperations {
  const parse = (text: string, zone: string): DateTime => requireTime(text, { now: now(), zone });
  const currentTime = (zone: string): DateTime => DateTime.fromMillis(now(), { zone });
  return {
    '/get_current_utc_time': () => ({ utc: toIsoFormat(currentTime('UTC')) }),
    '/get_current_local_time': () => ({ local_time: toIsoFormat(currentTime(localZone)).slice(0, -'+00:00'.length) }),
    '/format_time'(body) {
      const { format, timezone } = readBody(body, { format: { fallback: '%Y-%m-%d %H:%M:%S' }, timezone: { fallback: 'UTC' } });
      const zone = requireTimeZone(timezone);
      if (format.length > maxFormatLength) throw new Refusal(400, `Invalid format string: more than ${maxFormatLength} characters`);
      return { formatted_time: formatStrftime(format, currentTime(zone)) };
    },
    '/convert_time'(body) {
      const { timestamp, from_tz, to_tz } = readBody(body, { timestamp: {}, from_tz: {}, to_tz: {} });
      const [fromZone, toZone] = [requireTimeZone(from_tz), requireTimeZone(to_tz)];
      const converted = parse(timestamp, fromZone).setZone(toZone);
      // East of UTC, the year 10000 begins while it is still 9999 in UTC.
      if (converted.year < 1 || converted.year > 9999) throw new Refusal(400, 'Invalid timestamp: date value out of range');
      return { converted_time: toIsoFormat(converted) };
    },
    '/elapsed_time'(body) {
      const { start, end, units: unit } = readBody(body, { start: {}, end: {}, units: { choices: units, fallback: 'seconds' } });
      // A timestamp without an offset is in UTC, the default throughout this API. Days have 24 hours there.
      const elapsed = parse(end, 'UTC')
        .toUTC()
        .diff(parse(start, 'UTC').toUTC())
        .as(unit as (typeof units)[number]);
      return { elapsed, unit };
    },
    '/parse_timestamp'(body) {
      const { timestamp, timezone } = readBody(body, { timestamp: {}, timezone: { fallback: 'UTC' } });
      return { utc: toIsoFormat(parse(timestamp, requireTimeZone(timezone)).toUTC()) };
    },
    '/list_time_zones': () => listTimeZones(),
  };
}

/** As Python's `datetime.isoformat()`: microseconds only if they are not zero. */
function toIsoFormat(time: DateTime): string {
  return time.toFormat(time.millisecond === 0 ? `yyyy-MM-dd'T'HH:mm:ssZZ` : `yyyy-MM-dd'T'HH:mm:ss.SSS'000'ZZ`);
}

function requireTimeZone(name: string): string {
  const zone = findTimeZone(name);
  if (zone === undefined) throw new Refusal(400, `Invalid timezone: ${echo(name)}`);
  return zone;
}

function requireTime(text: string, context: { now: number; zone: string }): DateTime {
  const time = parseTimestamp(text, context);
  if (time !== undefined) return time;
  const reason = text.length > maxTimestampLength ? `more than ${maxTimestampLength} characters` : text;
  throw new Refusal(400, `Could not parse timestamp: ${echo(reason)}`);
}

function echo(text: string): string {
  return text.length > maxEchoLength ? `${text.slice(0, maxEchoLength)}…` : text;
}
