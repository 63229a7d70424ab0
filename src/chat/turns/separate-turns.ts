import type { ChatEvent } from '../../core/chat/chat.ts';
import type { Emit } from '../../shared/async/emit.ts';

export interface TurnSeparator {
  /** Wraps the emitter of one turn. */
  separate(emit: Emit<ChatEvent>): Emit<ChatEvent>;
  /** The events of a text that is a paragraph of its own. */
  paragraph(text: string): ChatEvent[];
}

const lineBreak: ChatEvent = { type: 'text', text: '\n\n' };
/** Clients that leave out the notice leave this out, too. */
const noticeBreak: ChatEvent = { ...lineBreak, isNotice: true };

/** Inserts a blank line between the texts before and after tool calls, so that they do not run together. */
export function createTurnSeparator(): TurnSeparator {
  let lastCharacter = '';
  const needsBreak = (): boolean => lastCharacter !== '' && lastCharacter !== '\n';
  return {
    paragraph(text) {
      const isBreakDue = needsBreak();
      lastCharacter = text.slice(-1);
      return [...(isBreakDue ? [lineBreak] : []), { type: 'text', text }];
    },
    separate(emit) {
      let isBreakDue = needsBreak();
      return (events) => {
        const last = events.findLast(isNonEmptyText);
        if (last === undefined) return emit(events);
        lastCharacter = last.text.slice(-1);
        if (!isBreakDue) return emit(events);
        isBreakDue = false;
        return emit(
          events.toSpliced(events.findIndex(isNonEmptyText), 0, events.find(isNonEmptyText)?.isNotice === true ? noticeBreak : lineBreak),
        );
      };
    },
  };
}

function isNonEmptyText(event: ChatEvent): event is ChatEvent & { type: 'text' } {
  return event.type === 'text' && event.text !== '';
}
