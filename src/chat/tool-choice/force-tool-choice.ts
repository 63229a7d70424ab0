import type { ChatEvent, ToolCall } from '../../core/chat.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonValue } from '../../shared/json.ts';
import type { ModelBackend, ModelRequest } from '../../core/model.ts';
import type { RequestPurpose } from '../../core/model-request-log.ts';
import type { Emit } from '../../shared/emit.ts';
import { requestModel } from '../loop/request-model.ts';
import type { Turn } from '../loop/request-model.ts';

/** A choice that leaves a model no freedom: some function, or this one. */
export type ForcedChoice = { type: 'any' } | { type: 'named'; name: string };

/** `required` and a named function; everything else forces nothing. */
export function forcedChoiceIn(toolChoice: JsonValue | undefined): ForcedChoice | undefined {
  if (toolChoice === 'required') return { type: 'any' };
  const named = isJsonObject(toolChoice) ? ownValue(toolChoice, 'function') : undefined;
  const name = isJsonObject(named) ? ownValue(named, 'name') : undefined;
  return typeof name === 'string' ? { type: 'named', name } : undefined;
}

/** Whether a call is what was forced. */
export function isForced(call: ToolCall, choice: ForcedChoice): boolean {
  return choice.type === 'any' || call.name === choice.name;
}

/**
 * Requests a call that is demanded. Backends that ignore `tool_choice` answer in words: these are withheld, and the demand is repeated in
 * words. When it still does not call, its words stand, with a warning.
 */
export async function requestCall(
  backend: ModelBackend,
  request: ModelRequest,
  { choice, emit }: { choice: ForcedChoice; emit: Emit<ChatEvent> },
): Promise<Turn> {
  const first = await requestWithheld(backend, request, emit);
  if (isObeyed(first.turn, choice)) return release(first, emit);
  const said: ModelRequest['messages'] = first.turn.text === '' ? [] : [{ role: 'assistant', content: first.turn.text, toolCalls: [] }];
  const messages: ModelRequest['messages'] = [...request.messages, ...said, { role: 'user', content: demand(request, choice) }];
  const purpose: RequestPurpose = { type: 'round', ...request.purpose, reason: 'no_call_made' };
  const second = await requestWithheld(backend, { ...request, messages, purpose }, emit);
  if (!isObeyed(second.turn, choice)) {
    const message = 'The request demands a call of a function, and the model made none, although it was requested twice.';
    await emit([{ type: 'run-event', event: { type: 'warning', data: { code: 'tool_choice_not_honoured', message } } }]);
  }
  return release(second, emit);
}

interface WithheldTurn {
  turn: Turn;
  text: ChatEvent[];
}

async function requestWithheld(backend: ModelBackend, request: ModelRequest, emit: Emit<ChatEvent>): Promise<WithheldTurn> {
  const text: ChatEvent[] = [];
  const turn = await requestModel(backend, request, (events) => {
    text.push(...events.filter(({ type }) => type === 'text'));
    return emit(events.filter(({ type }) => type !== 'text'));
  });
  return { turn, text };
}

async function release({ turn, text }: WithheldTurn, emit: Emit<ChatEvent>): Promise<Turn> {
  await emit(text);
  return turn;
}

/** What was cut or filtered is not requested again: it would end in the same way. */
function isObeyed(turn: Turn, choice: ForcedChoice): boolean {
  return turn.finishReason === 'length' || turn.finishReason === 'content_filter' || turn.toolCalls.some((call) => isForced(call, choice));
}

function demand(request: ModelRequest, choice: ForcedChoice): string {
  if (choice.type === 'named') return `Answer by a call of the function ${choice.name}, not in words.`;
  const names = request.tools.slice(0, 20).map((spec) => spec.name);
  return `Answer by a call of one of the functions${names.length === 0 ? '' : ` (${names.join(', ')})`}, not in words.`;
}
