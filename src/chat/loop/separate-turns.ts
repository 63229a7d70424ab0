import type { ChatEvent } from '../../core/chat.ts';
import type { Turn } from './ask-model.ts';

export interface TurnSeparator {
  separate(turn: AsyncGenerator<ChatEvent, Turn>): AsyncGenerator<ChatEvent, Turn>;
}

/** What a model says before a call and after it are two paragraphs, not one word run into another. */
export function createTurnSeparator(): TurnSeparator {
  let lastCharacter = '';
  return {
    async *separate(turn) {
      let isFirstText = lastCharacter !== '' && lastCharacter !== '\n';
      for (let next = await turn.next(); ; next = await turn.next()) {
        if (next.done === true) return next.value;
        const event = next.value;
        if (event.type === 'text' && event.text !== '') {
          if (isFirstText) yield { type: 'text', text: '\n\n' };
          isFirstText = false;
          lastCharacter = event.text.slice(-1);
        }
        yield event;
      }
    },
  };
}
