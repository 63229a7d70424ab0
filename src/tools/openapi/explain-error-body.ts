import { isJsonObject, ownValue } from '../../core/json.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import { shortened } from './schema-keywords.ts';

/** Enough for a list of wrong fields; a stack trace or an error page tells a model nothing more. */
const messageCharacters = 2_000;
/** Where frameworks put their words, the most telling first (RFC 9457: `detail`, `title`). */
const wordKeys = ['detail', 'message', 'error_description', 'error', 'msg', 'title', 'errors', 'reason'];

const reasons: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** One sentence for the model: the status, and what the server says about it. `body` is the parsed JSON, the text, or nothing readable. */
export function explainErrorBody(status: number, body: JsonValue | undefined): string {
  const reason = reasons[status];
  const head = `HTTP ${status}${reason === undefined ? '' : ` ${reason}`}`;
  const words = body === undefined ? '' : wordsOf(body).trim();
  return words === '' ? head : `${head}: ${shortened(words, messageCharacters)}`;
}

function wordsOf(body: JsonValue): string {
  if (typeof body === 'string') return /^\s*</.test(body) ? titleOf(body) : body;
  if (Array.isArray(body)) return body.map(entryWords).join('; ');
  if (!isJsonObject(body)) return JSON.stringify(body);
  for (const key of wordKeys) {
    const value = ownValue(body, key);
    if (value === undefined || value === null || value === '' || typeof value === 'boolean' || typeof value === 'number') continue;
    const words = wordsOf(value);
    const fields = ownValue(body, 'errors');
    return key === 'errors' || !hasContent(fields)
      ? words
      : `${words} (${Array.isArray(fields) ? wordsOf(fields) : JSON.stringify(fields)})`;
  }
  return Object.keys(body).length === 0 ? '' : JSON.stringify(body);
}

function hasContent(value: JsonValue | undefined): value is JsonValue[] | JsonObject {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** FastAPI's `{loc: ["body", "timestamp"], msg: "Field required"}` → `body.timestamp: Field required`. */
function entryWords(entry: JsonValue): string {
  if (!isJsonObject(entry)) return wordsOf(entry);
  const { loc, msg } = entry;
  if (!Array.isArray(loc) || typeof msg !== 'string') return wordsOf(entry);
  return `${loc.map((step) => (typeof step === 'string' ? step : JSON.stringify(step))).join('.')}: ${msg}`;
}

/** An error page says what it says in its title. */
function titleOf(page: string): string {
  return /<title[^>]{0,200}>([^<]{1,500})/i.exec(page)?.[1]?.trim() ?? 'an HTML page without a title';
}
