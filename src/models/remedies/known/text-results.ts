import { textOf, type ChatMessage, type ContentPart, type ToolMessage } from '../../../core/chat/chat.ts';
import type { Lesson } from '../../../core/models/lesson.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import { findWords, refusesRequest } from '../refusal-wordings.ts';
import type { Remedy } from '../remedy.ts';

/** Servers that read the content of messages as one text, and OpenAI, which takes pictures from users only. */
const aboutTexts = [
  /\bcontent\b.{0,40}\b(?:expected|expects|must be|should be|needs to be|has to be|is not|not) (?:of type |a |an |valid )*['"`]?(?:str|string|text)\b/i,
  /\binvalid type: sequence, expected a string\b/i,
  /\bcannot unmarshal array into Go struct field [\w.]*content\b/i,
  /\bcontent: invalid input\b/i,
  /\bvalue must be a string\b/i,
  /\binput should be a valid string\b/i,
  /\bcan only concatenate str\b/i,
  // The templates of llama.cpp.
  /\b(?:method|filter|operator|test)\b[^.]{0,40}\bfor type array\b/i,
  /\bonly (?:allowed|supported|permitted|valid) (?:for|in|by|with) (?:messages with )?(?:the )?(?:role )?['"`]?user\b/i,
  /\b(?:only )?user messages (?:can|may) (?:contain|have|include)\b/i,
  /\bunsupported content\[\]\.type\b/i,
  /\btool\b[^.]{0,60}\b(?:only|must)\b[^.]{0,30}\btext\b/i,
  /\b(?:images?|image_urls?|pictures?)\b[^.]{0,60}\btool (?:messages?|results?|role)\b/i,
  /\btool (?:messages?|results?|role)\b[^.]{0,60}\b(?:images?|image_urls?|pictures?)\b/i,
];

const lesson: Lesson = {
  kind: 'results',
  subject: '',
  change: 'texts',
  content: '',
  warning: {
    code: 'messages_rearranged',
    message:
      'The model takes messages as text only; their parts are sent as one text, and pictures and files in results of calls in a user message after the results.',
  },
};

/** For servers that take results of calls, or the parts of any message, as text only. */
export const textResultsRemedy: Remedy = {
  kinds: ['results'],
  maxRepeats: 1,
  reason: 'request_refused',
  recognise({ refusal, sent }) {
    const pointsAt = refusesRequest(refusal) && hasParts(sent) ? findWords(refusal, aboutTexts) : undefined;
    return pointsAt === undefined ? undefined : { lesson, pointsAt, rule: 'lossless' };
  },
  change: (request) => ({ ...request, messages: withTextResults(request.messages) }),
  concerns: (_lesson, request) => hasParts(request),
};

function hasParts({ messages }: ModelRequest): boolean {
  return messages.some((message) => (message.role === 'tool' ? typeof message.content !== 'string' : joined(message) !== message));
}

/** A message of several texts as one; others stay. */
function joined<Message extends ChatMessage>(message: Message): Message {
  const { content } = message;
  const isOfTexts = Array.isArray(content) && content.every(({ type }) => type === 'text');
  return isOfTexts ? { ...message, content: textOf(content) } : message;
}

/** Other parts than text follow all results of a turn, because these have to follow their calls. */
function withTextResults(messages: readonly ChatMessage[]): ChatMessage[] {
  const changed: ChatMessage[] = [];
  let moved: ContentPart[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'tool') {
      changed.push(joined(message));
      continue;
    }
    const { result, others } = split(message);
    changed.push(result);
    moved.push(...others);
    if (moved.length === 0 || messages[index + 1]?.role === 'tool') continue;
    changed.push({ role: 'user', content: moved });
    moved = [];
  }
  return changed;
}

function split(message: ToolMessage): { result: ToolMessage; others: ContentPart[] } {
  const { content, toolCallId } = message;
  if (typeof content === 'string') return { result: message, others: [] };
  const parts = content.filter(({ type }) => type !== 'text');
  const text = textOf(content);
  if (parts.length === 0) return { result: { ...message, content: text }, others: [] };
  const label: ContentPart = { type: 'text', text: `Images in the result of the call ${toolCallId}:` };
  return { result: { ...message, content: text === '' ? 'The result is the images below.' : text }, others: [label, ...parts] };
}
