import type { Lesson } from '../../../core/models/lesson.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import { findWords } from '../refusal-wordings.ts';
import type { Remedy } from '../remedy.ts';

/** Anthropic, Bedrock and proxies in front of them. */
const aboutMissingFunctions = [
  /\btool_?(?:use|result|calls?)\b.{0,80}\bmust (?:define|include|have|provide) tools\b/i,
  /\btoolConfig field must be defined\b/i,
  /\bwithout ['"`]?tools=?/i,
  /['"`]?\btools\b['"`]? (?:is|are|must be|has to be|have to be) (?:required|defined|provided|specified|set)\b/i,
];

const lesson: Lesson = {
  kind: 'withheld',
  subject: '',
  change: 'offered',
  content: '',
  warning: {
    code: 'functions_missed',
    message: 'The backend takes earlier calls only together with functions; these are sent, but may not be called.',
  },
};

/**
 * For a backend that refuses earlier calls in a request without functions: it gets the functions that the request withholds so that the model
 * answers, with `tool_choice: "none"`. Backends say so in many words, so every refusal is tried in this way.
 */
export const withheldFunctionsRemedy: Remedy = {
  kinds: ['withheld'],
  maxRepeats: 1,
  mayGuess: true,
  reason: 'functions_missed',
  recognise({ refusal, sent }) {
    if (refusal.code !== 'upstream_rejected' || !isWithholding(sent)) return undefined;
    const pointsAt = findWords(refusal, aboutMissingFunctions);
    return { lesson, pointsAt, ...(pointsAt !== undefined && { rule: 'lossless' }) };
  },
  change({ withheld, ...request }) {
    return withheld === undefined ? request : { ...request, ...withheld, toolChoice: 'none' };
  },
  concerns: (_lesson, request) => isWithholding(request),
};

function isWithholding({ withheld, messages }: ModelRequest): boolean {
  return withheld !== undefined && messages.some((message) => message.role === 'assistant' && message.toolCalls.length > 0);
}
