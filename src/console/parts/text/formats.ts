/** Formats times, sizes and numbers for the locale of the browser. Undefined and null become a dash. */

const dash = '–';
const number = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });

export function formatNumber(value: number | null | undefined): string {
  return value === undefined || value === null ? dash : number.format(value);
}

/** 12.3K. */
export function formatShort(value: number | null | undefined): string {
  return value === undefined || value === null ? dash : short.format(value);
}

export function formatDateTime(value: string | number | null | undefined): string {
  return value === undefined || value === null ? dash : dateTime.format(new Date(value));
}

export function formatDate(value: string | number | null | undefined): string {
  return value === undefined || value === null ? dash : date.format(new Date(value));
}

/** A day in UTC, such as `2026-11-23`, wherever this browser is. */
export function formatDay(value: string): string {
  return day.format(new Date(value));
}

/** The same without the year. */
export function formatShortDay(value: string): string {
  return dayAndMonth.format(new Date(value));
}

export function formatClock(value: string | number): string {
  return clock.format(new Date(value));
}

const units: [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** 2 min ago. */
export function formatAgo(value: string | number, now = Date.now()): string {
  const seconds = Math.round((new Date(value).getTime() - now) / 1000);
  const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return relative.format(Math.round(seconds / length), unit);
}

/** 840 ms, 2.4 s, 3 min 20 s. */
export function formatDuration(milliseconds: number | null | undefined): string {
  if (milliseconds === undefined || milliseconds === null) return dash;
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

const byteUnits: [unit: string, size: number][] = [
  ['kB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
];

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === undefined || bytes === null) return dash;
  if (bytes < 1_000) return `${bytes} B`;
  const [unit, size] = byteUnits.find(([, size]) => bytes < 1_000 * size) ?? ['TB', 1e12];
  return `${number.format(Number((bytes / size).toPrecision(3)))} ${unit}`;
}

/** `3 functions`. */
export function formatCount(count: number, one: string, several = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : several}`;
}
