import { textWithoutLinks } from '../../../chat/suspend/links-in-messages.ts';
import { textOf } from '../../../core/chat/chat.ts';
import type { ChatEvent, ChatMessage, ChatRequest } from '../../../core/chat/chat.ts';
import type { ChatStore, ChatTexts } from '../../../core/stores/chat-store.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { invalidField } from '../../../core/errors.ts';
import type { ActiveRuns, StartedRun } from '../../../runs/active-runs.ts';
import type { Emit } from '../../../shared/emit.ts';
import { isJsonObject } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { hasMoreTextThan } from '../../../shared/text-length.ts';
import { notStored, notStoredFor } from '../answers/not-stored.ts';
import { chatCompletionFormat, completionId, toWireCall } from './openai-wire.ts';

/** One stored chat with its request. If it is larger, images are left out; if its texts alone are larger, it is not stored. */
export const storedChatCharacters = 2 * 1024 * 1024;
/** Keys and values of `metadata`, as OpenAI limits them. */
export const metadataEntries = 16;
const metadataKeyCharacters = 64;
const metadataValueCharacters = 512;

interface StoreCompletionsOptions {
  store: Pick<ChatStore, 'save'>;
  /** `STORE_CHATS`. If false, `store: true` is passed on to the backend like any parameter. */
  isStoring: boolean;
  /** Milliseconds since 1970. */
  now: () => number;
  logger: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

/**
 * Wraps `ActiveRuns` to store answers to requests with `store: true`, over HTTP and sockets. An answer is stored before its end is sent, so that
 * the client can then read it back; where that fails, it says so. Answers that fail or are cut off are not stored; of an answer that was suspended, the
 * last part is.
 */
export function storeCompletions(runs: ActiveRuns, { store, isStoring, now, logger }: StoreCompletionsOptions): ActiveRuns {
  const saving = new Set<Promise<ChatEvent | undefined>>();

  /** Never rejects. Returns what the client has to know if it could not be stored. */
  async function save(answered: AnsweredChat): Promise<ChatEvent | undefined> {
    try {
      const { request, callerId, started, created, metadata, completion } = answered;
      const { runId } = started.run;
      const messages = toStoredMessages(request.messages);
      const stored = toStoredCompletion(completion, request, runId);
      if (isTooLarge({ messages, stored })) return warnTooLarge(runId);
      const texts = textsOf(request.messages, answered.text);
      const id = completionId(runId);
      await store.save({ id, callerId, created, model: request.model, metadata, messages, completion: stored, texts });
      return undefined;
    } catch (error) {
      logger.error({ err: error, run_id: answered.started.run.runId }, 'a chat with store: true could not be stored');
      return notStoredFor(error);
    }
  }

  function warnTooLarge(runId: string): ChatEvent {
    const why = `it is larger than ${storedChatCharacters} characters`;
    logger.warn({ run_id: runId }, `a chat with store: true was not stored: ${why}`);
    return notStored(why);
  }

  async function streamAndSave(
    answered: Omit<AnsweredChat, 'completion' | 'text'>,
    signal: AbortSignal,
    emit: Emit<ChatEvent>,
  ): Promise<void> {
    const { started, created, request } = answered;
    const { runId } = started.run;
    const format = chatCompletionFormat(request.reply?.options ?? {}, {});
    const collector = format.collect({ runId, created: toSeconds(created), model: request.model });
    let characters = 0;
    let text = '';
    let isWaiting = false;
    await started.stream((events) => {
      for (const event of events) {
        isWaiting ||= event.type === 'approval' || event.type === 'connect';
        characters += charactersOf(event);
        if (characters > storedChatCharacters) continue;
        collector.add(event);
        if (event.type === 'text' && (event.choice ?? 0) === 0) text += event.text;
      }
      return emit(events);
    });
    if (isWaiting || signal.aborted) return;
    const isShort = characters <= storedChatCharacters;
    const saved = isShort ? save({ ...answered, completion: collector.body(), text }) : Promise.resolve(warnTooLarge(runId));
    saving.add(saved);
    const problem = await saved;
    saving.delete(saved);
    if (problem !== undefined) await emit([problem]);
  }

  function storing(answered: Pick<AnsweredChat, 'request' | 'callerId' | 'started' | 'metadata'>, signal: AbortSignal): StartedRun {
    const created = now();
    const stream: StartedRun['stream'] = (emit) => streamAndSave({ ...answered, created }, signal, emit);
    return { ...answered.started, created: toSeconds(created), stream };
  }

  return {
    ...runs,
    start(original, who) {
      if (original.store === undefined) return runs.start(original, who);
      const { store: storeOptions, ...plain } = original;
      // Without `store`, so that the run is not stored either if it is suspended and resumed later.
      if (!isStoring) return runs.start(plain, who);
      const metadata = parseMetadata(storeOptions.metadata);
      // The backend must not store a second copy.
      const { store: _store, ...parameters } = original.parameters;
      const request = { ...original, parameters };
      const started = runs.start(request, who);
      return storing({ request, callerId: who.caller.id, started, metadata }, who.controller.signal);
    },
    async resume(run, decided, who) {
      const started = await runs.resume(run, decided, who);
      const { request, callerId } = run;
      if (!isStoring || request.store === undefined) return started;
      return storing({ request, callerId, started, metadata: parseMetadata(request.store.metadata) }, who.controller.signal);
    },
    async drain(timeoutMs) {
      await runs.drain(timeoutMs);
      await Promise.all(saving);
    },
  };
}

interface AnsweredChat {
  request: ChatRequest;
  callerId: string;
  started: StartedRun;
  /** Milliseconds since 1970. */
  created: number;
  metadata: Record<string, string>;
  completion: JsonObject;
  /** The text of the first choice. */
  text: string;
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}

function charactersOf(event: ChatEvent): number {
  if (event.type === 'text' || event.type === 'reasoning') return event.text.length;
  return event.type === 'run-event' ? 0 : JSON.stringify(event).length;
}

/** Only this much of a text is searchable. */
const searchedCharacters = 40_000;

/** Parameters in OpenAI's stored completions, mapped from the field there to the parameter. */
const shownParameters: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'top_p',
  presence_penalty: 'presence_penalty',
  frequency_penalty: 'frequency_penalty',
  seed: 'seed',
  response_format: 'response_format',
  input_user: 'user',
};

