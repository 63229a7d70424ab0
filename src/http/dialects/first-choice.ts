import type { ChatEvent } from '../../core/chat.ts';

/** Whether an event is of another choice than the first, for dialects that have one answer, whatever `params` has asked for. */
export function isOfFurtherChoice(event: ChatEvent): boolean {
  return 'choice' in event && event.choice !== undefined && event.choice !== 0;
}
