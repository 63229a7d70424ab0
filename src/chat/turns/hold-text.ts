import type { ChatEvent } from '../../core/chat/chat.ts';
import type { Emit } from '../../shared/async/emit.ts';

/** The texts of one turn in an answer with a demanded format. Text before calls would break the format. */
export interface HeldText {
  emit: Emit<ChatEvent>;
  /** The turn is the answer. */
  release(): Promise<void> | undefined;
}

/**
 * Holds the text of a turn until it is known whether the turn is the answer. `isStreamed`: text that begins like JSON is passed on at
 * once, because it is most likely the answer, and readers of a stream want to see it early.
 */
export function holdText(emit: Emit<ChatEvent>, isStreamed: boolean): HeldText {
  const held: ChatEvent[] = [];
  let isPassing = false;
  return {
    emit(events) {
      if (isPassing) return emit(events);
      isPassing = isStreamed && /^\s*[{[]/.test(textIn([...held, ...events]));
      if (isPassing) return emit([...held.splice(0), ...events]);
      held.push(...events.filter(({ type }) => type === 'text'));
      return emit(events.filter(({ type }) => type !== 'text'));
    },
    release: () => emit(held.splice(0)),
  };
}

function textIn(events: readonly ChatEvent[]): string {
  let text = '';
  for (const event of events) if (event.type === 'text' && text.trim() === '') text += event.text;
  return text;
}
