import type { AssistantMessage, FinishReason, ModelEvent } from '../../core/chat.ts';
import { textOf } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../core/model.ts';
import type { RunContext } from '../../core/run.ts';
import type { RunHooks } from './run-hooks.ts';

/**
 * A backend with hooks before and after it. What `afterModel` may change is held until it is whole, so that nobody has read it before; without such a
 * hook an answer streams as ever.
 */
export function withModelHooks(backend: ModelBackend, hooks: RunHooks | undefined, run: RunContext): ModelBackend {
  if (hooks === undefined || (!hooks.asksBeforeModel && !hooks.asksAfterModel)) return backend;
  return {
    async *chat(request) {
      const answer = answerOf(backend, request, { hooks, run });
      yield* hooks.asksAfterModel ? judged(answer, hooks, run) : answer;
    },
  };
}

async function* answerOf(
  backend: ModelBackend,
  request: ModelRequest,
  { hooks, run }: { hooks: RunHooks; run: RunContext },
): AsyncGenerator<ModelEvent> {
  const model = run.conversation?.model ?? request.model;
  const { messages, answer } = await hooks.beforeModel({ model, messages: request.messages, tools: request.tools }, run);
  if (answer !== undefined) yield* eventsOf(answer, 'stop', 0);
  else yield* backend.chat({ ...request, messages: [...messages] });
}

interface Held {
  events: ModelEvent[];
  text: string;
  reason: FinishReason;
}

async function* judged(answer: AsyncIterable<ModelEvent>, hooks: RunHooks, run: RunContext): AsyncGenerator<ModelEvent> {
  const choices = new Map<number, Held>();
  let characters = 0;
  for await (const event of answer) {
    if (event.type === 'usage' || event.type === 'run-event' || (event.type === 'extra' && event.level === 'response')) {
      yield event;
      continue;
    }
    const choice = event.choice ?? 0;
    const held = choices.get(choice) ?? { events: [], text: '', reason: 'stop' };
    choices.set(choice, held);
    held.events.push(event);
    if (event.type === 'text') held.text += event.text;
    if (event.type === 'finish') held.reason = event.reason;
    characters += sizeOf(event);
    if (characters > limits.heldAnswerCharacters) {
      throw new GatewayError(
        'hook_failed',
        `The answer is longer than ${limits.heldAnswerCharacters} characters, which is all that an afterModel hook can judge.`,
      );
    }
  }
  for (const [choice, { events, text, reason }] of choices) {
    const toolCalls = events.flatMap((event) => (event.type === 'tool-call' ? [event.call] : []));
    const changed = await hooks.afterModel({ role: 'assistant', content: text === '' ? null : text, toolCalls }, run);
    yield* changed === undefined ? events : eventsOf(changed, reason, choice);
  }
}

function sizeOf(event: ModelEvent): number {
  if (event.type === 'text' || event.type === 'reasoning') return event.text.length;
  return event.type === 'tool-call' ? event.call.arguments.length + 100 : 100;
}

/** What the model thought belonged to the words that were replaced, and is left out with them. */
function* eventsOf(message: AssistantMessage, reason: FinishReason, choice: number): Generator<ModelEvent> {
  const place = choice === 0 ? {} : { choice };
  const text = textOf(message.content);
  if (text !== '') yield { type: 'text', text, ...place };
  for (const call of message.toolCalls) yield { type: 'tool-call', call, ...place };
  yield { type: 'finish', reason: message.toolCalls.length > 0 ? 'tool_calls' : reason === 'tool_calls' ? 'stop' : reason, ...place };
}
