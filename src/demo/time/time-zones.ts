import { IANAZone } from 'luxon';
import { timeZoneGroups } from './time-zone-names.ts';

/** A time zone, with the IANA spelling of its name. */
export interface TimeZone {
  name: string;
  /** Seconds east of UTC at an instant (seconds since 1970). Local mean times of the past have odd seconds. */
  offsetSecondsAt(epochSeconds: number): number;
  /** The abbreviation for an offset (`CEST`), or the offset as in the tz database if the zone has none (`-03`, `+0545`). */
  abbreviationFor(offsetSeconds: number): string;
}

const lettersByName = new Map(timeZoneGroups.flatMap(([letters, names]) => names.split(/\s+/).map((name) => [name, letters] as const)));
const listedByRuntime = new Set(Intl.supportedValuesOf('timeZone'));
const nameByLowerCase = new Map([...lettersByName.keys(), ...listedByRuntime].map((name) => [name.toLowerCase(), name]));

/** Every name, sorted by code unit. Names missing from this runtime's zone data are omitted. Takes about ten milliseconds. */
export function listTimeZones(): string[] {
  return [...nameByLowerCase.values()].filter((name) => listedByRuntime.has(name) || IANAZone.isValidZone(name)).sort();
}

/** Finds a zone by name, case-insensitively; offsets such as `+02:00` are not names. */
export function findTimeZone(name: string): TimeZone | undefined {
  const ianaName = nameByLowerCase.get(name.toLowerCase());
  if (ianaName === undefined) return undefined;
  const zone = IANAZone.create(ianaName);
  if (!zone.isValid) return undefined;
  return {
    name: ianaName,
    offsetSecondsAt: (epochSeconds) => Math.round(zone.offset(epochSeconds * 1000) * 60),
    abbreviationFor: (offsetSeconds) => abbreviationIn(lettersByName.get(ianaName) ?? '', offsetSeconds),
  };
}

/** `+0200`, or `+005328` if the offset has seconds; the separator goes between the parts. */
export function toOffsetText(offsetSeconds: number, separator: '' | ':'): string {
  const total = Math.abs(offsetSeconds);
  const parts = [Math.floor(total / 3600), Math.floor(total / 60) % 60];
  if (total % 60 !== 0) parts.push(total % 60);
  return (offsetSeconds < 0 ? '-' : '+') + parts.map((part) => String(part).padStart(2, '0')).join(separator);
}

function abbreviationIn(letters: string, offsetSeconds: number): string {
  const offset = toOffsetText(offsetSeconds, '');
  const words = letters.split(' ');
  const position = words.indexOf(offset);
  const abbreviation = position < 0 ? undefined : words[position + 1];
  return abbreviation ?? offset.replace(/^([+-]\d\d)00$/, '$1');
}
