import { IANAZone, type DateTime } from 'luxon';

/** Current names of zones that `Intl` lists under an older one (`Asia/Calcutta`), and UTC, which it leaves out. */
const currentNames = [
  'America/Argentina/Buenos_Aires',
  'America/Nuuk',
  'Asia/Ho_Chi_Minh',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Yangon',
  'Atlantic/Faroe',
  'Europe/Kyiv',
  'Pacific/Chuuk',
  'Pacific/Pohnpei',
  'UTC',
];
const names = new Set([...Intl.supportedValuesOf('timeZone'), ...currentNames]);
const nameByLowerCase = new Map(Array.from(names, (name) => [name.toLowerCase(), name]));

/** Every name, sorted by code unit. */
export function listTimeZones(): string[] {
  return [...names].sort();
}

/** The IANA spelling of a name in any case; undefined for other texts, such as the offset `+02:00`. */
export function findTimeZone(name: string): string | undefined {
  const listed = nameByLowerCase.get(name.toLowerCase());
  if (listed !== undefined) return listed;
  return /^[a-z]/i.test(name) && IANAZone.isValidZone(name) ? name : undefined;
}

/** `Intl` has an abbreviation only in the English of a country that uses it. */
const localesWithAbbreviations = ['en-US', 'en-GB', 'en-AU', 'en-IN', 'en-ZA'];
/** In English that `Intl` does not have. */
const otherAbbreviations: Record<string, string> = {
  'Asia/Hong_Kong': 'HKT',
  'Asia/Karachi': 'PKT',
  'Asia/Seoul': 'KST',
  'Asia/Shanghai': 'CST',
  'Asia/Tokyo': 'JST',
  'Europe/Moscow': 'MSK',
};

/** `CEST`; the offset, as in the tz database, for a zone without an abbreviation (`-03`, `+0545`). */
export function abbreviationOf(time: DateTime): string {
  const known = localesWithAbbreviations.map((locale) => time.setLocale(locale).offsetNameShort ?? '');
  const found = known.find((name) => /^[A-Z]+$/.test(name)) ?? otherAbbreviations[time.zoneName ?? ''];
  return found ?? time.toFormat('ZZZ').replace(/^([+-]\d\d)00$/, '$1');
}
