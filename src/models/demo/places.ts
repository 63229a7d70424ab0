export interface Place {
  /** IANA time zone. */
  zone: string;
  /** As it was written, without accents. */
  text: string;
  index: number;
}

/** Names of places besides the cities that IANA names its zones after. */
const otherNames: Record<string, string> = {
  UTC: 'utc, gmt',
  'Asia/Tokyo': 'osaka, kyoto, japan',
  'Asia/Shanghai': 'beijing, china',
  'Asia/Seoul': 'korea',
  'Asia/Ho_Chi_Minh': 'ho chi minh city, hanoi, vietnam',
  'Asia/Kolkata': 'kolkata, mumbai, delhi, bangalore, india',
  'Asia/Kathmandu': 'kathmandu, nepal',
  'Europe/Berlin': 'munich, hamburg, cologne, frankfurt, germany',
  'Europe/Paris': 'france',
  'Europe/London': 'england, uk',
  'Europe/Rome': 'milan, italy',
  'Europe/Madrid': 'barcelona, spain',
  'Europe/Zurich': 'geneva, switzerland',
  'Europe/Kyiv': 'kyiv, ukraine',
  'America/New_York': 'boston, washington, miami',
  'America/Chicago': 'houston, dallas, texas',
  'America/Los_Angeles': 'san francisco, seattle, california',
  'America/Sao_Paulo': 'rio de janeiro, brazil',
};

/** Zones whose city is an ordinary word or a person's name are understood by their full name only, such as `Pacific/Easter`. */
const ordinaryWords = new Set(
  'adak casey center chatham christmas creston davis dawson easter jersey knox male midway nome norfolk oral palmer resolute reunion stanley troll wake'.split(
    ' ',
  ),
);

const zonesByName = new Map<string, string>();
for (const zone of Intl.supportedValuesOf('timeZone')) {
  const city = zone.slice(zone.lastIndexOf('/') + 1).toLowerCase();
  zonesByName.set(zone.toLowerCase(), zone);
  if (!ordinaryWords.has(city)) zonesByName.set(city.replaceAll('_', ' '), zone);
}
for (const [zone, names] of Object.entries(otherNames)) {
  zonesByName.set(zone.toLowerCase(), zone);
  for (const name of names.split(', ')) zonesByName.set(name, zone);
}
/** The longest name wins where several begin at the same place. */
const names = [...zonesByName.keys()].sort((one, other) => other.length - one.length).map((name) => name.replaceAll('+', '\\+'));
const anyName = new RegExp(`(?<![\\w/])(?:${names.join('|')})(?![\\w/])`, 'giu');

/** A question with more places is an attempt to keep the gateway busy. */
const maxPlaces = 16;

/** The places of a text, each with its time zone. */
export function findPlaces(text: string): Place[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{Mn}/gu, '');
  return [...plain.matchAll(anyName).take(maxPlaces)].flatMap(({ 0: name, index }) => {
    const zone = zonesByName.get(name.toLowerCase());
    return zone === undefined ? [] : [{ zone, text: name, index }];
  });
}
