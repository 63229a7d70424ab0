import type { ChatEvent, FinishReason, Usage } from '../../../core/chat/chat.ts';
import { refusalIn } from '../../../core/chat/refusal.ts';
import { addUsage, usageDetail } from '../../../core/chat/usage.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import { GatewayAnswerFields } from '../answers/gateway-answer-fields.ts';

/** The fields at the end of an answer. */
interface AnswerEnding {
  note(event: ChatEvent): void;
  /** `stop_reason`, `stop_sequence` and `stop_details`. */
  stop(): JsonObject;
  usage(): JsonObject;
  /** Those of the gateway. */
  ownFields(): JsonObject;
}

const reasons: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

/** `stopSequences`: those of the request. */
export function createAnswerEnding(stopSequences: readonly string[]): AnswerEnding {
  const own = new GatewayAnswerFields();
  let sum: Usage | undefined;
  let reason: FinishReason = 'stop';
  let sequence: string | undefined;
  let isRefused = false;

  return {
    note(event) {
      if (event.type === 'finish') ({ reason } = event);
      else if (event.type === 'usage') sum = addUsage(sum, event.usage);
      else if (event.type === 'extra') {
        sequence ??= matchedSequence(event.fields, stopSequences);
        isRefused ||= refusalIn(event) !== '';
      } else own.note(event);
    },
    stop() {
      const hasStopped = reason === 'stop' && sequence !== undefined;
      const stopReason = isRefused && reason === 'stop' ? 'refusal' : hasStopped ? 'stop_sequence' : reasons[reason];
      const details = stopReason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null;
      return { stop_reason: stopReason, stop_sequence: stopReason === 'stop_sequence' ? (sequence ?? null) : null, stop_details: details };
    },
    usage: () => toUsage(sum),
    ownFields: () => own.toJson(),
  };
}

/** vLLM and SGLang say at which sequence an answer has stopped; others do not. */
function matchedSequence(fields: JsonObject, stopSequences: readonly string[]): string | undefined {
  return stopSequences.find((wanted) => wanted === fields['stop_reason'] || wanted === fields['matched_stop']);
}

/** Anthropic's `input_tokens` are those that were neither read from a cache nor written to it. Without a report of the backend, nothing is known. */
export function toUsage(usage: Usage | undefined): JsonObject {
  const cached = usageDetail(usage, 'prompt_tokens_details', 'cached_tokens');
  const created = usageDetail(usage, 'prompt_tokens_details', 'cache_creation_tokens') ?? 0;
  const thinking = usageDetail(usage, 'completion_tokens_details', 'reasoning_tokens');
  return {
    input_tokens: Math.max(0, (usage?.prompt_tokens ?? 0) - (cached ?? 0) - created),
    output_tokens: usage?.completion_tokens ?? 0,
    cache_creation_input_tokens: created,
    cache_read_input_tokens: cached ?? 0,
    output_tokens_details: thinking === undefined ? null : { thinking_tokens: thinking },
    server_tool_use: null,
  };
}
