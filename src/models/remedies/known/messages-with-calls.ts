import type { AssistantMessage, ChatMessage } from '../../../core/chat/chat.ts';
import type { Lesson, LessonRule } from '../../../core/models/lesson.ts';
import { findWords, refusesRequest } from '../refusal-wordings.ts';
import type { Recognised, Refused, Remedy } from '../remedy.ts';

/** What a message of the model may have beside its calls. `empty text`: a text, even if it is empty; `not empty`: it is left out if it has neither. */
type Form = 'empty text' | 'no reasoning' | 'no text' | 'not empty';

const wordings: readonly [Form, readonly RegExp[]][] = [
  [
    'empty text',
    [
      /\bcan only concatenate str \(not ['"`]?NoneType\b/i,
      /\bcontent\b.{0,100}\b(?:input_value=None|(?:got|is|be) (?:null|none))\b/i,
      /\binvalid type: null, expected (?:a string|untagged)/i,
      /\bmissing field ['"`]?content\b/i,
      /['"`]?NoneType['"`]? object is not iterable\b/i,
    ],
  ],
  // Moonshot, Mistral, Anthropic, Bedrock.
  [
    'not empty',
    [
      /\bassistant['"`]?(?: messages?)? (?:must|may|can|should) ?not be empty\b/i,
      /\beither content or tool_?calls?\b[^.]{0,20}\bnot none\b/i,
      /\b(?:must have|must be|should have) non-?empty\b/i,
    ],
  ],
  // gpt-oss.
  ['no reasoning', [/\bboth content and (?:thinking|reasoning(?:_content)?)\b/i]],
  // Mistral.
  ['no text', [/\beither content or tool_?calls?\b[^.]{0,20}\bnot both\b/i]],
];

/** Only lossless changes: a missing text is added, or an empty message is left out. */
const rules: Record<Form, LessonRule> = {
  'empty text': 'lossless',
  'not empty': 'lossless',
  'no reasoning': 'proven',
  'no text': 'proven',
};
const messages: Record<Form, string> = {
  'empty text': 'The model takes calls only beside a text; an empty one is sent.',
  'not empty': 'The model rejects empty messages of its own, so they were left out.',
  'no reasoning': 'The model takes either a text or reasoning beside calls; the reasoning of such messages is left out.',
  'no text': 'The model takes no text beside calls; it is left out.',
};

/** For servers that refuse what earlier messages of the model have, or lack, beside their calls. */
export const messagesWithCallsRemedy: Remedy = {
  kinds: ['messages-with-calls'],
  maxRepeats: 2,
  reason: 'request_refused',
  recognise,
  change: (request, { change }) => ({ ...request, messages: request.messages.flatMap((message) => toForm(message, change as Form) ?? []) }),
  concerns: ({ change }, request) => isChanged(request.messages, change as Form),
};

function recognise({ refusal, sent }: Refused): Recognised | undefined {
  if (!refusesRequest(refusal)) return undefined;
  for (const [form, expressions] of wordings) {
    const pointsAt = isChanged(sent.messages, form) ? findWords(refusal, expressions) : undefined;
    if (pointsAt !== undefined) return { lesson: lessonAbout(form), pointsAt, rule: rules[form] };
  }
  return undefined;
}

function lessonAbout(form: Form): Lesson {
  const warning = { code: 'messages_rearranged', message: messages[form] };
  return { kind: 'messages-with-calls', subject: form, change: form, content: '', warning };
}

function isChanged(given: readonly ChatMessage[], form: Form): boolean {
  return given.some((message) => toForm(message, form) !== message);
}

/** Undefined if the message is left out. */
function toForm(message: ChatMessage, form: Form): ChatMessage | undefined {
  if (message.role !== 'assistant') return message;
  const isEmpty = message.content === null || message.content.length === 0;
  if (form === 'not empty') return isEmpty && message.toolCalls.length === 0 ? undefined : message;
  if (message.toolCalls.length === 0) return message;
  if (form === 'empty text') return message.content === null ? { ...message, content: '' } : message;
  if (isEmpty) return message;
  return form === 'no text' ? { ...message, content: null } : withoutReasoning(message);
}

function withoutReasoning(message: AssistantMessage): AssistantMessage {
  const fields = Object.entries(message.extra ?? {});
  const kept = fields.filter(([name]) => !/^(?:reasoning|thinking)/.test(name));
  return kept.length === fields.length ? message : { ...message, extra: Object.fromEntries(kept) };
}
