import { ownValue } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';
import { findMoments } from './find-moments.ts';
import type { Moment } from './find-moments.ts';
import { findPlaces } from './find-places.ts';
import type { Place } from './find-places.ts';
import type { FunctionShape, Parameter } from './function-shape.ts';
import { objectOf, quotedTexts } from './question-words.ts';
import type { TimeFunctions } from './time-functions.ts';

export interface PlannedCall {
  name: string;
  args: JsonObject;
}

interface Asked {
  text: string;
  places: Place[];
  moments: Moment[];
  /** Now, ISO 8601 in UTC. */
  now: string;
}

const words = {
  zones: /\btime ?zones?\b|zeitzonen?|时区|時區|タイムゾーン|시간대/iu,
  elapsed:
    /\b(?:elapsed|between|difference|how long|since|until|duration|how many (?:seconds|minutes|hours|days))\b|zwischen|vergangen|wie lange|\bseit\b|\bbis\b|相差|间隔|間隔|经过|經過|多久|多少[天小秒分]|経過|から.{0,40}まで/iu,
  since: /\b(?:since|ago)\b|\bseit\b|以来|以來|至今|から/iu,
  until: /\b(?:until|till)\b|\bbis\b|距离|距離|还有|還有|まで/iu,
  parse: /\b(?:parse|normali[sz]e|standardi[sz]e|interpret)\b|normalisiere?|解析|标准化|標準化|规范化|規範化|パース|正規化/iu,
  convert: /\bconvert|\btranslate\b|\bin(?:to)? .{1,40}\btime\b|umrechne|\brechne|wandle|转换|轉換|换算|換算|换成|換成|変換|なおし|直し/iu,
  time: /\btimes?\b|o['’]?clock|\bclock\b|\bhour\b|\bdate\b|wie sp[äa]t|uhr|zeit\b|\bheure\b|\bhora\b|時間|时间|時刻|时刻|[几幾][点點]|何時|なんじ|시간|몇 ?시/iu,
  now: /\b(?:what|current|local|exact|right) (?:is )?(?:the )?(?:current |exact |local )*times?\b(?! ?(?:complexity|zones?|line|table))|\btime is it\b|\btime (?:right )?now\b|\btell me the time\b|\bcurrent (?:utc |local )?timestamp\b|wie sp[äa]t|wie ?viel uhr|uhrzeit|aktuelle zeit|[几幾][点點]|(?:现在|現在|当前|當前|目前|今).{0,6}(?:时间|時間|時刻|何時)|何時|시간|몇 ?시/iu,
  utc: /\b(?:utc|gmt)\b/iu,
  unknownPlace: /\b(?:in|at|for) (?:the )?(?!(?:ISO|JSON|XML|YAML|Unix|English|German|Chinese|Japanese)\b)\p{Lu}/u,
};

/**
 * What a question about time comes to. Undefined: it is not about time, or no function on offer fits it.
 * Empty: it is about the time at a place that is not known, and another function would only give a wrong time.
 */
export function planTimeCalls(question: string, functions: TimeFunctions, now: number): PlannedCall[] | undefined {
  const iso = new Date(now).toISOString();
  const asked = {
    text: question,
    places: findPlaces(question),
    moments: findMoments(question, iso.slice(0, 10)),
    now: `${iso.slice(0, 19)}Z`,
  };
  return (
    planList(asked, functions) ??
    planElapsed(asked, functions) ??
    planParse(asked, functions) ??
    planConvert(asked, functions) ??
    planPlaces(asked, functions) ??
    planNow(asked, functions)
  );
}

function planList({ text, places, moments }: Asked, { listZones }: TimeFunctions): PlannedCall[] | undefined {
  if (listZones === undefined || places.length > 0 || moments.length > 0 || !words.zones.test(text)) return undefined;
  return [{ name: listZones.name, args: {} }];
}

function planElapsed({ text, places, moments, now }: Asked, { elapsed }: TimeFunctions): PlannedCall[] | undefined {
  const [first, second] = moments;
  if (elapsed === undefined || first === undefined) return undefined;
  if (!words.elapsed.test(text) && (second === undefined || places.length > 0)) return undefined;
  const isSince = words.since.test(text);
  if (second === undefined && !isSince && !words.until.test(text)) return undefined;
  const start = second === undefined && !isSince ? now : first.value;
  const end = second?.value ?? (isSince ? now : first.value);
  const unit = elapsed.unit === undefined ? {} : unitOf(text, elapsed.unit);
  return [{ name: elapsed.shape.name, args: { [elapsed.start.name]: start, [elapsed.end.name]: end, ...unit } }];
}

const unitWords: [unit: string, word: RegExp][] = [
  ['seconds', /\bseconds?\b|sekunden?|秒/iu],
  ['minutes', /\bminutes?\b|minuten?|分钟|分鐘|何分/iu],
  ['hours', /\bhours?\b|stunden?|小时|小時|何時間/iu],
  ['days', /\bdays?\b|\btagen?\b|天|何日/iu],
  ['weeks', /\bweeks?\b|wochen?|周|週/iu],
];

/** Enum values of the function's own come first; its words may be `hour` or `HOURS`. */
function unitOf(text: string, unit: Parameter): JsonObject {
  const wanted = unitWords.find(([, word]) => word.test(text))?.[0];
  if (wanted === undefined) return {};
  const known = ownValue(unit.schema, 'enum');
  if (!Array.isArray(known)) return { [unit.name]: wanted };
  const value = known.find((entry) => typeof entry === 'string' && wanted.startsWith(entry.toLowerCase().replace(/s$/u, '')));
  return value === undefined ? {} : { [unit.name]: value };
}

function planParse({ text, places, moments }: Asked, { parse }: TimeFunctions): PlannedCall[] | undefined {
  if (parse === undefined || !words.parse.test(text)) return undefined;
  const [place] = places;
  // A time of day alone may belong to words such as "next friday", which the function reads better than these rules.
  const dated = moments.find((moment) => /\d{4}-/u.test(moment.text))?.text;
  const value = quotedTexts(text)[0] ?? dated ?? wordsForMoment(text.slice(0, place?.start));
  if (value === '') return undefined;
  const zone = parse.zone === undefined || place === undefined ? {} : { [parse.zone.name]: place.zone };
  return [{ name: parse.shape.name, args: { [parse.moment.name]: value, ...zone } }];
}

function wordsForMoment(text: string): string {
  return objectOf(text, ['parse', 'normalize', 'timestamp', 'date', 'time']).replace(/\s(?:in|at|for)$/iu, '');
}

function planConvert({ text, places, moments }: Asked, { convert }: TimeFunctions): PlannedCall[] | undefined {
  const [moment] = moments;
  if (convert === undefined || moment === undefined || places.length === 0) return undefined;
  if (places.length === 1 && !words.convert.test(text) && !words.time.test(text)) return undefined;
  const { from, to } = directionOf(text, places);
  return [{ name: convert.shape.name, args: { [convert.moment.name]: moment.value, [convert.from.name]: from, [convert.to.name]: to } }];
}

/** `to Tokyo from Berlin`: the words around a place decide, else the order. A single place is where the time goes, from UTC. */
function directionOf(text: string, places: readonly Place[]): { from: string; to: string } {
  const before = (place: Place): string => text.slice(Math.max(0, place.start - 12), place.start);
  const after = (place: Place): string => text.slice(place.end, place.end + 4);
  const isFrom = (place: Place): boolean =>
    /(?:\b(?:from|von|aus|vom)\s+|[从從由])$/iu.test(before(place)) || /^(?:時間)?から/u.test(after(place));
  const isTo = (place: Place): boolean =>
    /(?:\b(?:to|into|nach)\s+|[到成为為至])$/iu.test(before(place)) || /^(?:時間)?(?:に|へ)/u.test(after(place));
  const from = places.find(isFrom) ?? places.find((place) => !isTo(place) && (places.length > 1 || place.zone === 'UTC'));
  const to = places.find((place) => place !== from && isTo(place)) ?? places.find((place) => place !== from);
  return { from: from?.zone ?? 'UTC', to: to?.zone ?? 'UTC' };
}

function planPlaces({ text, places }: Asked, { inZone, utcNow }: TimeFunctions): PlannedCall[] | undefined {
  if (places.length === 0 || !words.time.test(text)) return undefined;
  const zones = [...new Set(places.map((place) => place.zone))];
  if (utcNow !== undefined && zones.length === 1 && zones[0] === 'UTC') return [{ name: utcNow.name, args: {} }];
  if (inZone === undefined) return undefined;
  return zones.map((zone) => inZoneCall(inZone, zone));
}

function inZoneCall({ shape, zone, format }: NonNullable<TimeFunctions['inZone']>, name: string): PlannedCall {
  const isFormatNeeded = format?.isRequired === true && ownValue(format.schema, 'default') === undefined;
  return { name: shape.name, args: { ...(isFormatNeeded ? { [format.name]: '%Y-%m-%d %H:%M:%S' } : {}), [zone.name]: name } };
}

function planNow({ text, moments }: Asked, { inZone, utcNow, localNow }: TimeFunctions): PlannedCall[] | undefined {
  if (moments.length > 0 || !words.now.test(text)) return undefined;
  const isUtc = words.utc.test(text);
  const plain: FunctionShape | undefined = isUtc ? (utcNow ?? localNow) : (localNow ?? utcNow);
  if (!isUtc && words.unknownPlace.test(text)) return [];
  if (plain !== undefined) return [{ name: plain.name, args: {} }];
  return inZone === undefined ? undefined : [inZoneCall(inZone, 'UTC')];
}
