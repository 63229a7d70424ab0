import type { Component, ParsedComponents } from 'chrono-node';
import { casual } from 'chrono-node/en';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { findPlaces, type Place } from './places.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

/** What a question holds that a function can be chosen by and an argument be filled with. */
export interface Question {
  /** As it was asked, with single spaces. */
  text: string;
  /** The same with the words of other languages that the demo model knows in English. */
  english: string;
  /** The stems of the words that carry a meaning. */
  words: ReadonlySet<string>;
  places: Place[];
  /** Points in time in ISO 8601, without an offset where none was given. */
  moments: string[];
  numbers: number[];
  emails: string[];
  quoted: string[];
  /** A JSON object holds arguments by their names. */
  object: JsonObject;
}

/** What people say, in the words of functions. The Chinese and Japanese ones are those of the demonstration (`npm run demo`). */
const phrasings: [said: RegExp, meant: string][] = [
  [/東京|东京/gu, ' Tokyo '],
  [/大阪/gu, ' Osaka '],
  [/北京/gu, ' Beijing '],
  [/[几幾][点點]|何時/gu, ' current time '],
  [/時間|时间/gu, ' time '],
  [/現在|现在|當前|当前/gu, ' current '],
  [/\bwhat time\b|\bthe time(?= in\b|[?.]|$)/giu, 'current time'],
  [/\b(?=how long\b|since\b|until\b|how many (?:second|minute|hour|day)s\b)/giu, 'elapsed '],
];

/** @param now milliseconds since 1970, for times of day, `tomorrow` and "since" */
export function readQuestion(question: string, now: number): Question {
  const text = question.replaceAll(/\s+/gu, ' ').trim();
  const english = phrasings.reduce((translated, [said, meant]) => translated.replaceAll(said, meant), text);
  const places = findPlaces(english);
  const words = wordsOf(english);
  // A time without a place is that of here.
  if (places.length === 0 && words.has(stem('time'))) words.add('local');
  const dates = findDates(english, now);
  const withoutDates = dates.reduce((rest, date) => rest.replace(date.text, ' '), english);
  return {
    text,
    english,
    words,
    places,
    moments: withNow(
      dates.flatMap((date) => date.moments),
      english,
      now,
    ),
    numbers: [...withoutDates.matchAll(/(?<![\w.])-?\d{1,15}(?:\.\d{1,15})?(?!\w)/gu)].map(([digits]) => Number(digits)),
    emails: text.match(/[^\s@<>"]{1,64}@[^\s@<>"]{1,200}\w/gu) ?? [],
    quoted: [...text.matchAll(/"([^"]{1,2000})"|“([^“”]{1,2000})”|「([^「」]{1,2000})」/gu)].map((match) => match.slice(1).join('')),
    object: jsonIn(text),
  };
}

/** chrono's patterns need time that grows faster than the text. */
const datedCharacters = 200;

function findDates(english: string, now: number): { text: string; moments: string[] }[] {
  const found = casual.parse(english.slice(0, datedCharacters), { instant: new Date(now), timezone: 0 });
  return found
    .filter(({ text }) => text.toLowerCase() !== 'now')
    .map(({ text, start, end }) => ({ text, moments: [start, ...(end ? [end] : [])].map((part) => toIso(part)) }));
}

function toIso(parts: ParsedComponents): string {
  if (parts.isCertain('timezoneOffset')) return toUtc(parts.date());
  const digits = (name: Component, width = 2): string => String(parts.get(name) ?? 0).padStart(width, '0');
  const date = `${digits('year', 4)}-${digits('month')}-${digits('day')}`;
  return parts.isCertain('hour') ? `${date}T${digits('hour')}:${digits('minute')}:${digits('second')}` : date;
}

function toUtc(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** `since yesterday` and `from yesterday until now` end now, and `until 2030` begins now. */
function withNow(moments: string[], english: string, now: number): string[] {
  const present = toUtc(new Date(now));
  if (moments.length !== 1) return moments;
  if (/\bsince\b|\b(?:until|till|to) now\b/iu.test(english)) return [...moments, present];
  return /\buntil\b/iu.test(english) ? [present, ...moments] : moments;
}

function jsonIn(text: string): JsonObject {
  try {
    const value: unknown = parseExactly(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

const stopWords = new Set(
  (
    'a an and any are as at be by can could do does find for from get give has have how i in into is it its me my no not of on or please return ' +
    'returns show tell than that the their them then there these they this those to use want was were what when where which who will with would you your'
  ).split(' '),
);

/** The words of a text that carry its meaning, in their stems. */
export function wordsOf(text: string): Set<string> {
  const words = (text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []).filter((word) => !stopWords.has(word));
  return new Set(words.map((word) => stem(word)));
}

/** `searches`, `searched` and `searching` are one word. */
export function stem(word: string): string {
  return word.length < 4 ? word : word.replace(/(?:ing|ed|es|s|e)$/u, '');
}
