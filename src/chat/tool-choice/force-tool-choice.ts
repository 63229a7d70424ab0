import type { ChatEvent, ToolCall } from '../../core/chat.ts';
import { isJsonObject, ownValue } from '../../shared/json.ts';
import type { JsonValue } from '../../shared/json.ts';
import type { ModelBackend, ModelRequest } from '../../core/model.ts';
import type { Asking } from '../../core/model-request-log.ts';
import { askModel } from '../loop/ask-model.ts';
import type { Turn } from '../loop/ask-model.ts';

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
 * Asks for a call that the request demands. Backends that take no notice of `tool_choice` answer in words: these are withheld, and the model
 * is asked once more, in words. When it still does not call, its words stand, with a warning.
 */
export async function* askForCall(backend: ModelBackend, request: ModelRequest, choice: ForcedChoice): AsyncGenerator<ChatEvent, Turn> {
  const first = yield* withholdText(askModel(backend, request));
  if (isObeyed(first.turn, choice)) return yield* release(first);
  const said: ModelRequest['messages'] = first.turn.text === '' ? [] : [{ role: 'assistant', content: first.turn.text, toolCalls: [] }];
  const messages: ModelRequest['messages'] = [...request.messages, ...said, { role: 'user', content: demand(request, choice) }];
  const asking: Asking = { purpose: 'round', ...request.asking, reason: 'no_call_made' };
  const second = yield* withholdText(askModel(backend, { ...request, messages, asking }));
  if (!isObeyed(second.turn, choice)) {
    const message = 'The request demands a call of a function, and the model made none, although it was asked twice.';
    yield { type: 'run-event', event: { type: 'warning', data: { code: 'tool_choice_not_honoured', message } } };
  }
  return yield* release(second);
}

interface WithheldTurn {
  turn: Turn;
  text: ChatEvent[];
}

async function* withholdText(asked: AsyncGenerator<ChatEvent, Turn>): AsyncGenerator<ChatEvent, WithheldTurn> {
  const text: ChatEvent[] = [];
  for (let next = await asked.next(); ; next = await asked.next()) {
    if (next.done === true) return { turn: next.value, text };
    if (next.value.type === 'text') text.push(next.value);
    else yield next.value;
  }
}

function* release({ turn, text }: WithheldTurn): Generator<ChatEvent, Turn> {
  yield* text;
  return turn;
}

/** What was cut or filtered is not asked for again: it would end in the same way. */
function isObeyed(turn: Turn, choice: ForcedChoice): boolean {
  return turn.finishReason === 'length' || turn.finishReason === 'content_filter' || turn.toolCalls.some((call) => isForced(call, choice));
}

function demand(request: ModelRequest, choice: ForcedChoice): string {
  if (choice.type === 'named') return `Answer by a call of the function ${choice.name}, not in words.`;
  const names = request.tools.slice(0, 20).map((spec) => spec.name);
  return `Answer by a call of one of the functions${names.length === 0 ? '' : ` (${names.join(', ')})`}, not in words.`;
}
