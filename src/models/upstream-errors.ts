import { GatewayError, OutboundError } from '../core/errors.ts';
import type { OutboundFailure } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { readText } from '../core/outbound.ts';
import type { OutboundResponse } from '../core/outbound.ts';
import { findToolsRefusal } from '../shared/tools-refusal.ts';
import type { SecretMask } from '../shared/secrets/secret-mask.ts';
import { parseErrorReport } from './openai/parse-error-report.ts';
import type { ErrorReport } from './openai/parse-error-report.ts';

/** Characters of an upstream message that are passed on. */
const maxMessage = 2_000;

/**
 * What went wrong on the way to a backend, in a client's words: no address and no key.
 * `within: 'answer'` (the default) is for bodies; before the headers a cut connection means that nothing answered.
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
    case 'timeout':
      return new GatewayError('upstream_timeout', `${backend} did not answer in time.`, { cause: error });
    case 'cut':
      return new GatewayError('upstream_incomplete', `${backend} closed the connection before its answer was complete.`, { cause: error });
    case 'redirected':
      return new GatewayError('upstream_invalid_response', `${backend} redirects elsewhere. Set its final address as the base URL.`, {
        cause: error,
      });
    case 'denied':
      return new GatewayError('upstream_unreachable', `${backend} is at an address that may not be reached from here.`, { cause: error });
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
 * The error behind an answer with a status of 400 or more; reads its body. Secrets found in the backend's words are masked, HTML is never repeated.
 */
export async function answerFault(response: OutboundResponse, backendName: string, mask: SecretMask): Promise<GatewayError> {
  const text = await readErrorText(response);
  const report = parseErrorReport(text, response.headers['content-type'] ?? '');
  const { status } = response;
  const retryAfter = cleanRetryAfter(mask.text(response.headers['retry-after'] ?? ''));
  return toGatewayError({ ...withoutSecrets(report, mask), status }, { backendName, retryAfter });
}

/** The error that a backend reports within an answer of status 200, such as `{"error": {…}}`: the object itself or the whole payload. */
export function reportedFault(payload: unknown, backendName: string, mask: SecretMask): GatewayError {
  return toGatewayError(withoutSecrets(parseErrorReport(payload, 'application/json'), mask), { backendName, retryAfter: undefined });
}

/** Whether a backend says that the model or the server has no tool calls at all; complaints about one function or `tool_choice` are not meant. */
export function isToolsUnsupported(message: string): boolean {
  return findToolsRefusal(message.slice(0, maxMessage)) !== undefined;
}

interface FaultPlace {
  backendName: string;
  retryAfter: string | undefined;
}

function toGatewayError(report: ErrorReport, { backendName, retryAfter }: FaultPlace): GatewayError {
  const { message } = report;
  const status = isErrorStatus(report.status) ? report.status : undefined;
  const backend = `The model backend "${backendName}"`;
  if (status === 401 || status === 403) {
    const text = `${backend} refuses the gateway's credentials (HTTP ${status}). Check the key that is configured for it.`;
    return new GatewayError('upstream_auth_failed', text);
  }
  if (message !== undefined && isToolsUnsupported(message)) return new GatewayError('tools_unsupported', message);
  const details = { ...(status === undefined ? {} : { status }), ...(retryAfter === undefined ? {} : { retryAfter }) };
  if (status === 429)
    return new GatewayError('upstream_rate_limited', message ?? `${backend} is asked too often. Try again later.`, details);
  if (status !== undefined && status < 500) {
    const param = report.param === undefined ? {} : { param: report.param };
    return new GatewayError('upstream_rejected', message ?? `${backend} refused the request (HTTP ${status}).`, { ...details, ...param });
  }
  if (message !== undefined && report.isJson) return new GatewayError('upstream_error', message, details);
  return new GatewayError('upstream_error', `${backend} failed${report.status === undefined ? '' : ` (HTTP ${report.status})`}.`);
}

/** Anything else is no status of an HTTP error (RFC 9110, section 15) and must not become that of our own reply. */
function isErrorStatus(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 600;
}

/** An error page that breaks off or stalls still has a status, which says more than the broken page. */
async function readErrorText(response: OutboundResponse): Promise<string> {
  try {
    return (await readText(response.body, limits.upstreamErrorBytes)).text;
  } catch (error) {
    if (error instanceof OutboundError) return '';
    throw error;
  }
}

function withoutSecrets({ message, param, ...report }: ErrorReport, mask: SecretMask): ErrorReport {
  const text = message === undefined ? undefined : mask.text(message);
  return {
    ...report,
    message: text !== undefined && text.length > maxMessage ? `${text.slice(0, maxMessage)}…` : text,
    param: param === undefined ? undefined : mask.text(param),
  };
}

/** Seconds or an HTTP date (RFC 9110, section 10.2.3). */
function cleanRetryAfter(value: string | undefined): string | undefined {
  return value !== undefined && /^[\w ,:]{1,40}$/.test(value) ? value : undefined;
}
