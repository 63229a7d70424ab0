import type { ChatEvent } from '../../core/chat/chat.ts';
import type { Emit } from '../../shared/async/emit.ts';

const lineBreak: ChatEvent = { type: 'text', text: '\n\n' };
/** Clients that leave out the notice leave this out, too. */
const noticeBreak: ChatEvent = { ...lineBreak, isNotice: true };

/** Inserts a blank line between the texts before and after tool calls, so that they do not run together. */
export class TurnSeparator {
  #lastCharacter = '';

  /** The events of a text that is a paragraph of its own. */
  paragraph(text: string): ChatEvent[] {
    const isBreakDue = this.#needsBreak();
    this.#lastCharacter = text.slice(-1);
    return [...(isBreakDue ? [lineBreak] : []), { type: 'text', text }];
  }

  /** Wraps the emitter of one turn. */
  separate(emit: Emit<ChatEvent>): Emit<ChatEvent> {
    let isBreakDue = this.#needsBreak();
    return (events) => {
      const last = events.findLast(isNonEmptyText);
      if (last === undefined) return emit(events);
      this.#lastCharacter = last.text.charAt(last.text.length - 1);
      if (!isBreakDue) return emit(events);
      isBreakDue = false;
      const at = events.findIndex(isNonEmptyText);
      return emit(events.toSpliced(at, 0, events.find(isNonEmptyText)?.isNotice === true ? noticeBreak : lineBreak));
    };
  }

  #needsBreak(): boolean {
    return this.#lastCharacter !== '' && this.#lastCharacter !== '\n';
  }
}

function isNonEmptyText(event: ChatEvent): event is ChatEvent & { type: 'text' } {
  return event.type === 'text' && event.text !== '';
}
