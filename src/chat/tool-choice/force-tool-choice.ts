import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ChatEvent, ToolCall } from '../../core/chat/chat.ts';
import { isJsonObject, ownValue, type JsonValue } from '../../shared/json/json.ts';
import type { ModelBackend, ModelRequest } from '../../core/models/model.ts';
import type { RequestPurpose } from '../../core/models/model-request-log.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { requestTurn, type Turn } from '../turns/request-turn.ts';

/** A `tool_choice` that requires a call: of any function, or of a named one. */
export type ForcedChoice = { type: 'any' } | { type: 'named'; name: string };

/** The forced choice for `required` or a named function; undefined for everything else. */
export function forcedChoiceIn(toolChoice: JsonValue | undefined): ForcedChoice | undefined {
  if (toolChoice === 'required') return { type: 'any' };
  const named = isJsonObject(toolChoice) ? ownValue(toolChoice, 'function') : undefined;
  const name = isJsonObject(named) ? ownValue(named, 'name') : undefined;
  return typeof name === 'string' ? { type: 'named', name } : undefined;
}

/** Whether a call fulfils the forced choice. */
export function isForced(call: ToolCall, choice: ForcedChoice): boolean {
  return choice.type === 'any' || call.name === choice.name;
}

/**
 * Requests a forced call. Backends that ignore `tool_choice` answer with text: this is withheld, and the request is repeated with an instruction. If
 * the model still makes no call, its text is the answer, with a warning.
 */
export async function requestCall(
  backend: ModelBackend,
  request: ModelRequest,
  { choice, emit }: { choice: ForcedChoice; emit: Emit<ChatEvent> },
): Promise<Turn> {
  const first = await requestWithheld(backend, request, emit);
  if (isFulfilled(first.turn, choice)) return release(first, emit);
  const said: ModelRequest['messages'] = first.turn.text === '' ? [] : [{ role: 'assistant', content: first.turn.text, toolCalls: [] }];
  const messages: ModelRequest['messages'] = [...request.messages, ...said, { role: 'user', content: demand(request, choice) }];
  const purpose: RequestPurpose = { type: 'round', ...request.purpose, reason: 'no_call_made' };
  const second = await requestWithheld(backend, { ...request, messages, purpose }, emit);
  if (!isFulfilled(second.turn, choice)) {
    const message = 'The request demands a call of a function, and the model made none, although it was requested twice.';
    await emit([warningEvent({ code: 'tool_choice_not_honoured', message })]);
  }
  return release(second, emit);
}

interface WithheldTurn {
  turn: Turn;
  text: ChatEvent[];
}

async function requestWithheld(backend: ModelBackend, request: ModelRequest, emit: Emit<ChatEvent>): Promise<WithheldTurn> {
  const text: ChatEvent[] = [];
  const turn = await requestTurn(backend, request, (events) => {
    text.push(...events.filter(({ type }) => type === 'text'));
    return emit(events.filter(({ type }) => type !== 'text'));
  });
  return { turn, text };
}

async function release({ turn, text }: WithheldTurn, emit: Emit<ChatEvent>): Promise<Turn> {
  await emit(text);
  return turn;
}

/** An answer that was cut off or filtered is not requested again, because it would end the same way. */
function isFulfilled(turn: Turn, choice: ForcedChoice): boolean {
  return turn.finishReason === 'length' || turn.finishReason === 'content_filter' || turn.toolCalls.some((call) => isForced(call, choice));
}

function demand(request: ModelRequest, choice: ForcedChoice): string {
  if (choice.type === 'named') return `Answer by a call of the function ${choice.name}, not in words.`;
  const names = request.tools.slice(0, 20).map((spec) => spec.name);
  return `Answer by a call of one of the functions${names.length === 0 ? '' : ` (${names.join(', ')})`}, not in words.`;
}
