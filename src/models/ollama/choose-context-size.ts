import type { ChatMessage } from '../../core/chat/chat.ts';
import type { RunEvent } from '../../core/chat/run-event.ts';
import { estimateTokens } from '../../shared/text/estimate-tokens.ts';

/** Ollama's default context size in tokens. Servers may be configured with more; no version with tools of the last year had a smaller default. */
export const defaultContext = 4_096;
/** Tokens reserved for an answer without a length limit. */
const defaultAnswerTokens = 1_024;
/** The most tokens reserved for an answer: a longer one continues while the context shifts. */
const maxReservedTokens = 4_096;
/** With fewer tokens for the answer, the answer itself would push out the beginning of the prompt. */
const minAnswerTokens = 256;

export interface ContextSizeRequest {
  messages: readonly ChatMessage[];
  /** The functions in the form in which they are sent. */
  tools: readonly unknown[];
  /** The caller's `num_ctx`; never changed, whether or not the request fits. */
  requested: number | undefined;
  /** The caller's `num_predict`, if positive. */
  answerTokens: number | undefined;
  /** The value in the model's Modelfile; undefined: `defaultContext`. */
  modelDefault: number | undefined;
  /** The context length that the model was trained for, if known. */
  contextLength: number | undefined;
  /** The operator's upper bound. */
  maxContext: number;
  /** The context size with which the model is currently loaded: a smaller one would reload it. */
  loadedWith: number | undefined;
}

export interface ContextSize {
  /** Undefined: `num_ctx` need not be sent. */
  numCtx: number | undefined;
  /** Set if the request still does not fit. */
  warning: RunEvent | undefined;
}

/**
 * Ollama silently truncates a prompt that is too long, at its beginning, where the tools are. So `num_ctx` is raised to the next power of two that
 * holds prompt and answer, up to the model's and the operator's maximum. Powers of two, because each new value reloads the model. A caller's own
 * `num_ctx` is never changed, because it determines memory use; the caller gets only the warning.
 */
export function chooseContextSize(request: ContextSizeRequest): ContextSize {
  const prompt = estimateTokens(request);
  const reserve = Math.min(request.answerTokens ?? defaultAnswerTokens, maxReservedTokens);
  const numCtx = request.requested ?? raisedContext(request, prompt + reserve);
  const inForce = numCtx ?? request.modelDefault ?? defaultContext;
  const needed = prompt + Math.min(reserve, minAnswerTokens);
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
  const message = `The request needs about ${needed} tokens, but the context holds ${numCtx}: Ollama will cut off its beginning. ${cure}.`;
  return { type: 'warning', data: { code: 'context_too_small', message, needed, num_ctx: numCtx } };
}

/**
 * The warning for a prompt that filled the whole context: a prompt that Ollama truncates has exactly that many tokens. The estimate was too low, as
 * it is for digits, identifiers and other text with few characters per token.
 */
export function truncationWarning(numCtx: number): RunEvent {
  const message = `The prompt filled the whole context of ${numCtx} tokens: Ollama has cut off its beginning. Set a larger "num_ctx" or offer fewer tools.`;
  return { type: 'warning', data: { code: 'context_too_small', message, num_ctx: numCtx } };
}
