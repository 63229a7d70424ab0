import { DateTime } from 'luxon';
import type { LocalTime } from './moment.ts';
import { padded } from './moment.ts';
import { toOffsetText } from './time-zones.ts';

const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const monthNames = 'January February March April May June July August September October November December'.split(' ');

/** Directives that stand for others, in the C locale. */
const shorthands: Record<string, string> = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  r: '%I:%M:%S %p',
  R: '%H:%M',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

/**
 * Python's `strftime` in the C locale, with the additions of the C library that Python programs rely on (`%e`, `%k`, `%s`, `%-d`, …).
 * Source: the tables of the Python library reference, "strftime() and strptime() Format Codes", and strftime(3).
 * A directive that is none stays as it was written.
 */
export function formatStrftime(format: string, local: LocalTime): string {
  // `%-f` is missing on purpose: Python leaves it as it is.
  return format.replace(/%(?:-?[A-Za-eg-z%]|f|:z)/g, (written) => {
    const directive = written.replace(/^%-?/, '');
    const shorthand = Object.hasOwn(shorthands, directive) ? shorthands[directive] : undefined;
    if (shorthand !== undefined) return formatStrftime(shorthand, local);
    const text = formatDirective(directive, local);
    if (text === undefined) return written;
    // Without padding: leading zeros and blanks go, a last zero stays.
    return written.startsWith('%-') ? text.replace(/^[0 ]+(?=\d)/, '') : text;
  });
}

function formatDirective(directive: string, local: LocalTime): string | undefined {
  return formatDate(directive, local) ?? formatWeek(directive, local) ?? formatClock(directive, local);
}

function formatDate(directive: string, local: LocalTime): string | undefined {
  switch (directive) {
    case 'Y':
      return String(local.year);
    case 'C':
      return padded(Math.floor(local.year / 100));
    case 'y':
      return padded(local.year % 100);
    case 'm':
      return padded(local.month);
    case 'B':
      return monthNames[local.month - 1];
    case 'b':
    case 'h':
      return monthNames[local.month - 1]?.slice(0, 3);
    case 'd':
      return padded(local.day);
    case 'e':
      return String(local.day).padStart(2);
    case 'j':
      return padded(dayOfYear(local), 3);
    default:
      return undefined;
  }
}

function formatWeek(directive: string, local: LocalTime): string | undefined {
  const date = DateTime.utc(local.year, local.month, local.day);
  const weekday = date.weekday % 7;
  switch (directive) {
    case 'A':
      return dayNames[weekday];
    case 'a':
      return dayNames[weekday]?.slice(0, 3);
    case 'w':
      return String(weekday);
    case 'u':
      return String(date.weekday);
    case 'U':
      return padded(Math.floor((dayOfYear(local) + 6 - weekday) / 7));
    case 'W':
      return padded(Math.floor((dayOfYear(local) + 7 - date.weekday) / 7));
    case 'V':
      return padded(date.weekNumber);
    case 'G':
      return String(date.weekYear);
    case 'g':
      return padded(date.weekYear % 100);
    default:
      return undefined;
  }
}

function formatClock(directive: string, local: LocalTime): string | undefined {
  const hourOfHalf = local.hour % 12 === 0 ? 12 : local.hour % 12;
  switch (directive) {
    case 'H':
      return padded(local.hour);
    case 'k':
      return String(local.hour).padStart(2);
    case 'I':
      return padded(hourOfHalf);
    case 'l':
      return String(hourOfHalf).padStart(2);
    case 'p':
      return local.hour < 12 ? 'AM' : 'PM';
    case 'P':
      return local.hour < 12 ? 'am' : 'pm';
    case 'M':
      return padded(local.minute);
    case 'S':
      return padded(local.second);
    case 'f':
      return padded(local.microsecond, 6);
    case 's':
      return String(local.epochSeconds);
    case 'z':
      return toOffsetText(local.offsetSeconds, '');
    case ':z':
      return toOffsetText(local.offsetSeconds, ':');
    case 'Z':
      return local.zoneAbbreviation;
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '%':
      return '%';
    default:
      return undefined;
  }
}

function dayOfYear(local: LocalTime): number {
  return DateTime.utc(local.year, local.month, local.day).ordinal;
}
