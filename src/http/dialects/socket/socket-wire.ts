import type { ChatEvent, FinishReason, Source, ToolCall, Usage } from '../../../core/chat/chat.ts';
import { CallerWarnings, modelThatAnswers } from '../../../core/chat/caller-warning.ts';
import { GatewayError } from '../../../core/errors.ts';
import { isJsonObject, ownValue, type JsonObject } from '../../../shared/json/json.ts';
import { limits } from '../../../core/limits.ts';
import type { DataOf, RunEvent } from '../../../core/chat/run-event.ts';
import { refusalAsText } from '../../../core/chat/refusal.ts';
import { addUsage } from '../../../core/chat/usage.ts';
import { textOfResult } from '../../../chat/results/result-text.ts';
import { isNotStored } from '../answers/not-stored.ts';
import { toWireCall } from '../chat-completions/openai-wire.ts';

/** Identifies a chat in its frames. */
export interface ChatHead {
  runId: string;
  model: string;
  chatId: string | undefined;
  /** The `id` of the message frame, with which a client can tell its chats apart before it knows the ids of their runs. */
  messageId: string | undefined;
}

/** Turns the events of one run into frames. Only for the first choice, because a browser shows one answer. */
export class ChatFrames {
  readonly #head: ChatHead;
  readonly #sources: Source[] = [];
  readonly #callerCalls: ToolCall[] = [];
  readonly #warnings = new CallerWarnings();
  #announced: JsonObject[] = [];
  #usage: Usage | undefined;
  #finishReason: FinishReason = 'stop';
  #content = '';
  #isUnstored = false;
  /** Of the model that answered in place of the one that was named. */
  #model: string | undefined;

  constructor(head: ChatHead) {
    this.#head = head;
  }

  start(): JsonObject {
    const { runId, model, chatId, messageId } = this.#head;
    return flatFrame('assistant_start', { run_id: runId, model, chat_id: chatId ?? null, message_id: messageId ?? null });
  }

  of(given: ChatEvent): JsonObject[] {
    const event = refusalAsText(given);
    const { runId } = this.#head;
    switch (event.type) {
      case 'text':
        if (isOtherChoice(event)) return [];
        if (this.#content.length <= limits.socketFrameBytes) this.#content += event.text;
        return [...this.pendingCalls(), flatFrame('assistant_chunk', { content: event.text, run_id: runId })];
      case 'reasoning':
        if (isOtherChoice(event)) return [];
        return [...this.pendingCalls(), flatFrame('reasoning_chunk', { content: event.text, run_id: runId })];
      case 'run-event':
        return this.#runEvent(event.event);
      case 'tool-call':
        if (!isOtherChoice(event)) this.#callerCalls.push(event.call);
        return [];
      case 'source':
        this.#sources.push(event.source);
        return [];
      case 'usage':
        this.#usage = addUsage(this.#usage, event.usage);
        return [];
      case 'finish':
        if (!isOtherChoice(event)) this.#finishReason = event.reason;
        return [];
      // Tokens are for clients without a session.
      case 'approval':
      case 'connect':
      case 'selecting':
      case 'tool-list':
      case 'thought':
      case 'extra':
        return [];
      default:
        return event satisfies never;
    }
  }

  /** The calls announced since the last frame, as one `tool_calls_start`; empty when there are none. */
  pendingCalls(): JsonObject[] {
    if (this.#announced.length === 0) return [];
    const tools = this.#announced;
    this.#announced = [];
    return [flatFrame('tool_calls_start', { tools, run_id: this.#head.runId })];
  }

  end(): JsonObject {
    return this.#lastFrame(this.#finishReason);
  }

  cancelled(): JsonObject {
    return this.#lastFrame('cancelled');
  }

  #runEvent(event: RunEvent): JsonObject[] {
    this.#warnings.add(event);
    this.#model = modelThatAnswers(event) ?? this.#model;
    this.#isUnstored ||= isNotStored(event);
    const frame = eventFrame(this.#head, event);
    if (event.type === 'tool.call') {
      const { id, tool: name, args } = event.data;
      this.#announced.push({ id, name, args });
      return [frame];
    }
    return [...this.pendingCalls(), frame, ...(event.type === 'tool.result' ? [toolCallFrame(event.data, this.#head.runId)] : [])];
  }

  #lastFrame(finish_reason: string): JsonObject {
    return flatFrame('assistant_end', {
      finish_reason,
      usage: this.#usage ?? null,
      sources: this.#sources,
      ...(this.#warnings.list.length > 0 && { warnings: this.#warnings.list.map((warning) => ({ ...warning })) }),
      ...(this.#model !== undefined && { model: this.#model }),
      ...(this.#isUnstored && { store: false }),
      run_id: this.#head.runId,
      // A broken socket may have lost chunks; with the whole text a client that reconnected can fill the gap.
      ...(this.#content.length <= limits.socketFrameBytes && { content: this.#content }),
      ...(this.#callerCalls.length > 0 && { tool_calls: this.#callerCalls.map(toWireCall) }),
    });
  }
}

/** An event of a run, for the session of its chat. */
export function eventFrame({ runId, chatId, messageId }: Omit<ChatHead, 'model'>, { type, data }: RunEvent): JsonObject {
  return { type: 'event', data: { run_id: runId, chat_id: chatId ?? null, message_id: messageId ?? null, type, data } };
}

/** An `error` frame; `where` has the id of the run or message that it ended. */
export function errorFrame(code: string, message: string, where: JsonObject = {}): JsonObject {
  return flatFrame('error', { code, message, ...where });
}

/**
 * Converts a frame `message` to the body of a chat: `content` becomes a user message, `mode` becomes `params.function_calling`, and the session is the
 * socket's. @throws GatewayError `invalid_request`, naming the field.
 */
export function toChatBody(fields: JsonObject, sessionId: string, defaultModel: string | undefined): JsonObject {
  const { content, mode, background: _background, ...rest } = fields;
  const model = typeof rest['model'] === 'string' && rest['model'] !== '' ? rest['model'] : defaultModel;
  if (model === undefined) throw new GatewayError('invalid_request', 'message: model must name a model.', { param: 'model' });
  if ((content === undefined) === (ownValue(rest, 'messages') === undefined)) {
    throw new GatewayError('invalid_request', 'message: send either content, or messages with the whole conversation.', {
      param: 'content',
    });
  }
  const params = ownValue(rest, 'params');
  return {
    ...rest,
    model,
    ...(content === undefined ? {} : { messages: [{ role: 'user', content }] }),
    ...(mode === undefined || mode === null ? {} : { params: { ...(isJsonObject(params) ? params : {}), function_calling: mode } }),
    stream: true,
    session_id: sessionId,
  };
}

/** A frame for clients that expect flat frames as well: its fields are in `data` and at the top level. */
function flatFrame(type: string, data: JsonObject): JsonObject {
  return { type, ...data, data };
}

/** `toolResult` is the text that a model reads; a failure is `{"error": "…"}`, and is in `error` too. */
function toolCallFrame({ id, tool, response, error }: DataOf<'tool.result'>, runId: string): JsonObject {
  const toolResult = error === undefined ? textOfResult(response) : JSON.stringify({ error: error.message });
  return flatFrame('tool_call', { toolName: tool, toolResult, id, run_id: runId, ...(error !== undefined && { error }) });
}

function isOtherChoice(event: { choice?: number }): boolean {
  return event.choice !== undefined && event.choice !== 0;
}
