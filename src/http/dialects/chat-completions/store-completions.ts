import { textOf } from '../../../core/chat.ts';
import type { ChatEvent, ChatMessage, ChatRequest } from '../../../core/chat.ts';
import type { ChatStore, ChatTexts } from '../../../core/chat-store.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import type { ActiveRuns, StartedRun } from '../../../runs/active-runs.ts';
import type { Emit } from '../../../shared/emit.ts';
import { isJsonObject } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { chatCompletionFormat, completionId, toWireCall } from './openai-wire.ts';

export interface StoreCompletionsOptions {
  store: Pick<ChatStore, 'save' | 'deleteAllOf'>;
  /** `STORE_CHATS`: otherwise `store: true` is a parameter like others. */
  isStoring: boolean;
  /** Milliseconds since 1970. */
  now: () => number;
  logger: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

/**
 * Starts the same runs, and stores what they answer to requests with `store: true`, over HTTP and sockets alike: before the end of the answer is
 * sent, so that a client that has it can read it back. Answers that fail or are cut off are not stored; of one that waited for an approval the
 * last part is. A store that fails costs the copy, never the answer. The chats of a caller whose key is deleted are deleted.
 */
export function storeCompletions(runs: ActiveRuns, { store, isStoring, now, logger }: StoreCompletionsOptions): ActiveRuns {
  const saving = new Set<Promise<void>>();

  async function save(answered: Answered): Promise<void> {
    try {
      const { request, callerId, started, created, metadata, completion } = answered;
      const { runId } = started.run;
      const messages = toStoredMessages(request.messages);
      const stored = toStoredCompletion(completion, request, runId);
      if (JSON.stringify(messages).length + JSON.stringify(stored).length > limits.storedChatCharacters) return warnTooLarge(runId);
      const texts = textsOf(request.messages, answered.text);
      const id = completionId(runId);
      await store.save({ id, callerId, created, model: request.model, metadata, messages, completion: stored, texts });
    } catch (error) {
      logger.error({ err: error, run_id: answered.started.run.runId }, 'a chat with store: true could not be stored');
    }
  }

  function warnTooLarge(runId: string): void {
    logger.warn({ run_id: runId }, `a chat with store: true was not stored: it is larger than ${limits.storedChatCharacters} characters`);
  }

  async function streamAndSave(answered: Omit<Answered, 'completion' | 'text'>, signal: AbortSignal, emit: Emit<ChatEvent>): Promise<void> {
    const { started, created, request } = answered;
    const { runId } = started.run;
    const { includeUsage = false, includeEvents = false, isLegacy } = request.reply ?? {};
    const format = chatCompletionFormat({ includeUsage, includeEvents, isLegacy }, {});
    const collector = format.collect({ runId, created: toSeconds(created), model: request.model });
    let characters = 0;
    let text = '';
    let isWaiting = false;
    await started.stream((events) => {
      for (const event of events) {
        isWaiting ||= event.type === 'approval';
        characters += charactersOf(event);
        if (characters > limits.storedChatCharacters) continue;
        collector.add(event);
        if (event.type === 'text' && (event.choice ?? 0) === 0) text += event.text;
      }
      return emit(events);
    });
    // A key that was deleted amid the last words has taken its chats along.
    if (isWaiting || signal.aborted) return;
    if (characters > limits.storedChatCharacters) return warnTooLarge(runId);
    const saved = save({ ...answered, completion: collector.body(), text });
    saving.add(saved);
    await saved;
    saving.delete(saved);
  }

  function storing(answered: Pick<Answered, 'request' | 'callerId' | 'started' | 'metadata'>, signal: AbortSignal): StartedRun {
    const created = now();
    const stream: StartedRun['stream'] = (emit) => streamAndSave({ ...answered, created }, signal, emit);
    return { ...answered.started, created: toSeconds(created), stream };
  }

  return {
    ...runs,
    start(asked, caller, leave) {
      if (asked.store === undefined) return runs.start(asked, caller, leave);
      const { store: wish, ...plain } = asked;
      // Should this run wait, it is still none to be stored when it goes on.
      if (!isStoring) return runs.start(plain, caller, leave);
      const metadata = parseMetadata(wish.metadata);
      // The backend keeps no second copy.
      const { store: _store, ...parameters } = asked.parameters;
      const request = { ...asked, parameters };
      return storing({ request, callerId: caller.id, started: runs.start(request, caller, leave), metadata }, leave.signal);
    },
    async resume(run, decided, who) {
      const started = await runs.resume(run, decided, who);
      const { request, callerId } = run;
      if (!isStoring || request.store === undefined) return started;
      return storing({ request, callerId, started, metadata: parseMetadata(request.store.metadata) }, who.leave.signal);
    },
    cancelAllOf(callerId) {
      runs.cancelAllOf(callerId);
      store.deleteAllOf(callerId).catch((error: unknown) => {
        logger.error(
          { err: error, caller_id: callerId },
          'the stored chats of a deleted key could not be deleted; they are kept until they are too old',
        );
      });
    },
    async drain(timeoutMs) {
      await runs.drain(timeoutMs);
      await Promise.all(saving);
    },
  };
}

interface Answered {
  request: ChatRequest;
  callerId: string;
  started: StartedRun;
  /** Milliseconds since 1970. */
  created: number;
  metadata: Record<string, string>;
  completion: JsonObject;
  /** Of the first choice. */
  text: string;
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}

function charactersOf(event: ChatEvent): number {
  if (event.type === 'text' || event.type === 'reasoning') return event.text.length;
  return event.type === 'run-event' ? 0 : JSON.stringify(event).length;
}

/** Longer texts are found by their beginning. */
const searchedCharacters = 40_000;

/** Parameters that OpenAI shows with a stored completion, by the name it shows them under. */
const shownParameters: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'top_p',
  presence_penalty: 'presence_penalty',
  frequency_penalty: 'frequency_penalty',
  seed: 'seed',
  response_format: 'response_format',
  input_user: 'user',
};

