import { textWithoutLinks } from '../../../chat/suspend/links-in-messages.ts';
import { textOf, type ChatEvent, type ChatMessage, type ChatRequest } from '../../../core/chat/chat.ts';
import type { ChatStore, ChatTexts } from '../../../core/stores/chat-store.ts';
import { invalidField, type GatewayError } from '../../../core/errors.ts';
import type { RunStage } from '../../../runs/started-run.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import { hasMoreTextThan } from '../../../shared/text/text-length.ts';
import type { AnswerCollector } from '../answers/answer-format.ts';
import { notStoredFor } from '../answers/not-stored.ts';
import { AnswerSaver, BoundedCollector, storedAnswerCharacters, warnTooLarge } from '../answers/store-answer.ts';
import { chatCompletionFormat, completionId, toWireCall } from './openai-wire.ts';

/** Keys and values of `metadata`, as OpenAI limits them. */
export const metadataEntries = 16;
const metadataKeyCharacters = 64;
const metadataValueCharacters = 512;

interface CompletionStorageOptions {
  store: Pick<ChatStore, 'save'>;
  /** `STORE_CHATS`. If false, `store: true` is passed on to the backend like any parameter. */
  isStoring: boolean;
  /** Milliseconds since 1970. */
  now: () => number;
  logger: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** Stores the answers to requests with `store: true`, over HTTP and sockets. */
export interface CompletionStorage {
  /** The request as it is run. @throws GatewayError `invalid_request` for metadata that cannot be stored */
  accept: (request: ChatRequest) => ChatRequest;
  /** The run, whose answer is stored. One that is suspended is not, because of its tokens; the answer of the resumed run is. */
  store: RunStage;
  /** Resolves when everything so far is durable. */
  settled(): Promise<void>;
}

export function createCompletionStorage({ store, isStoring, now, logger }: CompletionStorageOptions): CompletionStorage {
  const saver = new AnswerSaver();

  /** Never rejects. Returns what the client has to know if it could not be stored. */
  async function save(
    { request, runId, ...chat }: AnsweredChat,
    { completion, text }: CollectedCompletion,
  ): Promise<ChatEvent | undefined> {
    try {
      const messages = toStoredMessages(request.messages);
      const stored = toStoredCompletion(completion, request, runId);
      if (isTooLarge({ messages, stored })) return warnTooLarge(logger, { run_id: runId }, storedChat);
      const texts = textsOf(request.messages, text);
      await store.save({ ...chat, id: completionId(runId), model: request.model, messages, completion: stored, texts });
      return undefined;
    } catch (error) {
      logger.error({ err: error, run_id: runId }, `${storedChat} could not be stored`);
      return notStoredFor(error);
    }
  }

  return {
    accept(sent) {
      if (sent.store === undefined) return sent;
      // Without `store`, so that the run is not stored either if it is suspended and resumed later.
      const { store: storeOptions, ...plain } = sent;
      if (!isStoring) return plain;
      parseMetadata(storeOptions.metadata);
      // The backend must not store a second copy.
      const { store: _store, ...parameters } = sent.parameters;
      return { ...sent, parameters };
    },

    store(started, { request, who, resumed }) {
      if (!isStoring || request.store === undefined) return started;
      const { runId } = started.run;
      const callerId = resumed?.run.callerId ?? who.caller.id;
      const created = now();
      const seconds = Math.floor(created / 1000);
      const answered = { request, callerId, runId, created, metadata: parseMetadata(request.store.metadata) };
      const format = chatCompletionFormat(request.reply?.options ?? {}, {});
      const collector = new CompletionCollector(format.collect({ runId, created: seconds, now, model: request.model }));
      const bounded = new BoundedCollector(collector, charactersOf);
      return saver.storing({ ...started, created: seconds }, bounded, async () => {
        if (collector.isWaiting) return undefined;
        return bounded.isTooLarge ? warnTooLarge(logger, { run_id: runId }, storedChat) : save(answered, collector.collected());
      });
    },

    settled: () => saver.settled(),
  };
}

const storedChat = 'a chat with store: true';

interface AnsweredChat {
  request: ChatRequest;
  runId: string;
  callerId: string;
  /** Milliseconds since 1970. */
  created: number;
  metadata: Record<string, string>;
}

interface CollectedCompletion {
  completion: JsonObject;
  /** The text of the first choice. */
  text: string;
}

class CompletionCollector {
  readonly #collector: AnswerCollector;
  #text = '';
  isWaiting = false;

  constructor(collector: AnswerCollector) {
    this.#collector = collector;
  }

  add(event: ChatEvent): void {
    this.isWaiting ||= event.type === 'approval' || event.type === 'connect';
    this.#collector.add(event);
    if (event.type === 'text' && (event.choice ?? 0) === 0) this.#text += event.text;
  }

  collected(): CollectedCompletion {
    return { completion: this.#collector.body(), text: this.#text };
  }
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
  return hasMoreTextThan(value, storedAnswerCharacters) || JSON.stringify(value).length > storedAnswerCharacters;
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
