import type { ChatEvent, ChatRequest } from '../../../core/chat.ts';
import type { ChatStore } from '../../../core/chat-store.ts';
import { limits } from '../../../core/limits.ts';
import { createCompletionCollector } from './openai-wire.ts';
import type { ActiveRuns, StartedRun } from '../../../runs/active-runs.ts';
import { parseMetadata, textsOf, toStoredCompletion, toStoredMessages } from './stored-completion.ts';

export interface StoreCompletionsOptions {
  store: Pick<ChatStore, 'save' | 'deleteAllOf'>;
  /** `STORE_CHATS`: otherwise `store: true` is a parameter like others. */
  isStoring: boolean;
  /** Milliseconds since 1970. */
  now: () => number;
  logger: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

/**
 * The same starter, which also stores what is answered to requests with `store: true`, over HTTP and sockets alike: before the end of the answer
 * is told, so that whoever has it can read it back. Answers that fail or are cut off are not stored; of one that waited for an approval the
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
      if (JSON.stringify(messages).length + JSON.stringify(stored).length > limits.storedChatCharacters) return tellTooLarge(runId);
      const texts = textsOf(request.messages, answered.text);
      const id = completionId(runId);
      await store.save({ id, callerId, created, model: request.model, metadata, messages, completion: stored, texts });
    } catch (error) {
      logger.error({ err: error, run_id: answered.started.run.runId }, 'a chat with store: true could not be stored');
    }
  }

  function tellTooLarge(runId: string): void {
    logger.warn({ run_id: runId }, `a chat with store: true was not stored: it is larger than ${limits.storedChatCharacters} characters`);
  }

  async function* kept(asked: Omit<Answered, 'completion' | 'text'>, signal: AbortSignal): AsyncGenerator<ChatEvent> {
    const { started, created, request } = asked;
    const { runId } = started.run;
    const collector = createCompletionCollector({ id: completionId(runId), created: toSeconds(created), model: request.model });
    let characters = 0;
    let text = '';
    let isWaiting = false;
    for await (const event of started.events) {
      characters += charactersOf(event);
      if (characters <= limits.storedChatCharacters) collector.add(event);
      if (event.type === 'text' && (event.choice ?? 0) === 0 && characters <= limits.storedChatCharacters) text += event.text;
      isWaiting ||= event.type === 'approval';
      yield event;
    }
    // A key that was deleted amid the last words has taken its chats along.
    if (isWaiting || signal.aborted) return;
    if (characters > limits.storedChatCharacters) return tellTooLarge(runId);
    const saved = save({ ...asked, completion: collector.completion(), text });
    saving.add(saved);
    await saved;
    saving.delete(saved);
  }

  function keep(asked: Pick<Answered, 'request' | 'callerId' | 'started' | 'metadata'>, signal: AbortSignal): StartedRun {
    const created = now();
    return { ...asked.started, created: toSeconds(created), events: kept({ ...asked, created }, signal) };
  }

  return {
    ...runs,
    start(asked, caller, leave) {
      if (asked.store === undefined) return runs.start(asked, caller, leave);
      const { store: wish, ...plain } = asked;
      // Should this run wait, it is still none to be stored when it goes on.
      if (!isStoring) return runs.start(plain, caller, leave);
      const metadata = parseMetadata(wish.metadata);
      // Whoever is asked behind the gateway keeps no second copy.
      const { store: _store, ...parameters } = asked.parameters;
      const request = { ...asked, parameters };
      return keep({ request, callerId: caller.id, started: runs.start(request, caller, leave), metadata }, leave.signal);
    },
    async resume(run, decided, who) {
      const started = await runs.resume(run, decided, who);
      const { request, callerId } = run;
      if (!isStoring || request.store === undefined) return started;
      return keep({ request, callerId, started, metadata: parseMetadata(request.store.metadata) }, who.leave.signal);
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
  completion: ReturnType<ReturnType<typeof createCompletionCollector>['completion']>;
  /** Of the first choice. */
  text: string;
}

/** The completion of a run, in every form of its answer. */
function completionId(runId: string): string {
  return `chatcmpl-${runId}`;
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}

function charactersOf(event: ChatEvent): number {
  if (event.type === 'text' || event.type === 'reasoning') return event.text.length;
  return event.type === 'run-event' ? 0 : JSON.stringify(event).length;
}
