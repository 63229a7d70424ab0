import type { ChatMessage } from '../../core/chat/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { Lesson } from '../../core/models/lesson.ts';
import type { ModelRequest } from '../../core/models/model.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { hashOf } from '../remedies/hash-content.ts';
import type { Recognised, Refused, Remedy } from '../remedies/remedy.ts';
import { reasoningItems } from './turn-items.ts';

/** What is left out: the request for encrypted reasoning, the request for a summary, or the items of earlier turns. */
type Subject = 'encrypted' | 'summary' | 'items';

/**
 * Three refusals about reasoning. Models that do not reason refuse `include`. OpenAI gives summaries only to verified organizations. Reasoning
 * of earlier turns is encrypted for one organization, so another key cannot use it.
 */
export const keptReasoningRemedy: Remedy = {
  kinds: ['kept-reasoning'],
  maxRepeats: 3,
  reason: 'request_refused',
  recognise,
  change(request, { subject }) {
    switch (subject as Subject) {
      case 'encrypted':
        return withParameters(request, { include: null });
      case 'summary':
        return withParameters(request, { reasoning: { ...reasoningOf(request), summary: null } });
      case 'items':
        return { ...request, messages: request.messages.map(withoutReasoning) };
    }
  },
  concerns({ subject, content }, request) {
    if (subject === 'items') return content === firstReasoningOf(request);
    return subject === 'encrypted' ? !Array.isArray(request.parameters['include']) : asksForSummary(request);
  },
};

function recognise({ refusal, request, made }: Refused): Recognised | undefined {
  const { status } = refusal;
  if (status !== 400 && status !== 404 && status !== 422) return undefined;
  const words = wordsOf(refusal);
  const isLeft = (subject: Subject): boolean => !made.some((lesson) => lesson.kind === 'kept-reasoning' && lesson.subject === subject);
  const encrypted = /encrypted content is not supported|reasoning\.encrypted_content/i.exec(words)?.[0];
  if (encrypted !== undefined && isLeft('encrypted') && !Array.isArray(request.parameters['include']))
    return {
      lesson: lessonAbout('encrypted', 'The model has no reasoning that could be sent back to it.'),
      pointsAt: encrypted,
      rule: 'lossless',
    };
  const summary = /reasoning\.summary|reasoning summar(?:y|ies)/i.exec(words)?.[0];
  if (summary !== undefined && isLeft('summary') && asksForSummary(request))
    return { lesson: lessonAbout('summary', 'The backend refuses summaries of the reasoning; it is asked without.'), pointsAt: summary };
  const items = /encrypted[ _]content|\bof type 'reasoning'|\breasoning input items|\brs_\w+/i.exec(words)?.[0];
  const first = firstReasoningOf(request);
  if (items === undefined || first === undefined || !isLeft('items')) return undefined;
  const message = 'The backend cannot read the earlier reasoning of this conversation; it is asked without.';
  return { lesson: lessonAbout('items', message, first), pointsAt: items, rule: 'own' };
}

function lessonAbout(subject: Subject, message: string, content = ''): Lesson {
  return { kind: 'kept-reasoning', subject, change: 'left out', content, warning: { code: 'reasoning_unavailable', message } };
}

/** True if the gateway added the summary; one that the caller asked for is not left out. */
function asksForSummary(request: ModelRequest): boolean {
  return request.parameters['reasoning_effort'] !== undefined && !('summary' in reasoningOf(request));
}

/** A hash of the oldest reasoning, which is the same in all later requests of the conversation. */
function firstReasoningOf({ messages }: ModelRequest): string | undefined {
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

function wordsOf({ param, message }: GatewayError): string {
  return `${param ?? ''} ${message}`;
}
