import type { ChatEvent } from '../../core/chat.ts';
import type { Emit } from '../../shared/emit.ts';

export interface TurnSeparator {
  /** For the events of one turn. */
  separate(emit: Emit<ChatEvent>): Emit<ChatEvent>;
}

/** What a model says before a call and after it are two paragraphs, not one word run into another. */
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
