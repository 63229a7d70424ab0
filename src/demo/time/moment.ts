import type { TimeZone } from './time-zones.ts';
import { toOffsetText } from './time-zones.ts';

/** A point in time. Two numbers, because one number of microseconds is exact only until the year 2255. */
export interface Moment {
  /** Whole seconds since 1970-01-01T00:00:00Z. */
  epochSeconds: number;
  /** 0 to 999,999. */
  microsecond: number;
}

/** What a clock and a calendar on the wall show. Months and days from 1, hours from 0 to 23. */
export interface WallTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  microsecond: number;
}

/** A wall time with the place it hangs in. */
export interface LocalTime extends WallTime {
  epochSeconds: number;
  offsetSeconds: number;
  /** `CEST`, `UTC`, `-03`. */
  zoneAbbreviation: string;
}

/** The years 1 to 9999, which is what four digits can write and what Python's `datetime` knows. */
const earliestSeconds = Date.parse('0001-01-01T00:00:00Z') / 1000;
const latestSeconds = Date.parse('9999-12-31T23:59:59Z') / 1000;
const daySeconds = 86_400;

/** `milliseconds` since 1970, with a fraction where the clock has one. */
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
 * Two wall times of a zone are special. The hour that happens twice, when clocks go back, is taken as the later one; the hour that clocks
 * skip is counted with the offset from before the gap, so that 02:30 becomes 03:30. In both cases the smaller offset applies: standard
 * time, which is also what pytz takes when it is not told otherwise.
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

/** As Python's `datetime.isoformat()`: six digits of a second where there are any, and the offset for an aware time. */
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
  // Date.UTC would move the years 0 to 99 into the twentieth century.
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have lands in another month.
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
