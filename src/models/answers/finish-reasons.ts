import type { FinishReason } from '../../core/chat/chat.ts';

/** Normalizes a finish reason. Some servers send `stop` with calls, and `tool_calls` without any. */
export function toFinishReason(reason: string | undefined, hasCalls: boolean): FinishReason {
  switch ((reason ?? '').toLowerCase()) {
    case 'length':
    case 'max_tokens':
    case 'model_length':
    case 'model_context_window_exceeded':
      return 'length';
    case 'content_filter':
    case 'refusal':
      return 'content_filter';
    default:
      return hasCalls ? 'tool_calls' : 'stop';
  }
}
