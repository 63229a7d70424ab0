import { addThoughts } from '../../../chat/thoughts/thought-fields.ts';
import type { AssistantMessage, ChatEvent, ChatMessage, ToolCall } from '../../../core/chat/chat.ts';
import { refusalAsText } from '../../../core/chat/refusal.ts';
import { limits } from '../../../core/limits.ts';
import type { JsonObject } from '../../../shared/json/json.ts';

/** Collects from the events of a run what it adds to its conversation. */
interface AddedMessages {
  note(events: readonly ChatEvent[]): void;
  /** `transcript`: the rounds of the run, and its answer if there is one. An answer that was cut off is stored up to there. */
  after(transcript: readonly ChatMessage[], outcome: 'answered' | 'cancelled' | 'failed'): ChatMessage[];
  /** The run has ended with calls that are returned to the client. */
  readonly hasReturnedCalls: boolean;
}

/** The text that a model reads instead of a missing answer: some models refuse two messages of the user in a row. */
const missing = { answered: 'There was no answer.', cancelled: 'The answer was cancelled.', failed: 'The answer failed.' } as const;

export function createAddedMessages(): AddedMessages {
  let text = '';
  const calls: ToolCall[] = [];
  /** What the model wants back with its calls. */
  let fields: JsonObject = {};

  return {
    note(events) {
      for (const event of events.map(refusalAsText)) {
        if (event.type === 'text' && (event.choice ?? 0) === 0 && text.length <= limits.socketFrameBytes) text += event.text;
        else if (event.type === 'tool-call' && (event.choice ?? 0) === 0) calls.push(event.call);
        else if (event.type === 'thought' && (event.choice ?? 0) === 0) fields = { ...fields, ...event.fields };
        else if (event.type === 'reasoning' && event.field !== undefined && (event.choice ?? 0) === 0)
          fields = addThoughts(fields, { [event.field]: event.text });
        // Text before calls is in their message.
        else if (event.type === 'run-event' && event.event.type === 'tool.call') text = '';
      }
    },
    after(transcript, outcome) {
      const last = transcript.at(-1);
      const isKnown = calls.every(({ id }) => transcript.some((message) => hasCall(message, id)));
      if (calls.length > 0) return isKnown ? [...transcript] : [...transcript, { ...spoken(text, calls), ...withFields(fields) }];
      if (last?.role === 'assistant' && last.toolCalls.length === 0) return [...transcript];
      return [...transcript, spoken(text.trim() || missing[outcome], [])];
    },
    get hasReturnedCalls() {
      return calls.length > 0;
    },
  };
}

function hasCall(message: ChatMessage, id: string): boolean {
  return message.role === 'assistant' && message.toolCalls.some((call) => call.id === id);
}

function withFields(fields: JsonObject): Pick<AssistantMessage, 'extra'> {
  return Object.keys(fields).length === 0 ? {} : { extra: fields };
}

function spoken(text: string, toolCalls: ToolCall[]): AssistantMessage {
  return { role: 'assistant', content: text === '' ? null : text, toolCalls };
}
