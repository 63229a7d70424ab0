import { isJsonObject, ownValue, type JsonObject } from '../../../shared/json/json.ts';
import type { AssistantMessage, ChatMessage, ToolCall } from '../../../core/chat/chat.ts';
import type { Lesson } from '../../../core/models/lesson.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import { findWords, refusesRequest } from '../refusal-wordings.ts';
import type { Recognised, Refused, Remedy } from '../remedy.ts';

/** What a model misses of its earlier turns, and is given instead. */
type Missing = 'signature' | 'empty reasoning' | 'reasoning';

/**
 * Google documents this text for calls that have no signature because Gemini did not make them, or an older one did
 * (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
const signature = 'skip_thought_signature_validator';
const reasoning: Record<'empty reasoning' | 'reasoning', string> = { 'empty reasoning': '', reasoning: '(no longer known)' };

const aboutSignature = [
  /\bmissing (?:a |an |the |its )?['"`]?thought_?signature/i,
  /\bthought_?signatures?\b['"`]?[^.]{0,30}\b(?:missing|required|must be)\b/i,
];
/** DeepSeek and Kimi. */
const aboutReasoning = [
  /\breasoning_content\b['"`]?[^.]{0,60}\b(?:must be passed|missing|required|must not be empty|must be (?:set|provided|non-empty))/i,
  /\b(?:missing|requires?|without)\b[^.]{0,20}\breasoning_content\b/i,
];

/** For models that refuse their own calls without the reasoning that led to them, where nobody has kept it. */
export const thoughtsRemedy: Remedy = {
  kinds: ['thoughts'],
  maxRepeats: 3,
  reason: 'request_refused',
  recognise,
  change: (request, { change }) => ({ ...request, messages: request.messages.map((message) => complete(message, change as Missing)) }),
  concerns: ({ change }, request) => isMissing(request, change as Missing),
};

function recognise({ refusal, sent, made }: Refused): Recognised | undefined {
  if (!refusesRequest(refusal)) return undefined;
  const isEmptyRefused = made.some(({ change }) => change === 'empty reasoning');
  const candidates: readonly [Missing, readonly RegExp[]][] = [
    ['signature', aboutSignature],
    [isEmptyRefused ? 'reasoning' : 'empty reasoning', aboutReasoning],
  ];
  for (const [missing, wordings] of candidates) {
    const pointsAt = isMissing(sent, missing) ? findWords(refusal, wordings) : undefined;
    if (pointsAt !== undefined) return { lesson: lessonAbout(missing), pointsAt, rule: 'lossless' };
  }
  return undefined;
}

function lessonAbout(missing: Missing): Lesson {
  const message = 'The model wants back the reasoning of earlier calls, which is not known; a placeholder is sent.';
  const subject = missing === 'signature' ? 'signature' : 'reasoning';
  return { kind: 'thoughts', subject, change: missing, content: '', warning: { code: 'reasoning_missing', message } };
}

function isMissing({ messages }: ModelRequest, missing: Missing): boolean {
  return messages.some((message) => complete(message, missing) !== message);
}

function complete(message: ChatMessage, missing: Missing): ChatMessage {
  if (message.role !== 'assistant') return message;
  return missing === 'signature' ? withSignature(message) : withReasoning(message, reasoning[missing]);
}

/** Of calls that were made together, the first one has the signature. */
function withSignature(message: AssistantMessage): AssistantMessage {
  const [first, ...others] = message.toolCalls;
  if (first === undefined || isSigned(first.extra) || isSigned(message.extra)) return message;
  return { ...message, toolCalls: [sign(first), ...others] };
}

function isSigned(extra: JsonObject | undefined): boolean {
  return typeof googleOf(extra)['thought_signature'] === 'string';
}

function sign(call: ToolCall): ToolCall {
  const content = call.extra?.['extra_content'];
  const google = { ...googleOf(call.extra), thought_signature: signature };
  return { ...call, extra: { ...call.extra, extra_content: { ...(isJsonObject(content) && content), google } } };
}

function googleOf(extra: JsonObject | undefined): JsonObject {
  const content = extra && ownValue(extra, 'extra_content');
  const google = isJsonObject(content) ? ownValue(content, 'google') : undefined;
  return isJsonObject(google) ? google : {};
}

/** DeepSeek takes it with every turn of the model or with none, so turns without calls get it too. */
function withReasoning(message: AssistantMessage, placeholder: string): AssistantMessage {
  const kept = message.extra?.['reasoning_content'];
  if (typeof kept === 'string' && (kept !== '' || placeholder === '')) return message;
  return { ...message, extra: { ...message.extra, reasoning_content: placeholder } };
}
