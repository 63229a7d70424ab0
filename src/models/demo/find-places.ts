import { capitalNames, ordinaryWords, placeNames } from './place-names.ts';

export interface Place {
  /** IANA time zone. */
  zone: string;
  /** As it was written. */
  text: string;
  /** Where it stands in the text. */
  start: number;
  end: number;
}

const latin = /^[\p{Script=Latin}\d'’\- ]+$/u;
const zoneByLatinName = new Map<string, string>();
const zoneByOtherName: [name: string, zone: string][] = [];
for (const zone of Intl.supportedValuesOf('timeZone')) {
  const city = zone.slice(zone.lastIndexOf('/') + 1).toLowerCase();
  if (zone.includes('/') && !ordinaryWords.has(city)) zoneByLatinName.set(plainName(city.replaceAll('_', ' ')), zone);
}
for (const { zone, names } of placeNames) {
  for (const name of names) {
    if (latin.test(name)) zoneByLatinName.set(plainName(name), zone);
    else zoneByOtherName.push([name, zone]);
  }
}
zoneByOtherName.sort(([one], [other]) => other.length - one.length);
/** The longest names have three words; four leaves room. */
const mostWords = 4;
/** A question with more places is a list, and one with many more an attempt to keep the gateway busy. */
const mostPlaces = 16;

/** The places of a text in the order in which they stand there, each with its zone; the longest name wins where several overlap. */
export function findPlaces(text: string): Place[] {
  const found = [...zoneNames(text), ...latinNames(text), ...otherNames(text)];
  found.sort((one, other) => one.start - other.start || other.end - one.end);
  const places: Place[] = [];
  for (const place of found) if (place.start >= (places.at(-1)?.end ?? 0)) places.push(place);
  return places.slice(0, mostPlaces);
}

/** `Europe/Berlin`, `America/Argentina/Buenos_Aires`. */
function zoneNames(text: string): Place[] {
  const names = text.matchAll(/\b[A-Z][A-Za-z]+(?:\/[A-Z][\w+-]+){1,2}/gu).take(mostPlaces);
  return [...names].flatMap((match) =>
    isZone(match[0]) ? [{ zone: match[0], text: match[0], start: match.index, end: match.index + match[0].length }] : [],
  );
}

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function latinNames(text: string): Place[] {
  const words = [...text.matchAll(/[\p{Script=Latin}\p{M}]+(?:['’](?!s\b)[\p{Script=Latin}\p{M}]+)?/gu)];
  const places: Place[] = [];
  for (let index = 0; index < words.length; index++) {
    const place = longestNameAt(words, { index, text });
    if (place !== undefined) places.push(place);
  }
  return places;
}

function longestNameAt(words: readonly RegExpExecArray[], { index, text }: { index: number; text: string }): Place | undefined {
  const start = words[index]?.index ?? 0;
  for (let count = Math.min(mostWords, words.length - index); count > 0; count--) {
    const last = words[index + count - 1];
    const end = last === undefined ? start : last.index + last[0].length;
    const written = text.slice(start, end);
    const name = plainName(written);
    const zone = zoneByLatinName.get(name);
    if (zone === undefined || (capitalNames.has(name) && written !== written.toUpperCase())) continue;
    return { zone, text: written, start, end };
  }
  return undefined;
}

/** `São  Paulo` → `sao paulo`, `St. Petersburg` → `st petersburg`. */
function plainName(written: string): string {
  return written
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll('’', "'")
    .replaceAll('.', '')
    .replace(/[\s-]+/gu, ' ')
    .toLowerCase();
}

function otherNames(text: string): Place[] {
  return zoneByOtherName.flatMap(([name, zone]) => {
    const start = text.indexOf(name);
    return start < 0 ? [] : [{ zone, text: name, start, end: start + name.length }];
  });
}
