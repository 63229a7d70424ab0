import type { ChatEvent, FinishReason, ToolCall } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ModelBackend, ModelRequest } from '../../core/model.ts';
import type { Asking } from '../../core/model-request-log.ts';

/** What one answer of a model came to. */
export interface Turn {
  text: string;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  /** The reasoning before calls, under the names that the backend has given it: it may want it back with them (DeepSeek answers 400 without). */
  thought?: JsonObject;
  /** Neither text nor anything else that a client would see as an answer (a refusal, audio). */
  isSilent: boolean;
}

/** Asks once, passes words on as they come, and returns the turn; calls and the finish are kept for the loop to decide on. */
export async function* askModel(backend: ModelBackend, request: ModelRequest): AsyncGenerator<ChatEvent, Turn> {
  const turn: Turn = { text: '', toolCalls: [], finishReason: 'stop', isSilent: true };
  for await (const event of backend.chat(request)) {
    if (event.type === 'tool-call') turn.toolCalls.push(event.call);
    else if (event.type === 'finish') turn.finishReason = event.reason;
    else if (event.type === 'thought') turn.thought = { ...turn.thought, ...event.fields };
    else {
      if (event.type === 'text') turn.text += event.text;
      else if (event.type === 'reasoning' && event.field !== undefined) addThought(turn, event.text, event.field);
      if ((event.type === 'text' && event.text !== '') || (event.type === 'extra' && event.level === 'delta')) turn.isSilent = false;
      yield event;
    }
  }
  return turn;
}

function addThought(turn: Turn, text: string, field: string): void {
  turn.thought ??= {};
  const before = turn.thought[field];
  turn.thought[field] = typeof before === 'string' ? before + text : text;
}

/**
 * Asks for the answer that ends a run: without tools, so that the model has to speak. A backend that refuses a history with calls
 * but without `tools` gets them back with `tool_choice: "none"`.
 */
export async function* askForAnswer(backend: ModelBackend, request: ModelRequest): AsyncGenerator<ChatEvent, Turn> {
  const asking: Asking = { purpose: 'last_answer' };
  const withoutTools: ModelRequest = {
    ...request,
    tools: [],
    callerTools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    asking,
  };
  let hasSpoken = false;
  try {
    const asked = askModel(backend, withoutTools);
    for (let next = await asked.next(); ; next = await asked.next()) {
      if (next.done === true) return next.value;
      hasSpoken = true;
      yield next.value;
    }
  } catch (error) {
    const isRefusal = error instanceof GatewayError && error.code === 'upstream_rejected';
    if (!isRefusal || hasSpoken) throw error;
  }
  return yield* askModel(backend, { ...request, toolChoice: 'none', asking: { ...asking, reason: 'functions_missed' } });
}
