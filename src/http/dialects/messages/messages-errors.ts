import type { ErrorCode, GatewayError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { errorBody, type ErrorFormat } from '../../errors/error-handler.ts';
import { isForAnthropic } from './model-info.ts';

/** Anthropic's status of a server that has no room at the moment. */
const overloaded = 529;
const overloadedCodes: ReadonlySet<ErrorCode> = new Set(['overloaded', 'server_shutting_down']);
const typeByStatus: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  [overloaded]: 'overloaded_error',
};

function statusOf({ code, status }: GatewayError): number {
  return overloadedCodes.has(code) ? overloaded : status;
}

/** Codes on which Anthropic's SDKs act, by the field at fault. */
const codeByParam: ReadonlyMap<string | null, string> = new Map([['thread', 'thread_unsupported_request']]);

/** Anthropic's error body; further fields say what a run did before the error. Their SDKs show `error_code`. */
export function messagesErrorBody(error: GatewayError, requestId: string | undefined): JsonObject {
  const { code, param, progress } = error;
  const status = statusOf(error);
  const type = typeByStatus[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  const details = { error_code: codeByParam.get(param) ?? code, ...(param !== null && { param }) };
  return { type: 'error', error: { type, message: wordsForClients(error), details }, request_id: requestId ?? null, ...progress };
}

/** By these words Claude Code and Anthropic's SDKs know that the conversation has to be shortened; they look at no code. */
const promptTooLong = 'prompt is too long';

function wordsForClients({ code, message }: GatewayError): string {
  return code === 'context_length_exceeded' && !message.includes(promptTooLong) ? `${promptTooLong}: ${message}` : message;
}

export const messagesErrors: ErrorFormat = {
  body: (error, { id }) => messagesErrorBody(error, id),
  status: statusOf,
  headers: ({ id }) => ({ 'request-id': id }),
};

/** For routes that Anthropic and OpenAI have under one path. */
export const errorsOfVersion: ErrorFormat = {
  body: (error, request) => (isForAnthropic(request.headers) ? messagesErrors.body(error, request) : errorBody(error)),
  headers: (request) => ({ 'request-id': request.id }),
};
