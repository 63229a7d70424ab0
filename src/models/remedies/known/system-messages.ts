import { textOf, type ChatMessage, type MessageContent } from '../../../core/chat/chat.ts';
import type { Lesson } from '../../../core/models/lesson.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import { findWords, refusesRequest } from '../refusal-wordings.ts';
import type { Recognised, Refused, Remedy } from '../remedy.ts';
import { joinContents } from './join-content.ts';
import { aboutAlternation, mergeTurns } from './turns.ts';

/**
 * Where system messages go. `renamed`: where they are, but none of the role `developer`; `first`: all in one at the beginning; `in question`: in the
 * first user message; `as question`: the last one is the user message of a conversation that has none.
 */
type Arrangement = 'renamed' | 'first' | 'in question' | 'as question';

const aboutDeveloper = [
  /\bunknown variant ['"`]?developer\b/i,
  /\bdeveloper\b['"`]?,? (?:role )?is not (?:one of|a valid|valid|supported|allowed)/i,
  /\b(?:invalid|unsupported|unknown|unexpected|unrecognized)\b[^.]{0,20}\brole\b[^.]{0,4}['"`]?developer\b/i,
  // Pydantic, Bedrock, Moonshot, and OpenAI's models without instructions.
  /\b(?:input tag|value|got)\b[:= ]{0,3}['"`]?developer\b/i,
  /\b(?:does not|doesn't|do not|don't) support ['"`]?developer\b/i,
  // Groq.
  /\bdiscriminator property ['"`]?role\b/i,
  /\bunexpected message role\b/i,
  /\bincorrect role information\b/i,
  // Lists of the roles that there are: NVIDIA, SambaNova.
  /\brole\b['"`]?:? (?:input )?(?:must|should) be (?:one of )?[['"`]{0,2}(?=.{0,80}\bsystem\b)(?!.*\bdeveloper\b)/i,
];
/** Chat templates of Qwen, Gemma and Mistral, and Mistral's own API. */
const aboutOrder = [
  /\bsystem['"`]? (?:messages?|prompts?|roles?|instructions?)\b[^.'"`]{0,40}\b(?:beginning|first|start)\b/i,
  /\b(?:first|initial)\b[^.'"`]{0,30}\bsystem (?:messages?|prompts?|role)\b/i,
  /\b(?:only (?:one|a single)|at most one|more than one|multiple|several)\b[^.'"`]{0,20}\bsystem (?:messages?|prompts?)\b/i,
  /\bunexpected role ['"`]?(?:system|developer)['"`]? after\b/i,
];
const aboutRole = [
  /\bsystem['"`]? (?:roles?|messages?|prompts?|instructions?)\b(?: is| are)?[^.'"`]{0,20}\b(?:not (?:supported|allowed|enabled|permitted|available|valid)|unsupported)\b/i,
  /\b(?:does not|doesn't|do not|don't|cannot|can't)\b[^.'"`]{0,20}\b(?:support|accept|allow|take|have)\b[^.'"`]{0,20}['"`]?system\b(?! fingerprint)/i,
  /\b(?:invalid|unsupported|unknown|unexpected|unrecognized)\b[^.]{0,20}\brole\b[^.]{0,4}['"`]?system\b/i,
  /\bunknown variant ['"`]?system\b/i,
  /\bsystem['"`]? is not one of\b/i,
  /\bincompatible with system\b/i,
  /\bdeveloper instructions? (?:is|are) not\b/i,
  /\bonly user and assistant roles are supported\b/i,
  /\brole\b['"`]?:? (?:input )?(?:must|should) be (?:one of )?[['"`]{0,2}(?:user|assistant)\b(?!.*\bsystem\b)/i,
];
/** Chat templates of Qwen. */
const aboutQuestion = [/\bno user (?:query|message|prompt)\b[^.'"`]{0,20}\b(?:found|provided|given|in)\b/i];

/** For chat templates that take one system message, and only at the beginning, or none at all. */
export const systemRemedy: Remedy = {
  kinds: ['system'],
  maxRepeats: 2,
  reason: 'request_refused',
  recognise,
  change: (request, { change }) => ({ ...request, messages: moveSystem(request.messages, change as Arrangement) }),
  concerns: ({ change }, request) => isMoved(request, change as Arrangement),
};

function recognise({ refusal, sent }: Refused): Recognised | undefined {
  if (!refusesRequest(refusal) || sent.completion !== undefined) return undefined;
  const arrangements: readonly [Arrangement, readonly RegExp[]][] = [
    ['renamed', aboutDeveloper],
    ['first', aboutOrder],
    ['in question', aboutRole],
    ['as question', aboutQuestion],
  ];
  for (const [arrangement, wordings] of arrangements) {
    const pointsAt = isMoved(sent, arrangement) ? findWords(refusal, wordings) : undefined;
    if (pointsAt !== undefined) return { lesson: lessonAbout(arrangement), pointsAt, rule: 'lossless' };
  }
  // A template counts system messages as turns: all but the first one, or every one.
  const pointsAt = findWords(refusal, aboutAlternation);
  if (pointsAt === undefined) return undefined;
  const arrangement = (['first', 'in question'] as const).find((one) => isMoved(sent, one));
  const isMergedFirst = arrangement === 'in question' && mergeTurns(sent.messages).length !== sent.messages.length;
  return arrangement === undefined || isMergedFirst ? undefined : { lesson: lessonAbout(arrangement), pointsAt, rule: 'lossless' };
}

const messages: Record<Arrangement, string> = {
  renamed: 'The model does not know the role developer; its messages are sent as system messages.',
  first: 'The model takes one system message at the beginning; all of them are sent in it, in their order.',
  'in question': 'The model takes no system message; it is sent at the beginning of the first user message.',
  'as question': 'The model wants a user message; the last system message is sent as one.',
};

function lessonAbout(arrangement: Arrangement): Lesson {
  const warning = { code: 'messages_rearranged', message: messages[arrangement] };
  // About other conversations than those, so it holds beside them.
  const subject = arrangement === 'as question' ? arrangement : '';
  return { kind: 'system', subject, change: arrangement, content: '', warning };
}

function isSystem({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

function isMoved({ messages: given, completion }: ModelRequest, arrangement: Arrangement): boolean {
  if (completion !== undefined) return false;
  if (arrangement === 'in question') return given.some(isSystem);
  if (arrangement === 'as question') return given.some(isSystem) && !given.some(({ role }) => role === 'user');
  return given.some((message, index) => message.role === 'developer' || (arrangement === 'first' && index > 0 && isSystem(message)));
}

function moveSystem(given: readonly ChatMessage[], arrangement: Arrangement): ChatMessage[] {
  if (arrangement === 'as question')
    return given.with(given.findLastIndex(isSystem), { role: 'user', content: given.findLast(isSystem)?.content ?? '' });
  if (arrangement === 'renamed') return given.map((message) => (message.role === 'developer' ? { ...message, role: 'system' } : message));
  const system = given.filter(isSystem);
  const others = given.filter((message) => !isSystem(message));
  if (system.length === 0) return others;
  const content = joinContents(system.map((message) => withoutParts(message.content ?? '')));
  if (arrangement === 'first') return [{ ...system[0], role: 'system', content }, ...others];
  const [question, ...later] = others;
  // A template that knows two roles wants the user to begin.
  if (question?.role !== 'user') return [{ role: 'user', content }, ...others];
  return [{ ...question, content: joinContents([content, question.content]) }, ...later];
}

/** Templates that are so particular about system messages take them as text only. */
function withoutParts(content: MessageContent): MessageContent {
  return typeof content === 'string' || content.some(({ type }) => type !== 'text') ? content : textOf(content);
}