/** Validates metadata: at most sixteen short strings, as OpenAI limits them. `null` counts as empty. @throws GatewayError `invalid_request` */
export function parseMetadata(value: JsonValue | undefined): Record<string, string> {
  if (value === null) return {};
  if (!isJsonObject(value)) throw invalid('must be an object with string values, or null');
  const entries = Object.entries(value);
  if (entries.length > metadataEntries) throw invalid(`may have at most ${metadataEntries} entries, not ${entries.length}`);
  const texts = entries.map(([key, text]): [string, string] => {
    if (key.length > metadataKeyCharacters) throw invalid(`a key may have at most ${metadataKeyCharacters} characters`);
    if (typeof text !== 'string') throw invalid(`"${key}" must be a string`);
    if (text.length <= metadataValueCharacters) return [key, text];
    throw invalid(`"${key}" may have at most ${metadataValueCharacters} characters, not ${text.length}`);
  });
  return Object.fromEntries(texts);
}

/** The messages in OpenAI's format. If they are too large, images, audio and files are replaced by a note. */
function toStoredMessages(messages: readonly ChatMessage[]): JsonObject[] {
  const whole = messages.map(toStoredMessage);
  return isTooLarge(whole) ? whole.map(withoutMedia) : whole;
}

/** The texts alone are counted first: writing the JSON of the longest conversation takes long. */
function isTooLarge(value: JsonValue): boolean {
  return hasMoreTextThan(value, storedChatCharacters) || JSON.stringify(value).length > storedChatCharacters;
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

/** The completion, with the request's parameters that OpenAI adds to a stored one. */
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
  const question = textOf(messages.findLast(({ role }) => role === 'user')?.content ?? null);
  const searched = (text: string): string => textWithoutLinks(text.slice(0, searchedCharacters));
  return { question: searched(question), answer: searched(answer) };
}

function invalid(what: string): GatewayError {
  return invalidField('metadata', `${what}.`);
}
