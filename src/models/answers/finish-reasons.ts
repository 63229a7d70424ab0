import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { FinishReason, ModelEvent } from '../../core/chat/chat.ts';
import type { BackendClient } from '../transport/backend-client.ts';

/**
 * How an answer ended. `success`: by itself; `calls`: likewise, in order to call functions; `length`: at a token limit; `filter`: a content filter stopped
 * it; `broken`: the server or the network broke it off; `unreadable`: the server could not read a call that its model wrote.
 */
type KnownEnd = 'success' | 'calls' | 'length' | 'filter' | 'broken' | 'unreadable';
export type AnswerEnd = KnownEnd | 'unknown';

/** The words of backends, whatever their API. Case, `_` and `-` do not count. */
const words: Readonly<Record<KnownEnd, readonly string[]>> = {
  success: [
    'stop',
    // Together, Fireworks, Text Generation Inference, AI21.
    'eos',
    'eos_token',
    'end_of_text',
    'stop_sequence',
    'stop_sequence_reached',
    'stop_token',
    // LM Studio and proxies of Ollama, Baidu.
    'end',
    'end_of_turn',
    'done',
    'normal',
    // Anthropic, Bedrock.
    'end_turn',
    'pause_turn',
    // Cohere, Titan.
    'complete',
    'finish',
    'finished',
    // The status of OpenAI's Responses.
    'completed',
    // Ollama's, for a request without messages.
    'load',
    'unload',
  ],
  calls: ['tool_calls', 'tool_call', 'function_call', 'function_calls', 'tool_use'],
  length: [
    'length',
    'max_tokens',
    'max_output_tokens',
    'max_new_tokens',
    'max_completion_tokens',
    'max_length',
    'maximum_tokens',
    // watsonx.
    'token_limit',
    'context_length_exceeded',
    // Mistral, Cohere, Anthropic and Z.ai.
    'model_length',
    'error_limit',
    'model_context_window_exceeded',
    // The status of OpenAI's Responses, where it has no reason.
    'incomplete',
  ],
  filter: [
    'content_filter',
    'content_filtered',
    'guardrail_intervened',
    'refusal',
    // Z.ai, Cohere.
    'sensitive',
    'error_toxic',
    // GigaChat.
    'blacklist',
    // Gemini.
    'model_armor',
    'safety',
    'recitation',
    'blocklist',
    'prohibited_content',
    'spii',
    'image_safety',
    'image_prohibited_content',
    'image_recitation',
  ],
  broken: [
    // vLLM, SGLang.
    'abort',
    'aborted',
    // Mistral, OpenRouter, Cohere.
    'error',
    'user_cancel',
    'timeout',
    'time_limit',
    // DeepSeek, Z.ai.
    'insufficient_system_resource',
    'network_error',
    // The status of OpenAI's Responses.
    'failed',
    'cancelled',
    'canceled',
  ],
  unreadable: [
    // Gemini, with and without its prefix.
    'function_call_filter',
    'malformed_function_call',
    'unexpected_tool_call',
    'malformed_response',
    // Bedrock.
    'malformed_tool_use',
    'malformed_model_output',
  ],
};

const ends: ReadonlyMap<string, KnownEnd> = new Map(
  (Object.keys(words) as KnownEnd[]).flatMap((end) => words[end].map((word): [string, KnownEnd] => [plain(word), end])),
);

/** The longest part of an unknown word that a warning shows. */
const shownCharacters = 60;

/**
 * Only the part before a colon counts: Gemini adds a detail after it. No word is a success, because the stream ended properly. What calls itself an error is
 * none, whatever else it says.
 */
export function endOf(reason: string | undefined): AnswerEnd {
  // As nearly all say it.
  if (reason === 'stop' || reason === undefined) return 'success';
  const word = plain(reason.split(':', 1)[0] ?? '').replace(/^finishreason/, '');
  if (word === '') return 'success';
  return ends.get(word) ?? (word.endsWith('error') ? 'broken' : 'unknown');
}

/** `native`: the word of the provider behind a router, which reports what a provider could not read only as an error. */
export function moreExactReason(reason: string, native: unknown): string {
  return typeof native === 'string' && endOf(reason) === 'broken' && endOf(native) === 'unreadable' ? native : reason;
}

/** The finish reason for clients. Some servers send `stop` with calls, and `tool_calls` without any. */
export function toFinishReason(reason: string | undefined, hasCalls: boolean): FinishReason {
  const end = endOf(reason);
  if (end === 'length') return 'length';
  if (end === 'filter') return 'content_filter';
  return hasCalls ? 'tool_calls' : 'stop';
}

/** @throws GatewayError for an answer that is none: `upstream_incomplete`, or `model_call_unreadable` */
export function requireEnded(reason: string | undefined, client: BackendClient): void {
  const end = endOf(reason);
  if (end === 'broken') throw client.brokenOff(shown(reason));
  if (end === 'unreadable') throw client.unreadableCall(shown(reason));
}

/** The events at the end of an answer, or of one of its choices. To be called after `requireEnded`. */
export function finishEvents(reason: string | undefined, { hasCalls, choice = 0 }: { hasCalls: boolean; choice?: number }): ModelEvent[] {
  const at = choice === 0 ? {} : { choice };
  const finish = { type: 'finish' as const, reason: toFinishReason(reason, hasCalls), ...at };
  if (endOf(reason) !== 'unknown') return [finish];
  const word = shown(reason);
  const message = `The backend ended its answer with the finish reason "${word}", which the gateway does not know. The text stands, but only calls of functions that read are made.`;
  return [warningEvent({ code: 'finish_reason_unknown', message }), { ...finish, unknownReason: word }];
}

function plain(word: string): string {
  return word.trim().toLowerCase().replaceAll(/[_-]/g, '');
}

function shown(reason: string | undefined): string {
  return (reason ?? '').slice(0, shownCharacters).toWellFormed();
}
