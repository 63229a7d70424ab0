import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ChatEvent, ChatMessage, Source, ToolMessage } from '../../core/chat/chat.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { LoopCheckpoint } from '../suspend/loop-checkpoint.ts';

/** How many calls a note names; it counts the others. */
const namedCalls = 8;

/** A run that continues a failed one. `ran`: the names of the calls that ran in the failed one. `hasTasks`: some of them have no result yet. */
export interface ContinuedRun {
  loop: LoopCheckpoint;
  sources: readonly Source[];
  ran: readonly string[];
  hasTasks?: boolean;
}

/** For people who read the answer, and for programs that read its warnings. */
function notRepeated({ ran, hasTasks = false }: ContinuedRun): string {
  const [calls, those, them] = ran.length === 1 ? ['this call', 'It is', 'it'] : ['these calls', 'They are', 'them'];
  const failed = hasTasks ? `was interrupted after ${calls} had begun` : `failed a moment ago, after ${calls} had run`;
  return `The same request ${failed}: ${named(ran)}. ${those} not repeated, and the answer continues from there. To run ${them} again, ask for that in a new message.`;
}

export function notRepeatedWarning(continued: ContinuedRun): ChatEvent {
  return warningEvent({ code: 'calls_not_repeated', message: notRepeated(continued) });
}

/**
 * Begins the answer with what is not repeated, and with the sources of the calls that have run, as soon as the model answers: until then an error can
 * still have an HTTP status. `isText`: the answer may have such a line.
 */
export function beginBehind(emit: Emit<ChatEvent>, continued: ContinuedRun, isText: boolean): Emit<ChatEvent> {
  let isDue = true;
  return (events) => {
    const start = isDue ? events.findIndex(isOfAnswer) : -1;
    if (start < 0) return emit(events);
    isDue = false;
    const line: ChatEvent[] = isText ? [{ type: 'text', text: `${notRepeated(continued)}\n\n` }] : [];
    return emit(events.toSpliced(start, 0, ...continued.sources.map((source): ChatEvent => ({ type: 'source', source })), ...line));
  };
}

/** The note is part of the last result, because not every model accepts another message there. */
export function withNote({ loop, ran }: ContinuedRun): LoopCheckpoint {
  // The results are still to come.
  if (loop.turn.calls.length > 0) return loop;
  const index = loop.messages.findLastIndex(({ role }) => role === 'tool');
  const note = `[The answer failed after these calls, and the user has repeated the request. These calls have run: ${named(ran)}. Do not repeat them unless the user asks for it in a later message.]`;
  const messages = loop.messages.map((message, position): ChatMessage =>
    position === index && message.role === 'tool' ? withText(message, note) : message,
  );
  return { ...loop, messages };
}

function withText(message: ToolMessage, note: string): ToolMessage {
  const { content } = message;
  if (typeof content === 'string') return content.endsWith(note) ? message : { ...message, content: `${content}\n\n${note}` };
  return { ...message, content: [...content, { type: 'text', text: note }] };
}

function named(ran: readonly string[]): string {
  const more = ran.length - namedCalls;
  return ran.slice(0, namedCalls).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function isOfAnswer(event: ChatEvent): boolean {
  if (event.type === 'run-event') return event.event.type === 'tool.call';
  return event.type !== 'usage' && event.type !== 'selecting' && event.type !== 'tool-list';
}
