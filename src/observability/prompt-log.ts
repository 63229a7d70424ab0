import type { ChatEvent, ChatMessage, ToolCall } from '../core/chat/chat.ts';
import type { SentPrompt } from '../core/models/model-request-log.ts';
import type { NoteStore } from '../core/stores/note-store.ts';
import type { LoggedRun } from '../core/runs/run-log.ts';
import type { JsonObject, JsonValue } from '../shared/json/json.ts';
import { withoutUndefined } from '../shared/json/without-undefined.ts';
import { maskSecretsOfLong } from './remove-secrets.ts';
import { shortenValues } from './shorten-values.ts';

/** How long a run can be read after its end (`GET /api/runs`). */
export const runLogMs = 24 * 60 * 60 * 1000;

/** All recorded prompts, encrypted: an eighth of the largest database. */
export const recordedPrompts = 20_000;

/** One text of a prompt or answer: fifty pages. */
export const recordedTextCharacters = 100_000;
/** One prompt, and one answer: a context of a hundred thousand tokens. More would hold up the gateway while it is encrypted. */
export const recordedPromptCharacters = 400_000;
/** All prompts and answers of one run, which are read together; later ones are left out. */
export const recordedRunCharacters = 4 * 1024 * 1024;
export const recordedPromptsCharacters = 128 * 1024 * 1024;
/** Recorded prompts of one caller in memory while the store is slow; beyond it they are left out. */
const unsavedPromptsCharacters = 4 * 1024 * 1024;

const bounds = { textCharacters: recordedTextCharacters, characters: recordedPromptCharacters };

interface PromptLogOptions {
  /** Prompts of a run are notes of this store, which encrypts them. */
  store: NoteStore;
  /** `RECORD_PROMPTS`. */
  isRecording: boolean;
  /** Milliseconds since 1970. */
  now: () => number;
  logger: { error(fields: object, message: string): void; info(fields: object, message: string): void };
}

/** The whole prompts and answers of runs, recorded only where the operator asks for it. */
export interface PromptLog {
  /** Undefined if nothing is recorded. `onFull` is called once when the run has more prompts than are recorded. */
  begin(run: Pick<LoggedRun, 'id' | 'callerId'>, onFull: () => void): PromptRecorder | undefined;
  /** Each as JSON, in the order in which they were asked. @throws GatewayError `storage_unavailable` */
  promptsOf(run: LoggedRun): Promise<string[]>;
  /** Deletes what is too old; everything, if prompts are no longer recorded. Never rejects. */
  prune(): Promise<void>;
  /** Resolves when everything so far is durable, or the store has failed. */
  flush(): Promise<void>;
}

/** Records the prompts of one run. */
export interface PromptRecorder {
  /** `number`: that of the model request in its run. */
  begin(number: number, sent: SentPrompt): PromptAnswer;
}

export interface PromptAnswer {
  note(event: ChatEvent): void;
  /** Called once. `how`: the finish reason, or the error. */
  end(how: JsonObject): void;
}

