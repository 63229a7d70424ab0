import { GatewayError, OutboundError, UnreadableCallError, type ErrorCode, type OutboundFailure } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { readText, type OutboundResponse } from '../../core/outbound.ts';
import { findToolsRefusal } from '../../shared/refusals/tools-refusal.ts';
import type { SecretMask } from '../../shared/secrets/secret-mask.ts';
import { isContextOverflow } from './context-overflow.ts';
import { findUnreadableCall, messageInOwnField, type UnreadableCall } from './unreadable-call.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { parseJson } from '../../shared/json/parse-exactly.ts';

/** The most characters of a backend's message that are passed on. */
const maxMessage = 2_000;

/**
 * Converts a transport error to one that clients may see, without address or key. `within: 'answer'` (the default) is for response bodies; before the
 * headers, a closed connection means that the backend is unreachable.
 */
export function toUpstreamError(error: unknown, backendName: string, within: 'answer' | 'request' = 'answer'): GatewayError {
  if (error instanceof GatewayError) return error;
  const backend = `The model backend "${backendName}"`;
  if (!(error instanceof OutboundError)) return new GatewayError('upstream_error', `${backend} failed.`, { cause: error });
  const failure: OutboundFailure = error.failure === 'cut' && within === 'request' ? 'unreachable' : error.failure;
  switch (failure) {
    case 'unreachable':
      return new GatewayError('upstream_unreachable', `${backend} cannot be reached. Check that it runs and that its base URL is right.`, {
        cause: error,
      });
    case 'no_files':
      return new GatewayError(
        'upstream_unreachable',
        `${backend} was not asked, because the gateway may open no further connection. Try again; its operator has to raise the limit of open files (ulimit -n).`,
        { cause: error },
      );
    case 'timeout':
      return new GatewayError('upstream_timeout', `${backend} did not answer in time. Try again, or choose another model.`, {
        cause: error,
      });
    case 'cut':
      return new GatewayError('upstream_incomplete', `${backend} closed the connection before its answer was complete.`, { cause: error });
    case 'redirected':
      return new GatewayError('upstream_invalid_response', `${backend} redirects elsewhere. Set its final address as the base URL.`, {
        cause: error,
      });
    case 'denied':
      return new GatewayError(
        'upstream_unreachable',
        `${backend} is at an address that the gateway must not reach. Correct its base URL.`,
        { cause: error },
      );
    case 'invalid_request':
      return new GatewayError(
        'upstream_unreachable',
        `The request to the model backend "${backendName}" cannot be sent. Check its base URL, key and headers.`,
        {
          cause: error,
        },
      );
  }
}

/**
 * Reads the body of an error response (status 400 or above) and makes the error for the client. Secrets in the backend's message are redacted, and
 * HTML is never repeated.
 */
export async function readErrorResponse(response: OutboundResponse, backendName: string, mask: SecretMask): Promise<GatewayError> {
  const text = await readErrorText(response);
  const report = parseErrorReport(text, response.headers['content-type'] ?? '');
  const { status } = response;
  const retryAfter = cleanRetryAfter(mask.text(response.headers['retry-after'] ?? ''));
  return toGatewayError({ ...withoutSecrets(report, mask), status }, { backendName, retryAfter });
}

/** Makes the error for one that a backend reports in a response with status 200, such as `{"error": {…}}`: the object itself or the whole payload. */
export function toReportedError(payload: unknown, backendName: string, mask: SecretMask): GatewayError {
  return toGatewayError(withoutSecrets(parseErrorReport(payload, 'application/json'), mask), { backendName, retryAfter: undefined });
}

/**
 * Whether a message says that the model or the server does not support tools at all; complaints about one function or about `tool_choice` do not
 * count.
 */
export function isToolsUnsupported(message: string): boolean {
  return findToolsRefusal(message.slice(0, maxMessage)) !== undefined;
}

interface FaultContext {
  backendName: string;
  retryAfter: string | undefined;
}

function toGatewayError(report: ErrorReport, { backendName, retryAfter }: FaultContext): GatewayError {
  const { message, unreadableCall } = report;
  const status = isErrorStatus(report.status) ? report.status : undefined;
  const backend = `The model backend "${backendName}"`;
  if (status === 401 || status === 403) {
    const text = `${backend} refuses the gateway's credentials (HTTP ${status}). Check the key that is configured for it.`;
    return new GatewayError('upstream_auth_failed', text);
  }
  // Before anything is concluded about the request, of which the words of a model say nothing.
  if (unreadableCall !== undefined)
    return new UnreadableCallError(backendName, { said: message ?? 'it does not say why', ...unreadableCall });
  if (message !== undefined && isToolsUnsupported(message)) return new GatewayError('tools_unsupported', message);
  const answered = { ...(status !== undefined && { upstreamStatus: status }), ...(retryAfter !== undefined && { retryAfter }) };
  const details = { ...answered, ...(status !== undefined && { status }) };
  if (status === 429)
    return message === undefined
      ? new GatewayError('upstream_rate_limited', `${backend} gets too many requests. Try again later.`, details)
      : new GatewayError('upstream_rate_limited', message, { ...details, saidBy: backendName });
  if (status !== undefined && status < 500) {
    const param = report.param === undefined ? {} : { param: report.param };
    const code: ErrorCode = isContextOverflow(message ?? '', report.words ?? '') ? 'context_length_exceeded' : 'upstream_rejected';
    return new GatewayError(code, message ?? `${backend} refused the request (HTTP ${status}).`, { ...details, ...param });
  }
  if (message !== undefined && report.isJson) return new GatewayError('upstream_error', message, { ...details, saidBy: backendName });
  return new GatewayError('upstream_error', `${backend} failed${report.status === undefined ? '' : ` (HTTP ${report.status})`}.`, answered);
}

