import type { Lesson } from '../../../core/models/lesson.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import { findWords, refusesRequest } from '../refusal-wordings.ts';
import type { Remedy } from '../remedy.ts';

/** Anthropic, Mistral, DeepSeek, Perplexity, Gemini, llama.cpp. */
const aboutLastMessage = [
  /\bprefill\b/i,
  /\bexpected last role\b[^.]{0,40}\buser\b/i,
  /\blast (?:message|turn)\b[^.]{0,60}\b(?:must|should|has to|needs to)\b[^.]{0,40}\buser\b/i,
  /\b(?:end|ends|ending) with (?:an? )?['"`]?user\b/i,
  /\bassistant messages at the end\b/i,
];

const lesson: Lesson = {
  kind: 'prefill',
  subject: 'prefill',
  change: 'asked',
  content: '',
  warning: { code: 'prefill_refused', message: 'The model does not continue its own message, so a new message asked it to.' },
};

/**
 * For models that do not continue a message of their own, as frontends ask them to. Mistral and DeepSeek take a mark on the message instead, but Mistral then
 * repeats the message, and DeepSeek has another address for it.
 */
export const prefillRemedy: Remedy = {
  kinds: ['prefill'],
  maxRepeats: 1,
  reason: 'request_refused',
  recognise({ refusal, sent }) {
    if (!refusesRequest(refusal) || !endsWithAnswer(sent)) return undefined;
    const pointsAt = findWords(refusal, aboutLastMessage);
    return pointsAt === undefined ? undefined : { lesson, pointsAt, rule: 'own' };
  },
  change: (request) => ({
    ...request,
    messages: [...request.messages, { role: 'user', content: 'Continue exactly where you stopped.' }],
  }),
  concerns: (_lesson, request) => endsWithAnswer(request),
};

function endsWithAnswer({ messages, completion }: ModelRequest): boolean {
  return completion === undefined && messages.at(-1)?.role === 'assistant';
}
