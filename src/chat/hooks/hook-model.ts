import { isDeepStrictEqual } from 'node:util';
import { textOf, type AssistantMessage, type ModelEvent } from '../../core/chat/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { ModelBackend } from '../../core/models/model.ts';
import type { HookedPurpose } from '../../core/tools/hooks.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { Emit } from '../../shared/async/emit.ts';
import type { RunHooks } from './run-hooks.ts';

/** Size of an answer that is buffered until `afterModel` has checked it. */
const heldAnswerCharacters = 4 * 1024 * 1024;

export interface HookedRun {
  hooks: RunHooks | undefined;
  run: RunContext;
}

/**
 * Wraps a backend with hooks. If there is an `afterModel` hook, which may change the answer, the answer is withheld until it is complete, so that no
 * client sees the original; otherwise it is streamed.
 */
export function withModelHooks(backend: ModelBackend, { hooks, run }: HookedRun, purpose: HookedPurpose): ModelBackend {
  if (hooks === undefined || (!hooks.hasBeforeModel(run) && !hooks.hasAfterModel(run))) return backend;
  return {
    async answer(request, emit) {
      const model = run.conversation?.model ?? request.model;
      const { messages, answer } = await hooks.beforeModel({ purpose, model, messages: request.messages, tools: request.tools }, run);
      const withheld = hooks.hasAfterModel(run) ? new WithheldAnswer() : undefined;
      const passOn: Emit<ModelEvent> = withheld === undefined ? emit : (events) => emit(events.filter((event) => !withheld.takes(event)));
      if (answer === undefined) await backend.answer({ ...request, messages: [...messages] }, passOn);
      else await passOn(eventsOf(answer, { finish: ended, choice: 0, reasoning: [] }));
      for (const [choice, { events, finish }] of withheld?.choices ?? []) {
        const message = messageOf(events);
        const changed = await hooks.afterModel(message, purpose, run);
        if (changed === undefined || isDeepStrictEqual(changed, message)) await emit(events);
        else {
          const reasoning = reasoningIn(changed) === reasoningIn(message) ? events.filter(({ type }) => type === 'reasoning') : [];
          await emit(eventsOf(changed, { finish, choice, reasoning }));
        }
      }
    },
  };
}

type Finish = Extract<ModelEvent, { type: 'finish' }>;

const ended: Finish = { type: 'finish', reason: 'stop' };

/** Buffers an answer until `afterModel` has processed all of it. */
class WithheldAnswer {
  readonly choices = new Map<number, { events: ModelEvent[]; finish: Finish }>();
  #characters = 0;

  /** Buffers the event if it is part of the answer, and returns whether it is. @throws GatewayError `hook_failed` if the answer is too long */
  takes(event: ModelEvent): boolean {
    if (event.type === 'usage' || event.type === 'selecting' || event.type === 'run-event') return false;
    if (event.type === 'extra' && event.level === 'response') return false;
    const index = event.choice ?? 0;
    const choice = this.choices.get(index) ?? { events: [], finish: ended };
    this.choices.set(index, choice);
    choice.events.push(event);
    if (event.type === 'finish') choice.finish = event;
    this.#characters += sizeOf(event);
    if (this.#characters <= heldAnswerCharacters) return true;
    throw new GatewayError(
      'hook_failed',
      `The answer is longer than ${heldAnswerCharacters} characters, the most that an afterModel hook can process.`,
    );
  }
}

function sizeOf(event: ModelEvent): number {
  if (event.type === 'text' || event.type === 'reasoning') return event.text.length;
  return event.type === 'tool-call' ? event.call.arguments.length + 100 : 100;
}

/** The field of a message for the model's reasoning, as most backends name it. */
const reasoningField = 'reasoning_content';

function messageOf(events: readonly ModelEvent[]): AssistantMessage {
  const textIn = (type: 'text' | 'reasoning'): string => events.map((event) => (event.type === type ? event.text : '')).join('');
  const [text, reasoning] = [textIn('text'), textIn('reasoning')];
  const toolCalls = events.flatMap((event) => (event.type === 'tool-call' ? [event.call] : []));
  const extra = reasoning === '' ? {} : { extra: { [reasoningField]: reasoning } };
  return { role: 'assistant', content: text === '' ? null : text, toolCalls, ...extra };
}

function reasoningIn({ extra }: AssistantMessage): string {
  const reasoning = extra?.[reasoningField];
  return typeof reasoning === 'string' ? reasoning : '';
}

/** The events of a message; `reasoning` are the original ones, if it was not changed. Opaque fields belong to the replaced answer and are dropped. */
function eventsOf(
  message: AssistantMessage,
  { finish, choice, reasoning }: { finish: Finish; choice: number; reasoning: readonly ModelEvent[] },
): ModelEvent[] {
  const at = choice === 0 ? {} : { choice };
  const text = textOf(message.content);
  const newReasoning = reasoning.length > 0 ? '' : reasoningIn(message);
  return [
    ...reasoning,
    ...(newReasoning === '' ? [] : [{ type: 'reasoning' as const, text: newReasoning, ...at }]),
    ...(text === '' ? [] : [{ type: 'text' as const, text, ...at }]),
    ...message.toolCalls.map((call) => ({ type: 'tool-call' as const, call, ...at })),
    { ...finish, reason: isWhole(finish) ? (message.toolCalls.length > 0 ? 'tool_calls' : 'stop') : finish.reason, ...at },
  ];
}

/** Calls in an answer that was cut off or filtered never run, even if a hook has changed the answer. */
function isWhole({ reason }: Finish): boolean {
  return reason === 'stop' || reason === 'tool_calls';
}
