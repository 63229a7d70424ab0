import { DateTime } from 'luxon';
import type { WallTime } from './moment.ts';

/** A timestamp as it was written: its date may be missing (`15:00`), and so may its offset. */
export interface WrittenTime {
  date: Pick<WallTime, 'year' | 'month' | 'day'> | undefined;
  clock: Pick<WallTime, 'hour' | 'minute' | 'second' | 'microsecond'>;
  /** Seconds east of UTC. */
  offsetSeconds: number | undefined;
}

/** `'out of range'`: the text has the form of a timestamp, but its numbers are invalid; it must not be parsed in any other way. */
type IsoReading = WrittenTime | 'out of range' | undefined;

type Groups = Record<string, string | undefined>;

/** Calendar, week and ordinal dates, extended and basic, and the year alone. Longer forms come first, and no digit may follow a match. */
const dateForms = [
  /^(?<year>\d{4})(?<separator>[-/.])(?<month>\d{1,2})\k<separator>(?<day>\d{1,2})(?!\d)/,
  /^(?<year>\d{4})-?W(?<week>\d{2})(?:-?(?<weekday>\d))?(?!\d)/i,
  /^(?<year>\d{4})(?<month>\d{2})(?<day>\d{2})(?!\d)/,
  /^(?<year>\d{4})-?(?<ordinal>\d{3})(?!\d)/,
  /^(?<year>\d{4})-(?<month>\d{2})(?!\d)/,
  /^(?<year>\d{4})(?!\d)/,
];

/** Extended (`15:04:05,5`), basic (`150405.5`), and an hour with AM or PM. */
const clockForms = [
  /^(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:[.,](?<fraction>\d+))?)? ?(?:(?<half>[ap])\.?m\.?)?$/i,
  /^(?<hour>\d{2})(?:(?<minute>\d{2})(?:(?<second>\d{2})(?:[.,](?<fraction>\d+))?)?)?$/,
  /^(?<hour>\d{1,2}) ?(?<half>[ap])\.?m\.?$/i,
];

const offsetForm = / ?(?:(?<zero>Z|UTC|GMT)|(?<sign>[+-])(?<hours>\d{2})(?::?(?<minutes>\d{2})(?::?(?<seconds>\d{2}))?)?)$/i;

/**
 * Parses ISO 8601 in every common form, and variants of it: a space or a comma instead of `T`, slashes or dots in a date that begins with the year,
 * AM and PM, `UTC` and `GMT`. A date alone is its midnight. Digits after the microsecond are dropped.
 * Expects single spaces. Undefined if the text has another form.
 */
export function parseIsoTimestamp(text: string): IsoReading {
  const datePart = matchFirst(dateForms, text);
  const rest = datePart === undefined ? text.replace(/^T/i, '') : text.slice(datePart[0].length);
  // Four or more digits without a separator are never a time of day.
  if (datePart === undefined && !/^(?:T|\d{1,2}:|\d{1,2} ?[ap])/i.test(text)) return undefined;

  const offsetPart = offsetForm.exec(rest);
  const clockText = (offsetPart === null ? rest : rest.slice(0, offsetPart.index)).replace(/^(?:T|, ?| )/i, '');
  const clockPart = clockText === '' ? undefined : matchFirst(clockForms, clockText);
  if (clockPart === undefined && (clockText !== '' || datePart === undefined)) return undefined;
  // A time directly after a date is not a known form; `20240601150405` is handled by `parseTimestamp`.
  if (clockPart !== undefined && datePart !== undefined && !/^[T, ]/i.test(rest)) return undefined;

  const date = datePart === undefined ? undefined : readDate(datePart.groups ?? {});
  const clock = readClock(clockPart?.groups ?? {});
  const offsetSeconds = readOffset(offsetPart?.groups ?? {});
  if (date === 'out of range' || clock === 'out of range' || offsetSeconds === 'out of range') return 'out of range';
  return { date, clock, offsetSeconds };
}

function matchFirst(forms: readonly RegExp[], text: string): RegExpExecArray | undefined {
  for (const form of forms) {
    const match = form.exec(text);
    if (match !== null) return match;
  }
  return undefined;
}

function readDate(groups: Groups): WrittenTime['date'] | 'out of range' {
  const year = Number(groups['year']);
  const date = toDate(year, groups);
  return year >= 1 && date.isValid ? { year: date.year, month: date.month, day: date.day } : 'out of range';
}

function toDate(year: number, groups: Groups): DateTime {
  const zone = { zone: 'utc' };
  if (groups['week'] !== undefined) return DateTime.fromISO(`${groups['year']}-W${groups['week']}-${groups['weekday'] ?? 1}`, zone);
  if (groups['ordinal'] !== undefined) return DateTime.fromObject({ year, ordinal: Number(groups['ordinal']) }, zone);
  return DateTime.fromObject({ year, month: Number(groups['month'] ?? 1), day: Number(groups['day'] ?? 1) }, zone);
}

function readClock(groups: Groups): WrittenTime['clock'] | 'out of range' {
  const hour = readHour(Number(groups['hour'] ?? 0), groups['half']?.toLowerCase());
  const clock = {
    minute: Number(groups['minute'] ?? 0),
    second: Number(groups['second'] ?? 0),
    microsecond: readMicrosecond(groups['fraction']),
  };
  const isMidnightAtEnd = hour === 24 && clock.minute + clock.second + clock.microsecond === 0;
  const isReal = hour !== undefined && (hour < 24 || isMidnightAtEnd) && clock.minute < 60 && clock.second < 60;
  return isReal ? { hour, ...clock } : 'out of range';
}

/** `12 AM` is midnight and `12 PM` noon. A redundant `PM` after a 24-hour time (`15:00 PM`) is accepted. */
function readHour(hour: number, half: string | undefined): number | undefined {
  if (half === undefined) return hour;
  if (hour > 12) return half === 'p' ? hour : undefined;
  if (hour === 0) return half === 'a' ? 0 : undefined;
  return (hour % 12) + (half === 'p' ? 12 : 0);
}

function readMicrosecond(fraction: string | undefined): number {
  return Number((fraction ?? '0').slice(0, 6).padEnd(6, '0'));
}

function readOffset(groups: Groups): number | undefined | 'out of range' {
  if (groups['zero'] !== undefined) return 0;
  if (groups['sign'] === undefined) return undefined;
  const [hours, minutes, seconds] = [Number(groups['hours']), Number(groups['minutes'] ?? 0), Number(groups['seconds'] ?? 0)];
  if (hours > 23 || minutes > 59 || seconds > 59) return 'out of range';
  return (groups['sign'] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds);
}
