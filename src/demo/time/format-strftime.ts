import { DateTime } from 'luxon';
import type { LocalTime } from './moment.ts';
import { padded } from './moment.ts';
import { toOffsetText } from './time-zones.ts';

/** Directives that are short for others, in the C locale. */
const shorthands: Record<string, string> = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  h: '%b',
  r: '%I:%M:%S %p',
  R: '%H:%M',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

/** Directives that luxon has a token for. */
const tokens: Record<string, string> = {
  A: 'cccc',
  a: 'ccc',
  B: 'LLLL',
  b: 'LLL',
  d: 'dd',
  G: 'kkkk',
  g: 'kk',
  H: 'HH',
  I: 'hh',
  j: 'ooo',
  M: 'mm',
  m: 'LL',
  p: 'a',
  S: 'ss',
  u: 'c',
  V: 'WW',
  y: 'yy',
};

type Directive = (local: LocalTime, date: DateTime) => string | number;
const others: Record<string, Directive> = {
  C: ({ year }) => padded(Math.floor(year / 100)),
  e: ({ day }) => String(day).padStart(2),
  f: ({ microsecond }) => padded(microsecond, 6),
  k: ({ hour }) => String(hour).padStart(2),
  l: (_local, date) => date.toFormat('h').padStart(2),
  n: () => '\n',
  P: ({ hour }) => (hour < 12 ? 'am' : 'pm'),
  s: ({ epochSeconds }) => epochSeconds,
  t: () => '\t',
  U: (_local, { ordinal, weekday }) => padded(Math.floor((ordinal + 6 - (weekday % 7)) / 7)),
  W: (_local, { ordinal, weekday }) => padded(Math.floor((ordinal + 7 - weekday) / 7)),
  w: (_local, { weekday }) => weekday % 7,
  Y: ({ year }) => year,
  Z: ({ zoneAbbreviation }) => zoneAbbreviation,
  z: ({ offsetSeconds }) => toOffsetText(offsetSeconds, ''),
  ':z': ({ offsetSeconds }) => toOffsetText(offsetSeconds, ':'),
  '%': () => '%',
};

/**
 * Python's `strftime` in the C locale, with the additions of the C library that Python programs rely on (`%e`, `%k`, `%s`, `%-d`, …).
 * Source: the tables of the Python library reference, "strftime() and strptime() Format Codes", and strftime(3).
 * Unknown directives are copied unchanged.
 */
export function formatStrftime(format: string, local: LocalTime): string {
  const { year, month, day, hour, minute, second } = local;
  const date = DateTime.utc(year, month, day, hour, minute, second, { locale: 'en-US' });
  // `%-f` is missing on purpose: Python copies it unchanged.
  return format.replace(/%(?:-?[A-Za-eg-z%]|f|:z)/g, (written) => {
    const directive = written.replace(/^%-?/, '');
    const shorthand = shorthands[directive];
    if (shorthand !== undefined) return formatStrftime(shorthand, local);
    const token = tokens[directive];
    const text = token === undefined ? others[directive]?.(local, date) : date.toFormat(token);
    if (text === undefined) return written;
    // Without padding: removes leading zeros and spaces, but keeps a final zero.
    return written.startsWith('%-') ? String(text).replace(/^[0 ]+(?=\d)/, '') : String(text);
  });
}
