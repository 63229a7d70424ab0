import type { ChatMessage, ContentPart } from '../../core/chat/chat.ts';
import { derivedNames, derivedParameters } from '../../core/chat/derived-parameters.ts';
import { forOllamaOnly } from '../../core/chat/for-ollama-only.ts';
import type { Lesson } from '../../core/models/lesson.ts';
import type { ModelRequest, Proof } from '../../core/models/model.ts';
import { isJsonObject, ownValue, type JsonValue } from '../../shared/json/json.ts';
import { isConditional } from '../../shared/refusals/conditional-refusal.ts';
import { hashOf } from './hash-content.ts';
import { mayBeOutput } from './refusal-wordings.ts';

/** `own`: a hash of the parts of the request that the caller brought, as `ownHashes` has it. */
type ProvenScope = { type: 'everybody' } | { type: 'caller'; own: string } | { type: 'run' };

/**
 * Parameters that change how a model samples, and seldom have a bearing on which functions, forms and other parameters its server takes. Some servers
 * refuse a parameter beside one of these, and say so.
 */
const neutralParameters: ReadonlySet<string> = new Set([
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'stop',
  'max_tokens',
  'max_completion_tokens',
  'num_predict',
  'num_ctx',
  'keep_alive',
  'cache_control',
  'presence_penalty',
  'frequency_penalty',
  'repeat_penalty',
  'user',
  'stream_options',
  derivedParameters,
  forOllamaOnly,
]);
/** Names that the gateway itself writes into a request, and which therefore prove no quotation. */
const ownNames: ReadonlySet<string> = new Set(['stream_options', derivedParameters, forOllamaOnly]);

/** More text than this is not searched; a lesson is then not for everybody. */
const searchedCharacters = 8 * 1024 * 1024;
/** The same for values; a request has at most 50,000, and the schemas of an offer may add some. */
const searchedValues = 200_000;

/**
 * How far a lesson may be remembered. A caller can shape a refusal in three ways: by text that the backend quotes, by what they have the model write, and
 * by parts of the request that it refuses for their own sake.
 */
export function judgeProof(lesson: Lesson, { request, pointsAt, words = '', rule = 'proven' }: Proof): ProvenScope {
  const isQuoted = (said: string): boolean => mayBeOutput(words, said) || mayQuote(request, lesson, said);
  if (rule === 'lossless')
    return pointsAt !== undefined && (isQuoted(pointsAt) || hasUnseenText(request)) ? { type: 'run' } : { type: 'everybody' };
  if (rule === 'proven' && (pointsAt === undefined || isQuoted(pointsAt))) return { type: 'run' };
  const own = [...ownPartsOf(request, lesson), ...(isAboutUsual(words, request, lesson) ? usualPartsOf(request, lesson) : [])];
  return rule === 'proven' && own.length === 0 ? { type: 'everybody' } : { type: 'caller', own: hashOf(own) };
}

/** Whether a refusal may quote text that cannot be found in the request: from a file, or from a server from which the backend loads a picture. */
function hasUnseenText({ messages }: ModelRequest): boolean {
  const isInline = (part: ContentPart): boolean => {
    const image = ownValue(part, 'image_url');
    const url = isJsonObject(image) ? image['url'] : image;
    return typeof url === 'string' && /^data:image\//iu.test(url);
  };
  return messages.some(({ content }) => Array.isArray(content) && content.some((part) => part.type !== 'text' && !isInline(part)));
}

/** The hashes of a caller's own parts for which their lessons may hold: whatever usual parts there are, and with the same. */
export function ownHashes(request: ModelRequest, lesson: Pick<Lesson, 'kind'>): readonly string[] {
  const own = ownPartsOf(request, lesson);
  return [hashOf(own), hashOf([...own, ...usualPartsOf(request, lesson)])];
}

/** Whether the words name a usual part, or a parameter or usage is refused only beside something that they do not name. */
function isAboutUsual(words: string, request: ModelRequest, lesson: Pick<Lesson, 'kind'>): boolean {
  if ((lesson.kind === 'parameter' || lesson.kind === 'usage') && isConditional(words)) return true;
  const named = new Set(words.toLowerCase().split(/\W+/));
  return usualPartsOf(request, lesson).some(([name]) => named.has(name) || named.has(`${name}s`));
}

/** What many requests have and seldom is the cause: parameters of the sampling, a system message, more than one turn. */
function usualPartsOf(request: ModelRequest, lesson: Pick<Lesson, 'kind'>): [name: string, value: JsonValue][] {
  const uninvolved = uninvolvedIn(request, lesson);
  const parts = Object.entries(request.parameters).flatMap(([name, value]): [string, JsonValue][] =>
    neutralParameters.has(name) && !ownNames.has(name) && !uninvolved.includes(name) ? [[name, value ?? null]] : [],
  );
  if (request.messages.some(({ role }) => role === 'system')) parts.push(['system', true]);
  const isLong = request.messages.filter(({ role }) => role !== 'system').length > 1;
  if (isLong) for (const name of ['conversation', 'turn', 'history']) parts.push([name, true]);
  return parts;
}

