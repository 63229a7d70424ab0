import type { TimeZone } from './time-zones.ts';
import { toOffsetText } from './time-zones.ts';

/** A point in time. Two numbers, because microseconds in one number are exact only until the year 2255. */
export interface Moment {
  /** Whole seconds since 1970-01-01T00:00:00Z. */
  epochSeconds: number;
  /** 0 to 999,999. */
  microsecond: number;
}

/** Date and time of day without a zone. Months and days from 1, hours from 0 to 23. */
export interface WallTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  microsecond: number;
}

/** A wall time with its offset from UTC. */
export interface LocalTime extends WallTime {
  epochSeconds: number;
  offsetSeconds: number;
  /** For example `CEST`, `UTC` or `-03`. */
  zoneAbbreviation: string;
}

/** The years 1 to 9999: four digits, and the range of Python's `datetime`. */
const earliestSeconds = Date.parse('0001-01-01T00:00:00Z') / 1000;
const latestSeconds = Date.parse('9999-12-31T23:59:59Z') / 1000;
const daySeconds = 86_400;

/** `milliseconds` since 1970, perhaps with a fraction. */
export function momentFromMilliseconds(milliseconds: number): Moment {
  const epochSeconds = Math.floor(milliseconds / 1000);
  return { epochSeconds, microsecond: Math.floor((milliseconds - epochSeconds * 1000) * 1000) };
}

export function isWithinYears(moment: Moment): boolean {
  return moment.epochSeconds >= earliestSeconds && moment.epochSeconds <= latestSeconds;
}

/**
 * The moment at which clocks with this offset, or in this zone, show `wall`; undefined for a time that no clock shows (31 June, 25:00).
 * 24:00 is the next midnight (ISO 8601-1:2019, 4.3.8.1).
 *
 * Daylight saving time makes two wall times special. In the hour that occurs twice when clocks go back, the later occurrence is meant; in the hour
 * that clocks skip, the offset before the gap applies, so that 02:30 becomes 03:30. Both are the smaller offset, standard time, as pytz chooses by
 * default.
 */
export function toMoment(wall: WallTime, place: TimeZone | number): Moment | undefined {
  const asUtc = secondsAsUtc(wall);
  if (asUtc === undefined) return undefined;
  const offsetSeconds = typeof place === 'number' ? place : offsetOfWallTime(asUtc, place);
  const moment = { epochSeconds: asUtc - offsetSeconds, microsecond: wall.microsecond };
  return isWithinYears(moment) ? moment : undefined;
}

/** What a clock with this offset shows. */
export function toWallTime(moment: Moment, offsetSeconds: number): WallTime {
  const date = new Date((moment.epochSeconds + offsetSeconds) * 1000);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    microsecond: moment.microsecond,
  };
}

export function toLocalTime(moment: Moment, zone: TimeZone): LocalTime {
  const { epochSeconds } = moment;
  const offsetSeconds = zone.offsetSecondsAt(epochSeconds);
  return { ...toWallTime(moment, offsetSeconds), epochSeconds, offsetSeconds, zoneAbbreviation: zone.abbreviationFor(offsetSeconds) };
}

/** As Python's `datetime.isoformat()`: microseconds only if they are not zero, and the offset if the time is aware. */
export function toIsoFormat(local: LocalTime, offset: 'with offset' | 'without offset'): string {
  const date = `${padded(local.year, 4)}-${padded(local.month)}-${padded(local.day)}`;
  const time = `${padded(local.hour)}:${padded(local.minute)}:${padded(local.second)}`;
  const fraction = local.microsecond === 0 ? '' : `.${padded(local.microsecond, 6)}`;
  return `${date}T${time}${fraction}${offset === 'with offset' ? toOffsetText(local.offsetSeconds, ':') : ''}`;
}

export function padded(value: number, width = 2): string {
  return String(value).padStart(width, '0');
}

function secondsAsUtc(wall: WallTime): number | undefined {
  const { year, month, day, hour, minute, second } = wall;
  if (minute > 59 || second > 59 || hour > 24 || (hour === 24 && minute + second + wall.microsecond > 0)) return undefined;
  const date = new Date(0);
  // Date.UTC maps the years 0 to 99 to 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have overflows into the next month.
  if (date.getUTCMonth() !== month - 1) return undefined;
  return date.getTime() / 1000 + hour * 3600 + minute * 60 + second;
}

/** Offsets change at most once in two days, so those of a day before and a day after are the only candidates. */
function offsetOfWallTime(asUtc: number, zone: TimeZone): number {
  const before = zone.offsetSecondsAt(asUtc - daySeconds);
  const after = zone.offsetSecondsAt(asUtc + daySeconds);
  const fitting = [before, after].filter((offset) => zone.offsetSecondsAt(asUtc - offset) === offset);
  return Math.min(...(fitting.length === 0 ? [before, after] : fitting));
}
