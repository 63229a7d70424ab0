import type { ChatMessage } from '../../core/chat/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { Lesson } from '../../core/models/lesson.ts';
import type { ModelRequest } from '../../core/models/model.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { hashOf } from '../remedies/hash-content.ts';
import type { Remedy } from '../remedies/remedy.ts';
import { reasoningItems } from './turn-items.ts';

/** Goes without encrypted reasoning where a model has none. */
export const includeRemedy: Remedy = {
  kinds: ['parameter'],
  maxRepeats: 1,
  recognise({ refusal, sent }) {
    const pointsAt = isRefusalOfRequest(refusal)
      ? /encrypted content is not supported|reasoning\.encrypted_content/i.exec(wordsOf(refusal))
      : null;
    if (pointsAt === null || sent.parameters['include'] === null) return undefined;
    const message = 'The model has no reasoning that could be sent back to it.';
    return { lesson: lessonAbout('include', '', message), pointsAt: pointsAt[0], rule: 'lossless' };
  },
  change: (request) => withParameters(request, { include: null }),
  concerns: ({ subject }, { parameters }) => subject === 'include' && !Array.isArray(parameters['include']),
};

/** OpenAI gives summaries of the reasoning only to organizations that it has verified. */
export const summaryRemedy: Remedy = {
  kinds: ['parameter'],
  maxRepeats: 1,
  recognise({ refusal, request, sent }) {
    const pointsAt = isRefusalOfRequest(refusal) ? /reasoning\.summary|reasoning summar(?:y|ies)/i.exec(wordsOf(refusal)) : null;
    if (pointsAt === null || 'summary' in reasoningOf(sent) || 'summary' in reasoningOf(request)) return undefined;
    const message = 'The backend refuses summaries of the reasoning; it is asked without.';
    return { lesson: lessonAbout('reasoning.summary', '', message), pointsAt: pointsAt[0] };
  },
  change: (request) => withParameters(request, { reasoning: { ...reasoningOf(request), summary: null } }),
  concerns: ({ subject }, request) =>
    subject === 'reasoning.summary' && request.parameters['reasoning_effort'] !== undefined && !('summary' in reasoningOf(request)),
};

/**
 * Goes without the reasoning of earlier turns where a backend cannot read it: it is encrypted for one organization, and refused where the items around it have
 * changed.
 */
export const reasoningRemedy: Remedy = {
  kinds: ['parameter'],
  maxRepeats: 1,
  recognise({ refusal, request, sent }) {
    if (!isRefusalOfRequest(refusal) && refusal.status !== 404) return undefined;
    const pointsAt = /encrypted[ _]content|\bof type 'reasoning'|\brs_\w+/i.exec(wordsOf(refusal));
    const content = contentOf(sent);
    if (pointsAt === null || content === undefined) return undefined;
    const message = 'The backend cannot read the earlier reasoning of this conversation; it is asked without.';
    return { lesson: lessonAbout(reasoningItems, contentOf(request) ?? content, message), pointsAt: pointsAt[0], rule: 'own' };
  },
  change: (request) => ({ ...request, messages: request.messages.map(withoutReasoning) }),
  concerns: ({ subject, content }, request) => subject === reasoningItems && content === contentOf(request),
};

function lessonAbout(subject: string, content: string, message: string): Lesson {
  return { kind: 'parameter', subject, change: 'left out', content, warning: { code: 'reasoning_unavailable', message } };
}

/** The oldest reasoning of a conversation identifies it in all its later requests. Undefined: it has none. */
function contentOf({ messages }: ModelRequest): string | undefined {
  const first = messages.find(hasReasoning)?.extra?.[reasoningItems];
  return first === undefined ? undefined : hashOf(first);
}

function hasReasoning({ role, extra }: ChatMessage): boolean {
  return role === 'assistant' && extra?.[reasoningItems] !== undefined;
}

function withoutReasoning(message: ChatMessage): ChatMessage {
  if (!hasReasoning(message)) return message;
  const { [reasoningItems]: _items, ...extra } = message.extra ?? {};
  return { ...message, extra };
}

function withParameters(request: ModelRequest, parameters: JsonObject): ModelRequest {
  return { ...request, parameters: { ...request.parameters, ...parameters } };
}

function reasoningOf({ parameters }: ModelRequest): JsonObject {
  return isJsonObject(parameters['reasoning']) ? parameters['reasoning'] : {};
}

function isRefusalOfRequest({ status }: GatewayError): boolean {
  return status === 400 || status === 422;
}

function wordsOf({ param, message }: GatewayError): string {
  return `${param ?? ''} ${message}`;
}
