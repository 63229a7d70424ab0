import type { ChatEvent } from '../../../core/chat/chat.ts';

/** The choice that an event belongs to; 0 is the first. */
export function choiceOf(event: ChatEvent): number {
  return 'choice' in event ? (event.choice ?? 0) : 0;
}

/** Whether an event belongs to another choice than the first, for dialects that have one answer, whatever `params` asks for. */
export function isOfFurtherChoice(event: ChatEvent): boolean {
  return choiceOf(event) !== 0;
}
