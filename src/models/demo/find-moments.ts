/** A point in time as somebody wrote it. */
export interface Moment {
  /** ISO 8601 where it could be made so, else as it was written. */
  value: string;
  text: string;
  start: number;
  end: number;
}

/** `2024-01-01`, `2024-06-01 12:00 PM`, `2024-01-01T12:00:00.5+02:00`. */
const dated = /\b\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?: ?[ap]\.?m\b\.?)?(?:Z|[+-]\d{2}:?\d{2}\b)?)?/giu;
/** `15:30`, `3 pm`, `3:30 p.m.`, `15 Uhr`, `15 Uhr 30`, `下午3点`, `15時30分`. */
const clock =
  /(?<![\d:T-])(?:(上午|下午|午前|午後|晚上|早上) ?)?(\d{1,2})(?:(?::(\d{2}))? ?(am|pm|a\.m\.|p\.m\.)(?![a-z])|:(\d{2})(?!\d)| ?uhr(?: (\d{2}))?|[点點時时](?![间間])(?:(\d{1,2})分)?)/giu;

/**
 * The points in time of a text, in order. A time of day alone is taken as that of the given day, since functions want a date.
 * @param today `YYYY-MM-DD`
 */
export function findMoments(text: string, today: string): Moment[] {
  const withDate = [...text.matchAll(dated)].map((match) => momentAt(match, isoDated(match[0])));
  const withoutDate = [...text.matchAll(clock)].flatMap((match) => {
    const time = timeOfDay(match);
    const isInside = withDate.some((moment) => match.index < moment.end && match.index + match[0].length > moment.start);
    return time === undefined || isInside ? [] : [momentAt(match, `${today}T${time}`)];
  });
  return [...withDate, ...withoutDate].sort((one, other) => one.start - other.start);
}

function momentAt(match: RegExpExecArray, value: string): Moment {
  return { value, text: match[0], start: match.index, end: match.index + match[0].length };
}

function isoDated(written: string): string {
  const half = /^(\d{4}-\d{2}-\d{2})[T ](\d{1,2}):(\d{2})(:\d{2})? ?([ap])/iu.exec(written);
  if (half === null) return written.replace(' ', 'T').replace(/T(\d):/u, 'T0$1:');
  const hour = toHour(Number(half[2]), half[5]?.toLowerCase() === 'p');
  return `${half[1]}T${String(hour).padStart(2, '0')}:${half[3]}${half[4] ?? ':00'}`;
}

function timeOfDay(match: RegExpExecArray): string | undefined {
  const [, part = '', hours, minutesOfHalf, half = '', minutesOfColon, minutesOfUhr, minutesOfSign] = match;
  const isLate = /^p/iu.test(half) || ['下午', '午後', '晚上'].includes(part);
  const isEarly = /^a/iu.test(half) || ['上午', '午前', '早上'].includes(part);
  const hour = isLate || isEarly ? toHour(Number(hours), isLate) : Number(hours);
  const minute = Number(minutesOfHalf ?? minutesOfColon ?? minutesOfUhr ?? minutesOfSign ?? 0);
  if (hour > 23 || minute > 59) return undefined;
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00`;
}

function toHour(hour: number, isLate: boolean): number {
  return (hour % 12) + (isLate ? 12 : 0);
}