/** @throws GatewayError `invalid_request` for what is no set of at most sixteen short texts, as OpenAI limits it; `null` is an empty one. */
export function parseMetadata(value: JsonValue | undefined): Record<string, string> {
  if (value === null) return {};
  if (!isJsonObject(value)) throw invalid('must be an object of texts, or null');
  const entries = Object.entries(value);
  if (entries.length > limits.metadataEntries) throw invalid(`may have ${limits.metadataEntries} entries, not ${entries.length}`);
  const texts = entries.map(([key, text]): [string, string] => {
    if (key.length > limits.metadataKeyCharacters) throw invalid(`a key may have ${limits.metadataKeyCharacters} characters`);
    if (typeof text !== 'string') throw invalid(`"${key}" must be a text`);
    if (text.length <= limits.metadataValueCharacters) return [key, text];
    throw invalid(`"${key}" may have ${limits.metadataValueCharacters} characters, not ${text.length}`);
  });
  return Object.fromEntries(texts);
}

/** The messages in OpenAI's words. Where they are too large, images, audio and files are replaced by a note. */
function toStoredMessages(messages: readonly ChatMessage[]): JsonObject[] {
  const whole = messages.map(toStoredMessage);
  return JSON.stringify(whole).length <= limits.storedChatCharacters ? whole : whole.map(withoutMedia);
}

function toStoredMessage(message: ChatMessage): JsonObject {
  const { role, content, extra = {} } = message;
  if (message.role === 'tool') {
    const { toolCallId, name } = message;
    return { ...extra, role, content, tool_call_id: toolCallId, ...(name !== undefined && { name }) };
  }
  if (message.role !== 'assistant' || message.toolCalls.length === 0) return { ...extra, role, content };
  return {
    ...extra,
    role,
    content,
    tool_calls: message.toolCalls.map(({ id, name, arguments: args }) => toWireCall({ id, name, arguments: args })),
  };
}

function withoutMedia(message: JsonObject): JsonObject {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const parts = content.map((part) => {
    if (!isJsonObject(part) || part['type'] === 'text') return part;
    return { type: 'text', text: `[${typeof part['type'] === 'string' ? part['type'] : 'part'} left out: too large to be stored]` };
  });
  return { ...message, content: parts };
}

/** The completion as it was answered, with what OpenAI shows of the request beside it. */
function toStoredCompletion(completion: JsonObject, request: ChatRequest, runId: string): JsonObject {
  const shown = Object.entries(shownParameters).map(([name, parameter]) => [name, request.parameters[parameter] ?? null]);
  const tools = [...request.callerFunctions.map(({ wire }) => wire), ...request.hostedTools];
  return {
    ...(Object.fromEntries(shown) as JsonObject),
    tools: tools.length === 0 ? null : tools,
    tool_choice: request.toolChoice ?? null,
    ...completion,
    request_id: runId,
  };
}

function textsOf(messages: readonly ChatMessage[], answer: string): ChatTexts {
  const question = messages.findLast(({ role }) => role === 'user');
  return { question: textOf(question?.content ?? null).slice(0, searchedCharacters), answer: answer.slice(0, searchedCharacters) };
}

function invalid(what: string): GatewayError {
  return new GatewayError('invalid_request', `metadata: ${what}.`, { param: 'metadata' });
}
