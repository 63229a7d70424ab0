import { describe, expect, it } from 'vitest';
import { endOf, moreExactReason, toFinishReason, type AnswerEnd } from '../../../src/models/answers/finish-reasons.ts';

describe('the end of an answer', () => {
  it.each<[AnswerEnd, (string | undefined)[]]>([
    [
      'success',
      [
        undefined,
        '',
        'stop',
        'STOP',
        'eos',
        'eos_token',
        'stop_sequence',
        'end_turn',
        'endTurn',
        'COMPLETE',
        'completed',
        'load',
        'unload',
        'end',
        'done',
        'normal',
        'stop_token',
        'stop_sequence_reached',
        'end_of_turn',
        'FINISH_REASON_STOP',
      ],
    ],
    ['calls', ['tool_calls', 'tool-calls', 'function_call', 'tool_use', 'TOOL_CALL']],
    [
      'length',
      [
        'length',
        'max_tokens',
        'MAX_TOKENS',
        'model_length',
        'max_output_tokens',
        'model_context_window_exceeded',
        'TOKEN_LIMIT',
        'maximum_tokens',
        'FINISH_REASON_MAX_TOKENS',
      ],
    ],
    [
      'filter',
      [
        'content_filter',
        'SAFETY',
        'RECITATION',
        'refusal',
        'sensitive',
        'content_filter: PROHIBITED_CONTENT',
        'Safety:high',
        'blacklist',
        'MODEL_ARMOR',
      ],
    ],
    [
      'broken',
      [
        'abort',
        'error',
        'insufficient_system_resource',
        'network_error',
        'failed',
        'cancelled',
        'Error: the engine is gone',
        'TIME_LIMIT',
        'internal_server_error',
      ],
    ],
    ['unreadable', ['function_call_filter: MALFORMED_FUNCTION_CALL', 'MALFORMED_FUNCTION_CALL', 'malformed_tool_use']],
    ['unknown', ['flow_halted', 'stopped by magic', 'stop!', 'filter']],
  ])('is %s for its words, in any case and with any detail', (end, words) => {
    expect(words.map((word) => [word, endOf(word)])).toEqual(words.map((word) => [word, end]));
  });

  it('is that of the provider behind a router, where the provider could not read a call', () => {
    expect(moreExactReason('error', 'MALFORMED_FUNCTION_CALL')).toBe('MALFORMED_FUNCTION_CALL');
    expect(moreExactReason('error', 'STOP')).toBe('error');
    expect(moreExactReason('stop', 'MALFORMED_FUNCTION_CALL')).toBe('stop');
    expect(moreExactReason('error', undefined)).toBe('error');
  });

  it('is told to clients in four words, of which calls decide one', () => {
    expect(toFinishReason('stop', true)).toBe('tool_calls');
    expect(toFinishReason('tool_calls', false)).toBe('stop');
    expect(toFinishReason('max_tokens', true)).toBe('length');
    expect(toFinishReason('content_filter: SAFETY', true)).toBe('content_filter');
    expect(toFinishReason('flow_halted', false)).toBe('stop');
  });
});
