import { formatStrftime } from './format-strftime.ts';
import type { Moment } from './moment.ts';
import { momentFromMilliseconds, toIsoFormat, toLocalTime } from './moment.ts';
import type { timeServerDocument } from './openapi-document.ts';
import { maxTimestampLength, parseTimestamp } from './parse-timestamp.ts';
import type { ReceivedBody } from './read-body.ts';
import { readBody } from './read-body.ts';
import { Refusal } from './refusal.ts';
import type { TimeZone } from './time-zones.ts';
import { findTimeZone, listTimeZones } from './time-zones.ts';

/** Also bounds the result, because a directive produces at most 24 characters. */
const maxFormatLength = 1000;
/** How much of an invalid value error messages repeat. */
const maxEchoLength = 100;

const secondsPerUnit = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 };
type Unit = keyof typeof secondsPerUnit;

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
  const utc = requireTimeZone('UTC');
  const local = requireTimeZone(localZone);
  let timeZones: string[] | undefined;
  const parse = (text: string, zone: TimeZone) => requireMoment(text, { now: now(), zone });
  const currentTime = (zone: TimeZone) => toLocalTime(momentFromMilliseconds(now()), zone);
  return {
    '/get_current_utc_time': () => ({ utc: toIsoFormat(currentTime(utc), 'with offset') }),
    '/get_current_local_time': () => ({ local_time: toIsoFormat(currentTime(local), 'without offset') }),
    '/format_time'(body) {
      const { format, timezone } = readBody(body, { format: { fallback: '%Y-%m-%d %H:%M:%S' }, timezone: { fallback: 'UTC' } });
      const zone = requireTimeZone(timezone);
      if (format.length > maxFormatLength) throw new Refusal(400, `Invalid format string: more than ${maxFormatLength} characters`);
      return { formatted_time: formatStrftime(format, currentTime(zone)) };
    },
    '/convert_time'(body) {
      const { timestamp, from_tz, to_tz } = readBody(body, { timestamp: {}, from_tz: {}, to_tz: {} });
      const [fromZone, toZone] = [requireTimeZone(from_tz), requireTimeZone(to_tz)];
      const converted = toLocalTime(parse(timestamp, fromZone), toZone);
      // East of UTC, the year 10000 begins while it is still 9999 in UTC.
      if (converted.year < 1 || converted.year > 9999) throw new Refusal(400, 'Invalid timestamp: date value out of range');
      return { converted_time: toIsoFormat(converted, 'with offset') };
    },
    '/elapsed_time'(body) {
      const { start, end, units } = readBody(body, {
        start: {},
        end: {},
        units: { choices: Object.keys(secondsPerUnit), fallback: 'seconds' },
      });
      // A timestamp without an offset is in UTC, the default throughout this API.
      return { elapsed: secondsBetween(parse(start, utc), parse(end, utc)) / secondsPerUnit[units as Unit], unit: units };
    },
    '/parse_timestamp'(body) {
      const { timestamp, timezone } = readBody(body, { timestamp: {}, timezone: { fallback: 'UTC' } });
      return { utc: toIsoFormat(toLocalTime(parse(timestamp, requireTimeZone(timezone)), utc), 'with offset') };
    },
    '/list_time_zones': () => (timeZones ??= listTimeZones()),
  };
}

/** Negative if the end is before the start. One division of whole microseconds, so that 0.1 s does not become 0.09999. */
function secondsBetween(start: Moment, end: Moment): number {
  return ((end.epochSeconds - start.epochSeconds) * 1_000_000 + (end.microsecond - start.microsecond)) / 1_000_000;
}

function requireTimeZone(name: string): TimeZone {
  const zone = findTimeZone(name);
  if (zone === undefined) throw new Refusal(400, `Invalid timezone: ${echo(name)}`);
  return zone;
}

function requireMoment(text: string, context: { now: number; zone: TimeZone }): Moment {
  const moment = parseTimestamp(text, context);
  if (moment !== undefined) return moment;
  const reason = text.length > maxTimestampLength ? `more than ${maxTimestampLength} characters` : text;
  throw new Refusal(400, `Could not parse timestamp: ${echo(reason)}`);
}

function echo(text: string): string {
  return text.length > maxEchoLength ? `${text.slice(0, maxEchoLength)}…` : text;
}
