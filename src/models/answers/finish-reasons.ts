import type { FinishReason } from '../../core/chat/chat.ts';

/** Normalizes a finish reason. Some servers send `stop` with calls, and `tool_calls` without any. */
export function toFinishReason(reason: string | undefined, hasCalls: boolean): FinishReason {
  switch ((reason ?? '').toLowerCase()) {
    case 'length':
    case 'max_tokens':
    case 'model_length':
      return 'length';
    case 'content_filter':
      return 'content_filter';
    default:
      return hasCalls ? 'tool_calls' : 'stop';
  }
}
