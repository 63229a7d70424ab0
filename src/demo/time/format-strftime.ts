import type { DateTime } from 'luxon';
import { abbreviationOf } from './time-zones.ts';

/** Directives that luxon has a token for, or a format of several. */
const tokens: Record<string, string> = {
  A: 'cccc',
  a: 'ccc',
  B: 'LLLL',
  b: 'LLL',
  D: 'LL/dd/yy',
  d: 'dd',
  F: 'yyyy-LL-dd',
  G: 'kkkk',
  g: 'kk',
  H: 'HH',
  h: 'LLL',
  I: 'hh',
  j: 'ooo',
  M: 'mm',
  m: 'LL',
  p: 'a',
  R: 'HH:mm',
  r: 'hh:mm:ss a',
  S: 'ss',
  s: 'X',
  T: 'HH:mm:ss',
  u: 'c',
  V: 'WW',
  X: 'HH:mm:ss',
  x: 'LL/dd/yy',
  Y: 'y',
  y: 'yy',
  z: 'ZZZ',
  ':z': 'ZZ',
};

const others: Record<string, (time: DateTime) => string> = {
  C: ({ year }) => String(Math.floor(year / 100)).padStart(2, '0'),
  c: (time) => time.toFormat('ccc LLL ') + time.toFormat('d').padStart(2) + time.toFormat(' HH:mm:ss y'),
  e: ({ day }) => String(day).padStart(2),
  f: ({ millisecond }) => `${String(millisecond).padStart(3, '0')}000`,
  k: ({ hour }) => String(hour).padStart(2),
  l: (time) => time.toFormat('h').padStart(2),
  n: () => '\n',
  P: ({ hour }) => (hour < 12 ? 'am' : 'pm'),
  t: () => '\t',
  U: ({ ordinal, weekday }) => week(ordinal + 6 - (weekday % 7)),
  W: ({ ordinal, weekday }) => week(ordinal + 7 - weekday),
  w: ({ weekday }) => String(weekday % 7),
  Z: abbreviationOf,
  '%': () => '%',
};

const week = (days: number): string => String(Math.floor(days / 7)).padStart(2, '0');

/**
 * Python's `strftime` in the C locale, with the additions of the C library that Python programs rely on (`%e`, `%k`, `%s`, `%-d`, …).
 * Source: the tables of the Python library reference, "strftime() and strptime() Format Codes", and strftime(3).
 * Unknown directives are copied unchanged.
 */
export function formatStrftime(format: string, time: DateTime): string {
  const english = time.setLocale('en-US');
  // `%-f` is missing on purpose: Python copies it unchanged.
  return format.replace(/%(?:-?[A-Za-eg-z%]|f|:z)/g, (written) => {
    const directive = written.replace(/^%-?/, '');
    const token = tokens[directive];
    const text = token === undefined ? others[directive]?.(english) : english.toFormat(token);
    if (text === undefined) return written;
    // Without padding: removes leading zeros and spaces, but keeps a final zero.
    return written.startsWith('%-') ? text.replace(/^[0 ]+(?=\d)/, '') : text;
  });
}
