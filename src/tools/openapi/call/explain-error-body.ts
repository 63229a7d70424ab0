import { isContainer, isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { statusPhrases } from '../../../shared/status-phrases.ts';
import { shortened } from '../convert/schemas/schema-keywords.ts';
import { isNumber } from '../../../shared/json/exact-number.ts';

/** Enough for a list of wrong fields; a stack trace or an error page tells a model nothing more. */
const messageCharacters = 2_000;
/** Where frameworks put their message, the most informative first (RFC 9457: `detail`, `title`). */
const wordKeys = ['detail', 'message', 'error_description', 'error', 'msg', 'title', 'errors', 'reason'];
/** Where they name the field of one entry (RFC 9457 section 3, JSON:API) and say what is wrong with it. */
const fieldKeys = ['pointer', 'parameter', 'field', 'param', 'path', 'property', 'name'];
const saidKeys = ['msg', 'detail', 'message', 'reason', 'description', 'error'];
/** Where the cause is when the first message is only a heading: mcpo says `{message: "Unexpected error", error: "… Invalid timezone …"}`. */
const causeKeys = ['error', 'error_description', 'details', 'reason', 'description', 'cause', 'hint'];
/** At least three words: a word or two, like a reason phrase, say nothing new. */
const sentence = /\S\s+\S+\s+\S/;

const reasonPhrases = new Set(Object.values(statusPhrases));

/**
 * One sentence for the model: the status, what the server says about it, and when to come back. `body` is the parsed JSON, the text, or nothing
 * readable.
 */
export function explainErrorBody(status: number, body: JsonValue | undefined, retryAfter?: string): string {
  const reason = statusPhrases[status];
  const head = `HTTP ${status}${reason === undefined ? '' : ` ${reason}`}`;
  const words = body === undefined ? '' : wordsOf(body).trim();
  const said = words === '' ? head : `${head}: ${shortened(words, messageCharacters)}`;
  const time = retryAfter?.trim() ?? '';
  return time === '' ? said : `${said} (Retry-After: ${shortened(time, 100)})`;
}

function wordsOf(body: JsonValue): string {
  if (typeof body === 'string') return /^\s*</.test(body) ? titleOf(body) : body;
  if (Array.isArray(body)) return body.map(entryWords).join('; ');
  if (!isJsonObject(body)) return JSON.stringify(body);
  for (const key of wordKeys) {
    const value = ownValue(body, key);
    if (value === undefined || value === null || value === '' || typeof value === 'boolean' || isNumber(value)) continue;
    const words = withCause(wordsOf(value), body);
    const fields = ownValue(body, 'errors');
    return key === 'errors' || !hasContent(fields)
      ? words
      : `${words} (${Array.isArray(fields) ? wordsOf(fields) : JSON.stringify(fields)})`;
  }
  return Object.keys(body).length === 0 ? '' : JSON.stringify(body);
}

/** The message with its cause, unless that repeats it. */
function withCause(words: string, body: JsonObject): string {
  const cause = causeKeys
    .map((key) => ownValue(body, key))
    .find((said): said is string => typeof said === 'string' && sentence.test(said) && !reasonPhrases.has(said) && !words.includes(said));
  return cause === undefined || words.trim() === '' ? words : `${words.replace(/[.:]\s*$/, '')}: ${cause}`;
}

function hasContent(value: JsonValue | undefined): value is JsonValue[] | JsonObject {
  return isContainer(value) && Object.keys(value).length > 0;
}

/** FastAPI's `{loc: ["body", "timestamp"], msg: "Field required"}` → `body.timestamp: Field required`; others name the field in other words. */
function entryWords(entry: JsonValue): string {
  if (!isJsonObject(entry)) return wordsOf(entry);
  const { loc, source } = entry;
  const field = Array.isArray(loc) ? loc.map((step) => (typeof step === 'string' ? step : JSON.stringify(step))).join('.') : undefined;
  const pointed = fieldKeys.map((key) => ownValue(entry, key) ?? (isJsonObject(source) ? ownValue(source, key) : undefined));
  const name = field ?? pointed.find((found) => typeof found === 'string');
  const said = saidKeys.map((key) => ownValue(entry, key)).find((found) => typeof found === 'string');
  return typeof name === 'string' && name !== '' && said !== undefined ? `${name}: ${said}` : wordsOf(entry);
}

/** An error page says what it says in its title, an XML document in its message. */
function titleOf(page: string): string {
  const title =
    /<title[^>]{0,200}>([^<]{1,500})/i.exec(page)?.[1] ?? /<(?:\w{1,40}:)?(?:message|faultstring|detail)>([^<]{1,1000})/i.exec(page)?.[1];
  return title?.trim() ?? (/^\s*<\?xml/i.test(page) ? 'an XML document without a message' : 'an HTML page without a title');
}