/** What the caller brought into a request, apart from its texts, and might be refused for its own sake or beside something else. */
function ownPartsOf(request: ModelRequest, lesson: Pick<Lesson, 'kind'>): JsonValue[] {
  const { messages, callerTools, toolChoice, parallelToolCalls, parameters, tools, origin } = request;
  const uninvolved = uninvolvedIn(request, lesson);
  const own: JsonValue[] = [];
  if (callerTools.length > 0) own.push(callerTools);
  if (toolChoice !== undefined && toolChoice !== 'auto') own.push(toolChoice);
  if (parallelToolCalls === false) own.push('one call at a time');
  for (const [name, value] of Object.entries(parameters))
    if (!neutralParameters.has(name) && !uninvolved.includes(name)) own.push([name, value ?? null]);
  const { kinds, isContinued } = shapeOf(messages);
  if (kinds.length > 0) own.push(kinds);
  if (isContinued) own.push('an answer to continue');
  if (origin === undefined) return own;
  for (const { name, description, parameters: schema } of tools)
    if (origin.sourceOf(name)?.isOwn !== false) own.push([name, description, schema]);
  return own;
}

/**
 * What there is in messages besides texts of the two sides: some models take no tools with pictures, or no form; some servers take tools, but no earlier
 * calls, or no `name`.
 */
function shapeOf(messages: ModelRequest['messages']): { kinds: string[]; isContinued: boolean } {
  const kinds = new Set<string>();
  for (const message of messages) for (const kind of kindsOf(message)) kinds.add(kind);
  return { kinds: [...kinds].toSorted(), isContinued: messages.at(-1)?.role === 'assistant' };
}

function kindsOf(message: ChatMessage): string[] {
  const { role, content, extra = {} } = message;
  const parts = Array.isArray(content) ? content.flatMap(({ type }) => (type === 'text' ? [] : [type])) : [];
  const ofRole = role === 'tool' || role === 'developer' ? [role] : [];
  const calls = role === 'assistant' && message.toolCalls.length > 0 ? ['calls'] : [];
  return [...ofRole, ...calls, ...Object.keys(extra).map((field) => `field ${field}`), ...parts];
}

/** A parameter that was refused by name is itself no cause, and neither are others that a dialect derived. */
function uninvolvedIn({ parameters }: ModelRequest, { kind }: Pick<Lesson, 'kind'>): readonly string[] {
  return kind === 'parameter' || kind === 'effort' ? derivedNames(parameters) : [];
}

/** Whether these words of a refusal may be a quotation of the request. The function that the lesson is about may contain them. */
function mayQuote(request: ModelRequest, lesson: Lesson, pointsAt: string): boolean {
  const { model, messages, callerTools, toolChoice, parameters, tools } = request;
  const uninvolved = uninvolvedIn(request, lesson);
  const others = Object.entries(parameters).filter(([name]) => !uninvolved.includes(name) && !ownNames.has(name));
  const specs = tools.filter(({ name }) => lesson.kind !== 'function' || name !== lesson.subject);
  return mentions([model, messages, callerTools, toolChoice, Object.fromEntries(others), specs], pointsAt);
}

/**
 * Searches all texts and keys, without recursion, because schemas may be deep. A server may write what it quotes in other letters and with other
 * spaces or marks, and may join the parts of a message, messages, and the entries of a list.
 */
function mentions(searched: unknown, words: string): boolean {
  const quotation = quotationOf(words);
  const waiting: unknown[] = [searched];
  let characters = 0;
  const isIn = (text: string): boolean => {
    characters += text.length;
    return characters > searchedCharacters || text.includes(words) || quotation.test(text.normalize('NFKC'));
  };
  for (let values = 0; waiting.length > 0; values += 1) {
    const value = waiting.pop();
    if (typeof value === 'string' && isIn(value)) return true;
    if (typeof value !== 'object' || value === null) continue;
    if (values > searchedValues) return true;
    if (Array.isArray(value) && value.length > 1 && isIn(value.map(textIn).join(''))) return true;
    for (const part of partsOf(value)) waiting.push(part);
  }
  return false;
}

/** So many letters of the words are looked for; more would make an expression too large. */
const quotedLetters = 100;

/** The same letters, whatever else is between them. Takes linear time, because what may stand between two letters is none. */
function quotationOf(words: string): RegExp {
  const letters = (words.normalize('NFKC').match(/[\p{L}\p{N}]/gu) ?? []).slice(0, quotedLetters);
  return new RegExp(letters.join(String.raw`[^\p{L}\p{N}]*`), 'iu');
}

/** The text of a message, of a part of one, or of an entry of a list; empty for all else. */
function textIn(entry: unknown): string {
  if (typeof entry === 'string') return entry;
  if (typeof entry !== 'object' || entry === null) return '';
  if ('text' in entry && typeof entry.text === 'string') return entry.text;
  if (!('content' in entry)) return '';
  const { content } = entry;
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part) => (typeof part === 'object' ? textIn(part) : '')).join('') : '';
}

function partsOf(value: object): unknown[] {
  return Array.isArray(value) ? value : Object.entries(value).flat();
}