export function createPromptLog({ store, isRecording, now, logger }: PromptLogOptions): PromptLog {
  let writing = Promise.resolve();
  /** Characters by caller. */
  const unsaved = new Map<string, number>();
  let isFaulty = false;

  function reportFault(error: unknown): void {
    if (!isFaulty) logger.error({ err: error }, 'prompts cannot be recorded at the moment and are left out');
    isFaulty = true;
  }

  function keep(id: string, callerId: string, value: string): void {
    const held = (unsaved.get(callerId) ?? 0) + value.length;
    if (held > unsavedPromptsCharacters) return reportFault(new Error('The store is too slow.'));
    unsaved.set(callerId, held);
    writing = writing
      .then(async () => {
        const time = now();
        const masked = await maskSecretsOfLong(value);
        const note = { id, callerId, value: masked, expires: time + runLogMs };
        await store.save(note, { time, maxNotes: recordedPrompts, maxCharacters: recordedPromptsCharacters });
        isFaulty = false;
      })
      .catch(reportFault)
      .finally(() => {
        const left = (unsaved.get(callerId) ?? 0) - value.length;
        if (left > 0) unsaved.set(callerId, left);
        else unsaved.delete(callerId);
      });
  }

  return {
    begin({ id: runId, callerId }, onFull) {
      if (!isRecording) return undefined;
      let room: number = recordedRunCharacters;
      const described = new Set<string>();
      return {
        begin(number, sent) {
          if (room <= 0) return nothing;
          const time = new Date(now()).toISOString();
          // At once, because messages may change.
          const request = toJson(describePrompt(sent, described));
          const answer = collectAnswer();
          return {
            note: answer.note,
            end(how) {
              const value = `{"question":${number},"time":"${time}","request":${request},"answer":${toJson({ ...answer.collected(), ...how })}}`;
              if (room <= 0) return;
              room -= value.length;
              if (room <= 0) onFull();
              keep(noteId(runId, number), callerId, value);
            },
          };
        },
      };
    },

    async promptsOf({ id, events }) {
      if (!isRecording) return [];
      await writing;
      // A run whose log is full may have more of them than events.
      const known = Math.max(0, ...events.map(({ type, data }) => (type === 'model.request' ? Number(data['question']) : 0)));
      const found: string[] = [];
      for (let number = 1; ; number += 1) {
        const prompt = await store.find(noteId(id, number), now());
        if (prompt !== undefined) found.push(prompt);
        else if (number > known) return found;
      }
    },

    async prune() {
      try {
        const deleted = await store.deleteExpired(isRecording ? now() : Number.MAX_SAFE_INTEGER);
        if (deleted > 0 && !isRecording) logger.info({ prompts: deleted }, 'recorded prompts were deleted, because RECORD_PROMPTS is off');
      } catch (error) {
        reportFault(error);
      }
    },

    flush: () => writing,
  };
}

const nothing: PromptAnswer = { note: () => undefined, end: () => undefined };

function noteId(runId: string, number: number): string {
  return `${runId}.${number}`;
}

function toJson(value: JsonObject): string {
  return JSON.stringify(shortenValues(value, bounds).data);
}

/** `described`: the functions whose specification an earlier prompt of the run has; this one names them only. */
function describePrompt(sent: SentPrompt, described: Set<string>): JsonObject {
  const tools = [...sent.tools, ...sent.callerTools].map((tool): JsonValue => {
    const text = JSON.stringify(tool);
    if (described.has(text) && 'name' in tool) return tool.name as string;
    described.add(text);
    return { ...tool };
  });
  return withoutUndefined({
    model: sent.model,
    messages: sent.messages.map(toMessage),
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: sent.toolChoice,
    parameters: Object.keys(sent.parameters).length === 0 ? undefined : sent.parameters,
    output: sent.output?.degree === 'none' ? undefined : sent.output?.schema,
  });
}

/** In OpenAI's format, which readers know. */
function toMessage(message: ChatMessage): JsonObject {
  const { role, content, extra } = message;
  const calls = role === 'assistant' ? message.toolCalls : [];
  return {
    role,
    content: content,
    ...(calls.length > 0 && { tool_calls: calls.map(toCall) }),
    ...(role === 'tool' && { tool_call_id: message.toolCallId, ...withoutUndefined({ name: message.name }) }),
    ...extra,
  };
}

function toCall({ id, name, arguments: args }: ToolCall): JsonObject {
  return { id, type: 'function', function: { name, arguments: args } };
}

function collectAnswer(): { note: (event: ChatEvent) => void; collected: () => JsonObject } {
  const text = collectText();
  const reasoning = collectText();
  const calls: ToolCall[] = [];
  return {
    note(event) {
      if (event.type === 'text') text.add(event.text);
      else if (event.type === 'reasoning') reasoning.add(event.text);
      else if (event.type === 'tool-call') calls.push(event.call);
    },
    collected: () =>
      withoutUndefined({
        reasoning: reasoning.whole(),
        text: text.whole(),
        tool_calls: calls.length === 0 ? undefined : calls.map(toCall),
      }),
  };
}

/** Collects no more text than is recorded. */
function collectText(): { add: (piece: string) => void; whole: () => string | undefined } {
  let text = '';
  let left = 0;
  return {
    add(piece) {
      const room = recordedTextCharacters - text.length;
      text += piece.slice(0, room);
      left += Math.max(0, piece.length - room);
    },
    whole: () => (text === '' ? undefined : left === 0 ? text : `${text.toWellFormed()}… [${left} more characters]`),
  };
}
