import { textOf } from '../../core/chat.ts';
import type { ChatMessage } from '../../core/chat.ts';
import type { RunEvent } from '../../core/run-event.ts';

/** Ollama's context when nobody sets one. Servers may be set to more; less was never a default of a version with tools in the last year. */
export const defaultContext = 4_096;
/** Room for an answer whose length nobody has limited. */
const usualAnswerTokens = 1_024;
/** An answer may run on while the context shifts; more than this is not reserved for it. */
const largestReserve = 4_096;
/** With less room than this the answer itself pushes the beginning out. */
const leastAnswerTokens = 256;
/** Role, separators and the template's words around each message. */
const tokensPerMessage = 8;
/** Vision models spend between 250 and 1,600 tokens on an image. */
const tokensPerImage = 1_024;

export interface ContextSizeRequest {
  messages: readonly ChatMessage[];
  /** The functions as they are sent. */
  tools: readonly unknown[];
  /** The caller's `num_ctx`: it is kept, whether the request fits or not. */
  requested: number | undefined;
  /** The caller's `num_predict`, when positive. */
  answerTokens: number | undefined;
  /** What the model's own file sets; undefined: `defaultContext`. */
  modelDefault: number | undefined;
  /** What the model was trained for, when known. */
  contextLength: number | undefined;
  /** The operator's upper bound. */
  maxContext: number;
  /** What the model was loaded with a moment ago: less would make Ollama load it again. */
  loadedWith: number | undefined;
}

export interface ContextSize {
  /** Undefined: nothing has to be said. */
  numCtx: number | undefined;
  /** Set when the request does not fit even so. */
  warning: RunEvent | undefined;
}

/**
 * Ollama cuts a too long prompt silently, and the tools stand at its beginning. So `num_ctx` is raised to the next power of two that holds
 * prompt and answer, up to the model's and the operator's maximum; powers of two, because each new value loads the model again.
 * A caller's own `num_ctx` is neither lowered nor raised, because it decides about memory: then only the warning is given.
 */
export function chooseContextSize(request: ContextSizeRequest): ContextSize {
  const prompt = estimateTokens(request);
  const reserve = Math.min(request.answerTokens ?? usualAnswerTokens, largestReserve);
  const numCtx = request.requested ?? raisedContext(request, prompt + reserve);
  const inForce = numCtx ?? request.modelDefault ?? defaultContext;
  const needed = prompt + Math.min(reserve, leastAnswerTokens);
  return { numCtx, warning: needed > inForce ? tooSmall(needed, inForce, request) : undefined };
}

function raisedContext(request: ContextSizeRequest, needed: number): number | undefined {
  const base = request.modelDefault ?? defaultContext;
  const most = Math.min(request.maxContext, request.contextLength ?? Infinity);
  const loaded = request.loadedWith !== undefined && request.loadedWith > base ? request.loadedWith : undefined;
  if (needed <= (loaded ?? base)) return loaded;
  const raised = Math.min(2 ** Math.ceil(Math.log2(needed)), most);
  return raised > (loaded ?? base) ? raised : loaded;
}

function tooSmall(needed: number, numCtx: number, { requested, contextLength, maxContext }: ContextSizeRequest): RunEvent {
  const cure =
    requested !== undefined
      ? 'Leave out "num_ctx" or raise it'
      : contextLength !== undefined && contextLength <= maxContext
        ? 'Offer fewer tools or use a model with a larger context'
        : "Offer fewer tools or raise the gateway's maximum context";
  const message = `The request needs about ${needed} tokens, the context holds ${numCtx}: Ollama will cut its beginning. ${cure}.`;
  return { type: 'warning', data: { code: 'context_too_small', message, needed, num_ctx: numCtx } };
}

/**
 * For a prompt that turned out to fill the whole context: what Ollama cuts ends at exactly that many tokens. The estimate was too low, as it is
 * for digits, identifiers and other text that tokens hold little of.
 */
export function cutWarning(numCtx: number): RunEvent {
  const message = `The prompt filled the whole context of ${numCtx} tokens: Ollama has cut its beginning. Set a larger "num_ctx" or offer fewer tools.`;
  return { type: 'warning', data: { code: 'context_too_small', message, num_ctx: numCtx } };
}

/** A generous estimate of what messages and functions come to. Images count by number, not by the length of their base64. */
export function estimateTokens({ messages, tools }: Pick<ContextSizeRequest, 'messages' | 'tools'>): number {
  let tokens = tools.length === 0 ? 0 : textTokens(JSON.stringify(tools));
  for (const message of messages) tokens += tokensPerMessage + messageTokens(message);
  return Math.ceil(tokens);
}

function messageTokens(message: ChatMessage): number {
  let tokens = textTokens(textOf(message.content));
  if (Array.isArray(message.content)) tokens += message.content.filter((part) => part.type !== 'text').length * tokensPerImage;
  if (message.role === 'assistant') for (const call of message.toolCalls) tokens += textTokens(call.name) + textTokens(call.arguments);
  return tokens;
}

/** ASCII: 3.5 characters a token; other alphabets: 2; ideographs, kana, hangul and everything beyond: 1. */
export function textTokens(text: string): number {
  let ascii = 0;
  let alphabetic = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x80) ascii++;
    else if (code < 0x2e80) alphabetic++;
  }
  return ascii / 3.5 + alphabetic / 2 + (text.length - ascii - alphabetic);
}