/** Only error statuses (RFC 9110, section 15) may become the status of the gateway's response. */
function isErrorStatus(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 600;
}

/** Even if the error body breaks off or stalls, the status is known, and that says more. */
async function readErrorText(response: OutboundResponse): Promise<string> {
  try {
    return (await readText(response.body, limits.upstreamErrorBytes)).text;
  } catch (error) {
    if (error instanceof OutboundError) return '';
    throw error;
  }
}

function withoutSecrets({ message, param, unreadableCall, ...report }: ErrorReport, mask: SecretMask): ErrorReport {
  const written = unreadableCall?.written;
  const text = message === undefined ? undefined : mask.text(message);
  return {
    ...report,
    message: text !== undefined && text.length > maxMessage ? `${text.slice(0, maxMessage)}…` : text,
    param: param === undefined ? undefined : mask.text(param),
    unreadableCall: written === undefined ? unreadableCall : { written: mask.text(written) },
  };
}

/** Seconds or an HTTP date (RFC 9110, section 10.2.3). */
function cleanRetryAfter(value: string | undefined): string | undefined {
  return value !== undefined && /^[\w ,:]{1,40}$/.test(value) ? value : undefined;
}

/** The parsed parts of a backend's error message. */
interface ErrorReport {
  message?: string | undefined;
  /** An HTTP status of 400 to 599. */
  status?: number | undefined;
  /** Its code, type and status, as far as they are words. */
  words?: string | undefined;
  /** The parameter at fault. */
  param?: string | undefined;
  /** Whether it was JSON, not plain text. */
  isJson: boolean;
  /** It is about a call that the model wrote. */
  unreadableCall?: UnreadableCall | undefined;
}

/** The most problems quoted from one validation error; there can be hundreds. */
const maxProblems = 5;
const maxReportDepth = 4;

/**
 * Reads OpenAI's `{"error":{…}}`, the same in an array (Gemini), `{"error":"…"}` (Ollama), `{"detail":…}` (FastAPI), `{"object":"error","message":…}`
 * (vLLM, Mistral) and short plain text. HTML is ignored, whatever its content type is.
 */
function parseErrorReport(body: unknown, contentType: string): ErrorReport {
  const payload = typeof body === 'string' ? parseJson(body) : body;
  const whole: unknown = Array.isArray(payload) ? payload[0] : payload;
  if (!isJsonObject(whole)) {
    const text = typeof body === 'string' ? plainText(body, contentType) : undefined;
    return { message: text, isJson: false, unreadableCall: findUnreadableCall(undefined, text) };
  }
  const error = isJsonObject(whole['error']) ? whole['error'] : whole;
  const message = describe(error, maxReportDepth) ?? messageInOwnField(error);
  const cause = rawCause(error);
  return {
    message: message === undefined || cause === undefined ? message : `${message}: ${cause}`,
    status: toStatus(error),
    words: wordsOf(error),
    isJson: true,
    unreadableCall: findUnreadableCall(error, message) ?? findInCause(cause),
    param: typeof error['param'] === 'string' && error['param'] !== '' ? error['param'] : undefined,
  };
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
    const path = value['loc'].filter((part) => typeof part === 'string' || typeof part === 'number');
    return `${path.join('.')}: ${value['msg']}`;
  }
  for (const key of ['message', 'detail', 'error', 'errors', 'msg', 'error_msg']) {
    const text = describe(value[key], depth - 1);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** OpenRouter reports "Provider returned error" and has the provider's own report in another field. */
function rawCause(error: JsonObject): string | undefined {
  const raw = isJsonObject(error['metadata']) ? error['metadata']['raw'] : undefined;
  return typeof raw === 'string' && raw !== '' && !raw.trimStart().startsWith('<') ? raw : undefined;
}

function findInCause(cause: string | undefined): UnreadableCall | undefined {
  if (cause === undefined) return undefined;
  const report = parseJson(cause);
  if (!isJsonObject(report)) return findUnreadableCall(undefined, cause);
  const error = isJsonObject(report['error']) ? report['error'] : report;
  return findUnreadableCall(error, describe(error, maxReportDepth));
}

function toStatus(error: JsonObject): number | undefined {
  for (const value of [error['code'], error['status'], error['status_code']]) {
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600) return status;
  }
  const words = wordsOf(error);
  // Anthropic's, which it reports within streams too.
  if (/overloaded_error/i.test(words)) return 529;
  if (/rate_?limit|too_many_requests|resource_exhausted/i.test(words)) return 429;
  if (/authentication|permission|invalid_api_key|unauthorized|unauthenticated/i.test(words)) return 401;
  if (/invalid_?request|bad_?request|context_length|invalid_argument|badrequest/i.test(words)) return 400;
  return undefined;
}

function wordsOf(error: JsonObject): string {
  return [error['type'], error['code'], error['status']].filter((value) => typeof value === 'string').join(' ');
}
