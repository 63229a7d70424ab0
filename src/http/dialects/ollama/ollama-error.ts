import type { GatewayError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import type { ErrorFormat } from '../../errors/error-handler.ts';

/** Ollama's error: a text. Further fields say what a run did before it. */
export function ollamaError(error: GatewayError): JsonObject {
  return { error: error.message, ...error.progress };
}

export const ollamaErrors: ErrorFormat = { body: ollamaError };
