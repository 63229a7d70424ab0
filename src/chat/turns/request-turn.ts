import type { ChatEvent, FinishReason, ToolCall } from '../../core/chat/chat.ts';
import { readEndMarks } from '../../shared/text/end-marks.ts';
import { isBlank } from '../../shared/text/is-blank.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { ModelBackend, ModelRequest } from '../../core/models/model.ts';

/** A turn: one response of the model. */
export interface Turn {
  text: string;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  /** As in the event `finish`. */
  unknownReason?: string;
  /** The reasoning before calls, in the backend's own fields, because it may need them back with the results (DeepSeek answers 400 without). */
  thought?: JsonObject;
  /** As in `AssistantMessage`. */
  writtenBy?: string;
  /** There is no text but blanks, nor anything else that a client would show as an answer (a refusal, audio). */
  isSilent: boolean;
}

/** Streams the text of one turn. Calls and the finish reason are returned, because the loop decides about them. */
export async function requestTurn(backend: ModelBackend, request: ModelRequest, emit: Emit<ChatEvent>): Promise<Turn> {
  const turn: Turn = { text: '', toolCalls: [], finishReason: 'stop', isSilent: true };
  const held = new HeldMarks();
  await backend.answer(request, (events) => {
    const shown: ChatEvent[] = [];
    for (const event of events) {
      const passed = event.type === 'text' && turn.isSilent ? held.pass(event) : event;
      if (passed !== undefined && addToTurn(passed, turn)) shown.push(passed);
    }
    return emit(shown);
  });
  const rest = held.end();
  if (rest !== undefined && addToTurn(rest, turn)) await emit([rest]);
  return turn;
}

type TextEvent = ChatEvent & { type: 'text' };

/** Holds end marks back until the turn has other text: a turn that consists of end marks is silent. */
class HeldMarks {
  #held: TextEvent | undefined;

  /** The text so far; undefined while it is held back. */
  pass(event: TextEvent): TextEvent | undefined {
    const text = this.#held === undefined ? event : { ...event, text: this.#held.text + event.text };
    const isText = readEndMarks(text.text) === 'text';
    this.#held = isText ? undefined : text;
    return isText ? text : undefined;
  }

  /** Half a mark is text. */
  end(): TextEvent | undefined {
    return this.#held === undefined || readEndMarks(this.#held.text) === 'marks' ? undefined : this.#held;
  }
}

/** Adds an event to the turn, and returns whether clients get it. */
function addToTurn(event: ChatEvent, turn: Turn): boolean {
  switch (event.type) {
    case 'tool-call':
      turn.toolCalls.push(event.call);
      return false;
    case 'finish':
      turn.finishReason = event.reason;
      if (event.unknownReason !== undefined) turn.unknownReason = event.unknownReason;
      return false;
    case 'thought':
      turn.thought = { ...turn.thought, ...event.fields };
      return false;
    case 'text':
      turn.text += event.text;
      if (turn.isSilent && !isBlank(event.text)) turn.isSilent = false;
      return true;
    case 'reasoning':
      if (event.field !== undefined) addReasoning(turn, event.text, event.field);
      return true;
    case 'extra':
      if (event.level === 'delta') turn.isSilent = false;
      return true;
    case 'usage':
    case 'selecting':
    case 'run-event':
    case 'source':
    case 'approval':
    case 'connect':
    case 'tool-list':
      return true;
  }
}

function addReasoning(turn: Turn, text: string, field: string): void {
  turn.thought ??= {};
  const before = turn.thought[field];
  turn.thought[field] = typeof before === 'string' ? before + text : text;
}

/** Requests the answer that ends a run, without functions, so that the model has to answer. */
export function requestLastAnswer(backend: ModelBackend, request: ModelRequest, emit: Emit<ChatEvent>): Promise<Turn> {
  const { tools, callerTools, parallelToolCalls } = request;
  const withheld = { tools, callerTools, parallelToolCalls };
  const none = { tools: [], callerTools: [], toolChoice: undefined, parallelToolCalls: undefined };
  return requestTurn(backend, { ...request, ...none, withheld, purpose: { type: 'last_answer' } }, emit);
}
