import { isJsonObject } from '../../shared/json.ts';
import type { JsonObject } from '../../shared/json.ts';

/** What a backend says about its own failure, as far as it could be understood. */
export interface ErrorReport {
  message?: string | undefined;
  /** An HTTP status of 400 to 599. */
  status?: number | undefined;
  /** The parameter at fault. */
  param?: string | undefined;
  /** Whether it came as JSON, and not as a line of text. */
  isJson: boolean;
}

/** Problems of one validation error that are named; a schema can give hundreds. */
const maxProblems = 5;
const maxDepth = 4;

/**
 * Understands OpenAI's `{"error":{…}}`, the same in an array (Gemini), `{"error":"…"}` (Ollama), `{"detail":…}` (FastAPI),
 * `{"object":"error","message":…}` (vLLM, Mistral) and short plain text. HTML gives nothing, whatever its content type says.
 */
export function parseErrorReport(body: unknown, contentType: string): ErrorReport {
  const payload = typeof body === 'string' ? parseJson(body) : body;
  const whole: unknown = Array.isArray(payload) ? payload[0] : payload;
  if (!isJsonObject(whole)) return { message: typeof body === 'string' ? plainText(body, contentType) : undefined, isJson: false };
  const error = isJsonObject(whole['error']) ? whole['error'] : whole;
  const message = describe(error, maxDepth);
  return {
    message: message === undefined ? undefined : message + rawCause(error),
    status: toStatus(error),
    isJson: true,
    param: typeof error['param'] === 'string' && error['param'] !== '' ? error['param'] : undefined,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function plainText(text: string, contentType: string): string | undefined {
  const trimmed = text.trim();
  const isPlain = contentType === '' || contentType.startsWith('text/plain');
  return isPlain && trimmed !== '' && !trimmed.includes('<') && !/^[{[]/.test(trimmed) ? trimmed : undefined;
}

function describe(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (depth === 0) return undefined;
  if (Array.isArray(value)) {
    const problems = value.slice(0, maxProblems).flatMap((entry) => describe(entry, depth - 1) ?? []);
    return problems.length === 0 ? undefined : problems.join('; ');
  }
  if (!isJsonObject(value)) return undefined;
  if (Array.isArray(value['loc']) && typeof value['msg'] === 'string') {
    const place = value['loc'].filter((part) => typeof part === 'string' || typeof part === 'number');
    return `${place.join('.')}: ${value['msg']}`;
  }
  for (const key of ['message', 'detail', 'error', 'errors', 'msg', 'error_msg']) {
    const text = describe(value[key], depth - 1);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** OpenRouter says "Provider returned error" and puts the provider's own words beside it. */
function rawCause(error: JsonObject): string {
  const raw = isJsonObject(error['metadata']) ? error['metadata']['raw'] : undefined;
  return typeof raw === 'string' && raw !== '' && !raw.trimStart().startsWith('<') ? `: ${raw}` : '';
}

function toStatus(error: JsonObject): number | undefined {
  for (const value of [error['code'], error['status'], error['status_code']]) {
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600) return status;
  }
  const words = [error['type'], error['code'], error['status']].filter((value) => typeof value === 'string').join(' ');
  if (/rate_?limit|too_many_requests|resource_exhausted/i.test(words)) return 429;
  if (/authentication|permission|invalid_api_key|unauthorized|unauthenticated/i.test(words)) return 401;
  if (/invalid_?request|bad_?request|context_length|invalid_argument|badrequest/i.test(words)) return 400;
  return undefined;
}
