import type { FastifyRequest } from 'fastify';
import type { ChatRequest } from '../../../core/chat/chat.ts';

/** The key with which a client marks a request and its repetitions (`Idempotency-Key`, draft-ietf-httpapi-idempotency-key-header). */
export function repetitionKeyOf({ headers }: Pick<FastifyRequest, 'headers'>): Pick<ChatRequest, 'idempotencyKey'> {
  const key = headers['idempotency-key'];
  return typeof key === 'string' && key !== '' ? { idempotencyKey: key } : {};
}

/**
 * Whether the client says that it repeats a request, as OpenAI's and Anthropic's SDKs do. Their 0 says nothing: agents that repeat a request by calling
 * the SDK again send it with each attempt.
 */
export function saysRetry({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return Number(headers['x-stainless-retry-count']) > 0;
}
