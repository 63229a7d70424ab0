import type { ChatEvent, ChatMessage } from '../../core/chat/chat.ts';
import { textOf } from '../../core/chat/chat.ts';
import type { Emit } from '../../shared/async/emit.ts';

/** Notes whether a run has shown text to its user, which another model must not continue. */
export class ShownText {
  #isShown = false;

  get isShown(): boolean {
    return this.#isShown;
  }

  /** What the run had added to the conversation before it was resumed. */
  noteEarlier(messages: readonly ChatMessage[]): void {
    this.#isShown ||= messages.some(({ role, content }) => role === 'assistant' && textOf(content) !== '');
  }

  watch(emit: Emit<ChatEvent>): Emit<ChatEvent> {
    return (events) => {
      this.#isShown ||= events.some(isShown);
      return emit(events);
    };
  }
}

/** Text, and what clients show in its place, such as a refusal. */
function isShown(event: ChatEvent): boolean {
  if (event.type === 'text') return event.text !== '' && event.isNotice !== true;
  return event.type === 'extra' && event.level === 'delta';
}
