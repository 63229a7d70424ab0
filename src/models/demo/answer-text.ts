import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import type { ToolResultText } from './read-conversation.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

/** Characters of one value that are quoted. */
const longestValue = 300;
const maxFields = 8;
const maxEntries = 5;

/** One short sentence for each result, with its values as they are. */
export function answerResults(results: readonly ToolResultText[]): string {
  return `Demo model: ${results.map((result) => sentence(result)).join(' ')}`;
}

function sentence({ name, args, text }: ToolResultText): string {
  const value = parse(text);
  const failure = isJsonObject(value) ? errorOf(value) : undefined;
  if (failure !== undefined) return `${name} failed: ${ended(failure)}`;
  const given = fieldsOf(args).map(([key, argument]) => `${key} ${short(argument)}`);
  return `${name} says ${ended(describe(value) + (given.length === 0 ? '' : ` (${given.join(', ')})`))}`;
}

/** A sentence is over where it says so itself. */
function ended(text: string): string {
  return /[.!?。！？…]$/u.test(text) ? text : `${text}.`;
}

function parse(text: string): JsonValue {
  try {
    return parseExactly(text) as JsonValue;
  } catch {
    return text;
  }
}

/** `{"error": "…"}`, `{"error": {"message": "…"}}`. */
function errorOf(value: JsonObject): string | undefined {
  const error = ownValue(value, 'error');
  if (error === undefined || error === null || error === false) return undefined;
  const message = isJsonObject(error) ? ownValue(error, 'message') : undefined;
  return short(typeof message === 'string' ? message : error);
}

function describe(value: JsonValue): string {
  if (Array.isArray(value)) return listed(value);
  if (!isJsonObject(value)) return short(value);
  const shown = fieldsOf(value).map(([key, field]) => `${key} = ${Array.isArray(field) ? listed(field) : short(field)}`);
  const more = Object.keys(value).length - shown.length;
  return shown.length === 0 ? 'nothing' : shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function fieldsOf(value: JsonObject): [key: string, field: JsonValue][] {
  return Object.entries(value)
    .slice(0, maxFields)
    .map(([key, field]) => [key, field ?? null]);
}

function listed(list: readonly JsonValue[]): string {
  if (list.length === 0) return 'an empty list';
  const shown = list.slice(0, maxEntries).map((entry) => short(entry));
  return `${list.length} ${list.length === 1 ? 'entry' : 'entries'}: ${shown.join(', ')}${list.length > maxEntries ? ', …' : ''}`;
}

function short(value: JsonValue): string {
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/gu, ' ').trim();
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}

/** Functions that are named in an answer; more would be a list and no help. */
const maxNames = 8;

/** What the demo model says when no function fits: what it is, what it can do, and what to do for more. */
export function answerQuestion(question: string, offered: readonly string[]): string {
  return answerTask(question) ?? introduction(offered);
}

function introduction(offered: readonly string[]): string {
  const more = offered.length > maxNames ? ` and ${offered.length - maxNames} more` : '';
  const unfit = `None of the functions on offer fits this question: ${offered.slice(0, maxNames).join(', ')}${more}.`;
  return [
    "This is toolwharf's demo model: a few rules that choose functions and quote their results, not a language model.",
    offered.length > 0 ? unfit : 'Without functions it can look nothing up and change nothing.',
    ...(offered.length > 0 ? ['With the bundled time tools it answers, for example, "What time is it in Osaka and in Berlin?".'] : []),
    'For real answers connect a model: start Ollama, or set OPENAI_API_BASE_URLS and OPENAI_API_KEYS.',
  ].join(' ');
}

/** Words of a title. */
const titleWords = 6;

/** A hidden task (a title, tags, follow-up questions), answered as shortly as it is asked. */
function answerTask(question: string): string | undefined {
  const field = /"(title|tags|follow_ups|queries)"\s*:/u.exec(question)?.[1];
  if (!/^(?:### Task:|\s*(?:generate|create|write|suggest)\b)/iu.test(question)) return undefined;
  if (field === 'title') return JSON.stringify({ title: titleOf(question) });
  if (/\b(?:generate|create|write)\b.{0,40}\btitle\b/iu.test(question)) return titleOf(question);
  return field === undefined ? undefined : JSON.stringify({ [field]: field === 'tags' ? ['General'] : [] });
}

/** The first words of the first thing that a user said in the quoted chat. */
function titleOf(task: string): string {
  const chat = task.slice(Math.max(0, task.lastIndexOf('<chat_history>')));
  const said = /\bUSER: ?(?:""")?([^\n"]+)/u.exec(chat)?.[1] ?? '';
  const words = said.trim().split(/\s+/u).slice(0, titleWords).join(' ');
  return words === '' ? 'Demo chat' : words.slice(0, 60).replace(/[\s.,;:!?。！？]+$/u, '');
}
