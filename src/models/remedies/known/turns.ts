import type { AssistantMessage, ChatMessage } from '../../../core/chat/chat.ts';
import type { Lesson } from '../../../core/models/lesson.ts';
import { findWords, refusesRequest } from '../refusal-wordings.ts';
import type { Recognised, Refused, Remedy } from '../remedy.ts';
import { joinContents } from './join-content.ts';

/** `merged`: neighbours of one role become one message; `bridged`: the model has a turn between the results of calls and the next question. */
type Turns = 'merged' | 'bridged';

/** Chat templates, Perplexity, DeepSeek, Gemini and Anthropic. */
export const aboutAlternation = [
  /\b(?:roles?|turns?|messages?|requests?)\b[^.'"`]{0,60}\balternat(?:e|es|ing)\b/i,
  /\balternat(?:e|es|ing)\b[^.'"`]{0,40}\b(?:roles?|turns?|messages?|user)\b/i,
  /\b(?:consecutive|successive|multiple)\b[^.]{0,20}\b(?:user|assistant|same)\b[^.]{0,20}\b(?:roles?|messages?|turns?)\b/i,
  /\bunexpected role ['"`]?(user|assistant)['"`]? after (?:role )?['"`]?\1\b/i,
];
/** Mistral. */
const aboutQuestionAfterResults = [/\bunexpected role ['"`]?user['"`]? after (?:role )?['"`]?tool\b/i];
const bridge: AssistantMessage = { role: 'assistant', content: 'Understood.', toolCalls: [] };

/** For servers that want user and assistant in turns. */
export const turnsRemedy: Remedy = {
  kinds: ['turns'],
  maxRepeats: 2,
  reason: 'request_refused',
  recognise,
  change: (request, { subject }) => ({ ...request, messages: changeTurns(request.messages, subject as Turns) }),
  concerns: ({ subject }, { messages, completion }) =>
    completion === undefined && changeTurns(messages, subject as Turns).length !== messages.length,
};

function recognise({ refusal, sent: { messages, completion } }: Refused): Recognised | undefined {
  if (!refusesRequest(refusal) || completion !== undefined) return undefined;
  for (const [turns, wordings] of [['bridged', aboutQuestionAfterResults] as const, ['merged', aboutAlternation] as const]) {
    const pointsAt = findWords(refusal, wordings);
    if (pointsAt !== undefined && changeTurns(messages, turns).length !== messages.length)
      return { lesson: lessonAbout(turns), pointsAt, rule: 'lossless' };
  }
  return undefined;
}

function lessonAbout(turns: Turns): Lesson {
  const message =
    turns === 'merged'
      ? 'The model wants user and assistant to alternate; messages of one role that follow each other are sent as one.'
      : 'The model takes no question directly after results of calls; a short turn of its own is put between them.';
  return { kind: 'turns', subject: turns, change: turns, content: '', warning: { code: 'messages_rearranged', message } };
}

function changeTurns(messages: readonly ChatMessage[], turns: Turns): ChatMessage[] {
  return turns === 'merged' ? mergeTurns(messages) : bridgeResults(messages);
}

export function mergeTurns(messages: readonly ChatMessage[]): ChatMessage[] {
  const merged: ChatMessage[] = [];
  for (const message of messages) {
    const joined = mergeTwo(merged.at(-1), message);
    if (joined === undefined) merged.push(message);
    else merged[merged.length - 1] = joined;
  }
  return merged;
}

function mergeTwo(before: ChatMessage | undefined, message: ChatMessage): ChatMessage | undefined {
  if (before?.role === 'user' && message.role === 'user')
    return { ...before, ...message, content: joinContents([before.content, message.content]) };
  // The results of calls follow them.
  if (before?.role !== 'assistant' || message.role !== 'assistant' || before.toolCalls.length > 0) return undefined;
  const content = joinContents([before.content ?? '', message.content ?? '']);
  const extra = { ...before.extra, ...message.extra };
  return { ...message, content: content === '' ? null : content, ...(Object.keys(extra).length > 0 && { extra }) };
}

function bridgeResults(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.flatMap((message, index) =>
    message.role === 'user' && messages[index - 1]?.role === 'tool' ? [bridge, message] : [message],
  );
}
