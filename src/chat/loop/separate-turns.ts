import type { ChatEvent } from '../../core/chat.ts';
import type { Emit } from '../../shared/emit.ts';

export interface TurnSeparator {
  /** Wraps the emitter of one turn. */
  separate(emit: Emit<ChatEvent>): Emit<ChatEvent>;
}

/** Inserts a blank line between the texts before and after tool calls, so that they do not run together. */
export function createTurnSeparator(): TurnSeparator {
  let lastCharacter = '';
  return {
    separate(emit) {
      let isBreakDue = lastCharacter !== '' && lastCharacter !== '\n';
      return (events) => {
        const last = events.findLast(isWords);
        if (last === undefined) return emit(events);
        lastCharacter = last.text.slice(-1);
        if (!isBreakDue) return emit(events);
        isBreakDue = false;
        return emit(events.toSpliced(events.findIndex(isWords), 0, { type: 'text', text: '\n\n' }));
      };
    },
  };
}

function isWords(event: ChatEvent): event is ChatEvent & { type: 'text' } {
  return event.type === 'text' && event.text !== '';
}
