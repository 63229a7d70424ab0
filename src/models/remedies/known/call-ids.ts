import { createHash } from 'node:crypto';
import type { ChatMessage } from '../../../core/chat/chat.ts';
import type { Lesson } from '../../../core/models/lesson.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import { findWords, refusesRequest } from '../refusal-wordings.ts';
import type { Recognised, Refused, Remedy } from '../remedy.ts';

/**
 * The ids that a server takes. `nine`: nine letters and digits (Mistral); `short`: letters, digits, `_` and `-`, at most 40 (OpenAI, Anthropic);
 * `numbered`: the function's name and the number of the call in the conversation (Kimi).
 */
type IdForm = 'nine' | 'short' | 'numbered';

const wordings: readonly [IdForm, readonly RegExp[]][] = [
  ['numbered', [/\bfunctions\.\S{0,40}:\s?['"`{<]{0,2}(?:idx|index|number|\d)/i]],
  ['nine', [/\blength (?:of )?9\b/i, /\b(?:9|nine)[ -](?:alphanumeric )?characters?\b/i, /\[a-zA-Z0-9\]\{9\}/]],
  [
    'short',
    [
      /\b(?:tool[ _]?(?:calls?|use))\b[^{}]{0,60}\bids?\b[^{}]{0,80}\b(?:too long|maximum length|at most \d+ char|pattern|unique|duplicate)/i,
      /\b(?:tool_?(?:call|use)_?id|call_id)\b[^{}]{0,120}\b(?:too long|maximum length|length less than|at most \d+ char|pattern|unique|duplicate)/i,
      /\bduplicate (?:tool[ _]?(?:call|use)[ _]?)?ids?\b/i,
    ],
  ],
];
const valid: Record<IdForm, RegExp> = {
  nine: /^[A-Za-z0-9]{9}$/,
  short: /^[\w-]{1,40}$/,
  numbered: /^functions\.[\w.-]+:\d+$/,
};

/** For servers that refuse the ids of earlier calls, which other models, clients or the gateway have made. The same id is always mapped to the same one. */
export const callIdRemedy: Remedy = {
  kinds: ['call-ids'],
  maxRepeats: 2,
  reason: 'request_refused',
  recognise,
  change: (request, { change }) => ({ ...request, messages: mapIds(request.messages, change as IdForm) }),
  concerns: ({ change }, request) => isMapped(request, change as IdForm),
};

function recognise({ refusal, sent }: Refused): Recognised | undefined {
  if (!refusesRequest(refusal)) return undefined;
  for (const [form, expressions] of wordings) {
    const pointsAt = isMapped(sent, form) ? findWords(refusal, expressions) : undefined;
    if (pointsAt !== undefined) return { lesson: lessonAbout(form), pointsAt, rule: 'lossless' };
  }
  return undefined;
}

function lessonAbout(form: IdForm): Lesson {
  const message = 'The model refuses the ids of earlier calls; they are sent under others.';
  return { kind: 'call-ids', subject: '', change: form, content: '', warning: { code: 'call_ids_mapped', message } };
}

function isMapped({ messages }: ModelRequest, form: IdForm): boolean {
  const seen = new Set<string>();
  return messages.some((message) => {
    if (message.role === 'tool') return !valid[form].test(message.toolCallId);
    return message.role === 'assistant' && message.toolCalls.some(({ id }) => !valid[form].test(id) || isRepeated(id, seen));
  });
}

function isRepeated(id: string, seen: Set<string>): boolean {
  const isKnown = seen.has(id);
  seen.add(id);
  return isKnown;
}

function mapIds(messages: readonly ChatMessage[], form: IdForm): ChatMessage[] {
  const ids = new CallIds(form);
  return messages.map((message): ChatMessage => {
    if (message.role === 'tool') return { ...message, toolCallId: ids.ofResult(message.toolCallId) };
    if (message.role !== 'assistant' || message.toolCalls.length === 0) return message;
    return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, id: ids.ofCall(call.id, call.name) })) };
  });
}

/** The ids of one conversation. An id that several calls have is told apart by their order. */
class CallIds {
  readonly #form: IdForm;
  /** By the given id, those of its calls that have no result yet. */
  readonly #waiting = new Map<string, string[]>();
  /** The last one that has a result. */
  readonly #answered = new Map<string, string>();
  readonly #uses = new Map<string, number>();
  #calls = 0;

  constructor(form: IdForm) {
    this.#form = form;
  }

  ofCall(id: string, name: string): string {
    const uses = this.#uses.get(id) ?? 0;
    this.#uses.set(id, uses + 1);
    const isKept = uses === 0 && valid[this.#form].test(id);
    const mapped = this.#form === 'numbered' ? `functions.${name}:${this.#calls}` : isKept ? id : hashId(id, uses);
    this.#calls += 1;
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) this.#waiting.set(id, [mapped]);
    else waiting.push(mapped);
    return mapped;
  }

  /** A result without a call keeps what could be its id. */
  ofResult(id: string): string {
    const mapped = this.#waiting.get(id)?.shift() ?? this.#answered.get(id);
    if (mapped === undefined) return valid[this.#form].test(id) ? id : hashId(id, 0);
    this.#answered.set(id, mapped);
    return mapped;
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Nine letters and digits, which every server takes. */
function hashId(id: string, uses: number): string {
  const bytes = createHash('sha256').update(`${uses} ${id}`).digest();
  return Array.from(bytes.subarray(0, 9), (byte) => alphabet[byte % alphabet.length]).join('');
}
