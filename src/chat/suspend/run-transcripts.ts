import { hash } from 'node:crypto';
import type { Caller } from '../../core/callers/caller.ts';
import { textOf, type AssistantMessage, type ChatMessage } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import type { NoteStore } from '../../core/stores/note-store.ts';
import type { LoggedRun, RunLog } from '../../core/runs/run-log.ts';
import type { SuspendedRound, WaitingRun, WaitingRunStore } from '../../core/runs/suspended-run.ts';
import type { MaybePromise } from '../../shared/async/maybe-promise.ts';
import { repairHistory } from '../messages/repair-history.ts';
import { forAnotherModel } from '../messages/round-messages.ts';
import { inlineToolResults } from '../messages/inline-tool-results.ts';
import { appendStored, endOfSentBack } from './append-stored.ts';
import { hasLink, lastLinkIn, withoutLinks } from './links-in-messages.ts';
import { unfinishedTexts, unmadeCall, type WaitState } from './unfinished-calls.ts';
import { parseExactly } from '../../shared/json/parse-exactly.ts';

export const transcriptsLimit = 5_000;
/** How long a transcript is stored: as long as state. A chat may continue weeks later, and its history has only the link. */
export const transcriptMs = 30 * 24 * 60 * 60 * 1000;
export const transcriptsCharacters = 128 * 1024 * 1024;
/** The size of one transcript. If it is larger, its results are shortened; if that is not enough, it is deleted. */
const transcriptCharacters = 512 * 1024;
/** Messages with links, from the end of a history, for which it is looked up. Each lookup takes a millisecond or two. */
const transcriptsPerRequest = 32;

/** The run to which a transcript belongs. */
type TranscribedRun = Pick<WaitingRun, 'id' | 'callerId' | 'model'>;

/** `before`: the messages of earlier rounds. `isToConnect`: the run waits until its caller has connected. */
type SuspendedTranscript = SuspendedRound & { before: readonly ChatMessage[]; isToConnect?: boolean };

interface RestoringRequest {
  /** As the request names it. */
  model: string;
  /** Whether the history may have calls. */
  hasTools: boolean;
  /** A hidden task of a frontend, which says nothing about what its user wants. */
  isTask?: boolean;
}

export interface RunTranscriptsOptions {
  store: NoteStore;
  waits: Pick<WaitingRunStore, 'findHead'>;
  log: Pick<RunLog, 'find'>;
  /** Closes a run if it still waits, and ends it in its log. */
  giveUp: (runId: string, why: string) => Promise<void>;
  /** Milliseconds since 1970. */
  now: () => number;
  onFault: (error: unknown) => void;
}

/** Stored as JSON. `open`: the indexes of results whose calls had not run; absent once the run has ended. */
interface StoredTranscript {
  links: string[];
  model: string;
  messages: ChatMessage[];
  open?: number[];
  said?: string;
  isToConnect?: boolean;
}

const continuedElsewhere = 'The chat continued with another message before its user had connected.';

/**
 * What suspended runs did, for later requests of their chats. The history of a frontend has only the text with the link, neither the decision nor
 * the results. No method rejects.
 */
export class RunTranscripts {
  readonly #options: RunTranscriptsOptions;

  constructor(options: RunTranscriptsOptions) {
    this.#options = options;
  }

  /** `added`: the secret parts of the links in its answer. */
  async saveSuspended(
    run: TranscribedRun,
    added: readonly string[],
    { before, messages, open, said, isToConnect }: SuspendedTranscript,
  ): Promise<void> {
    const links = [...((await this.#read(run))?.links ?? []), ...added];
    const shifted = open.map((index) => index + before.length);
    const transcript = { links, model: run.model, messages: [...before, ...messages], open: shifted, said };
    await this.#write(run, { ...transcript, ...(isToConnect === true && { isToConnect }) });
    // Later requests find the run by the last link of its answer (`lastLinkIn`).
    const last = added.at(-1);
    if (isToConnect === true && last !== undefined)
      await this.#save(run, linkIdOf(run.callerId, last), run.id).catch(this.#options.onFault);
  }

  /** Replaces the transcript by everything that the run has done. */
  async saveEnded(run: TranscribedRun, messages: readonly ChatMessage[]): Promise<void> {
    const earlier = await this.#read(run);
    if (earlier !== undefined) await this.#write(run, { links: earlier.links, model: run.model, messages: [...messages] });
  }

  /**
   * Replaces each answer with a link to a run of this caller by what the run did, and removes the links from all messages. A run that still waits for
   * its caller to connect is given up, unless the request is a task: this request can make its calls, and they must not be made twice.
   */
  restore(caller: Caller, messages: readonly ChatMessage[], request: RestoringRequest): MaybePromise<ChatMessage[]> {
    if (!messages.some(hasLink)) return [...messages];
    const linked = messages.filter((message) => mayBeAnswer(message) && lastLinkIn(message) !== undefined);
    return this.#restoreLinked(messages, new Set(linked.slice(-transcriptsPerRequest)), { ...request, caller });
  }

  /** Whether an earlier suspension of the run had this link, and the answer of the run if it has ended. */
  async find(run: Pick<TranscribedRun, 'id' | 'callerId'>, link: string): Promise<{ answer: string | undefined } | undefined> {
    const transcript = await this.#read(run);
    if (transcript?.links.includes(link) !== true) return undefined;
    return { answer: transcript.open === undefined ? answerIn(transcript.messages) : undefined };
  }

  async #restoreLinked(
    messages: readonly ChatMessage[],
    linked: ReadonlySet<ChatMessage>,
    { caller, model, hasTools, isTask = false }: RestoringRequest & { caller: Caller },
  ): Promise<ChatMessage[]> {
    let restored: ChatMessage[] = [];
    let answerBefore: string | undefined;
    let next = 0;
    for (const [index, message] of messages.entries()) {
      if (index < next) continue;
      const found = linked.has(message) ? await this.#findFor(message, caller, !isTask) : undefined;
      if (found === undefined) {
        // A client that got the rest of the answer from the decision has it in its history, too, perhaps with the calls before it.
        if (answerBefore === undefined || message.role !== 'assistant' || textOf(message.content).trim() !== answerBefore)
          restored.push(withoutLinks(message));
        answerBefore = undefined;
        continue;
      }
      const added = unlessReturned(found.messages, messages[index + 1]);
      const messagesOfRun = found.model === model ? added : forAnotherModel(added);
      const joined = appendStored(restored, messagesOfRun);
      restored = hasTools ? joined : withResultsInline(joined);
      answerBefore = answerIn(messagesOfRun)?.trim();
      next = endOfSentBack(messages, index + 1, messagesOfRun);
    }
    return restored;
  }

  async #findFor(
    message: ChatMessage,
    caller: Caller,
    mayGiveUp: boolean,
  ): Promise<{ model: string; messages: ChatMessage[] } | undefined> {
    const link = lastLinkIn(message) ?? '';
    const runId = await this.#findRunOf(caller.id, link);
    const transcript = await this.#read({ id: runId, callerId: caller.id });
    if (transcript?.links.includes(link) !== true) return undefined;
    return { model: transcript.model, messages: repairHistory(withUnmade(await this.#messagesOf(runId, transcript, mayGiveUp))) };
  }

  /** Completes the messages of a run that has not ended. */
  async #messagesOf(
    runId: string,
    { messages, open, said = '', isToConnect = false }: StoredTranscript,
    mayGiveUp: boolean,
  ): Promise<ChatMessage[]> {
    if (open === undefined) return messages;
    const { giveUp, onFault } = this.#options;
    if (isToConnect && mayGiveUp && (await this.#stateOf(runId)) === 'waiting') await giveUp(runId, continuedElsewhere).catch(onFault);
    const texts = unfinishedTexts(await this.#stateOf(runId), { isToConnect });
    const content = JSON.stringify({ error: texts.result });
    const completed = messages.map((message, index): ChatMessage =>
      message.role === 'tool' && open.includes(index) ? { ...message, content } : message,
    );
    return [...completed, { role: 'assistant', content: texts.said ?? said, toolCalls: [] }];
  }

  async #stateOf(runId: string): Promise<WaitState> {
    const { waits, log, now, onFault } = this.#options;
    try {
      const head = await waits.findHead(runId);
      if (head?.isOpen === true) return head.expires > now() ? 'waiting' : 'expired';
      if (head === undefined) return 'expired';
      return isUndecided(await log.find(runId)) ? 'cancelled' : 'decided';
    } catch (error) {
      onFault(error);
      return 'decided';
    }
  }

  /** Links to connect do not name their run. */
  async #findRunOf(callerId: string, link: string): Promise<string> {
    const [runId = ''] = link.split('.', 1);
    if (runId !== link) return runId;
    return (await this.#findNote(linkIdOf(callerId, link))) ?? '';
  }

  async #read(run: Pick<TranscribedRun, 'id' | 'callerId'>): Promise<StoredTranscript | undefined> {
    const value = await this.#findNote(noteIdOf(run));
    return value === undefined ? undefined : (parseExactly(value) as StoredTranscript);
  }

  async #findNote(id: string): Promise<string | undefined> {
    try {
      return await this.#options.store.find(id, this.#options.now());
    } catch (error) {
      this.#options.onFault(error);
      return undefined;
    }
  }

  async #write(run: TranscribedRun, transcript: StoredTranscript): Promise<void> {
    const bounded = withinBounds(transcript);
    const id = noteIdOf(run);
    try {
      if (bounded === undefined) await this.#options.store.delete(id);
      else await this.#save(run, id, JSON.stringify(bounded));
    } catch (error) {
      this.#options.onFault(error);
    }
  }

  async #save({ callerId }: TranscribedRun, id: string, value: string): Promise<void> {
    const time = this.#options.now();
    const bounds = { time, maxNotes: transcriptsLimit, maxCharacters: transcriptsCharacters };
    await this.#options.store.save({ id, callerId, value, expires: time + transcriptMs }, bounds);
  }
}

/** Cancelled, or given up. An interrupted run may have been resumed before. */
function isUndecided(run: LoggedRun | undefined): boolean {
  return (
    run?.status === 'cancelled' ||
    (run?.status === 'failed' && !run.events.some(({ type }) => type === 'approval.response' || type === 'connect.response'))
  );
}

function mayBeAnswer(message: ChatMessage): message is AssistantMessage {
  return message.role === 'assistant' && message.toolCalls.length === 0;
}

/**
 * Nothing if the run ended with calls of the caller's functions, which follow in the history: these restore all its rounds (`continuations.ts`). Compared
 * by name, because the calls may have been returned under other ids.
 */
function unlessReturned(added: ChatMessage[], next: ChatMessage | undefined): ChatMessage[] {
  const round = added.findLast(({ role }) => role === 'assistant');
  if (round?.role !== 'assistant' || next?.role !== 'assistant' || next.toolCalls.length === 0) return added;
  const names = new Set(round.toolCalls.map(({ name }) => name));
  return next.toolCalls.every(({ name }) => names.has(name)) ? [] : added;
}

/** With a result for each call of a client's own function. A client that got them, with the answer to the decision, does not need these messages. */
function withUnmade(messages: readonly ChatMessage[]): ChatMessage[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant' && message.toolCalls.length > 0);
  const round = messages[last];
  if (round?.role !== 'assistant') return [...messages];
  const results = messages.slice(last + 1);
  const unmade = round.toolCalls.filter(({ id }) => !results.some((message) => message.role === 'tool' && message.toolCallId === id));
  return [...messages, ...unmade.map(({ id, name }): ChatMessage => ({ role: 'tool', toolCallId: id, name, content: unmadeCall }))];
}

function linkIdOf(callerId: string, link: string): string {
  return hash('sha256', JSON.stringify(['connect', callerId, link]), 'base64url');
}

/** The text at the end of a run. */
function answerIn(messages: readonly ChatMessage[]): string | undefined {
  const last = messages.at(-1);
  return last !== undefined && mayBeAnswer(last) ? textOf(last.content) : undefined;
}

/** For a request without tools, for which a backend may refuse calls: puts the results into the question. */
function withResultsInline(messages: readonly ChatMessage[]): ChatMessage[] {
  const question = Math.max(
    0,
    messages.findLastIndex(({ role }) => role === 'user'),
  );
  return [...messages.slice(0, question), ...inlineToolResults(messages.slice(question))];
}

/** Undefined if it is too large even with shortened results. */
function withinBounds(transcript: StoredTranscript): StoredTranscript | undefined {
  if (charactersOf(transcript.messages) <= transcriptCharacters) return transcript;
  const messages = transcript.messages.map((message): ChatMessage => {
    const text = textOf(message.content);
    if (message.role !== 'tool' || text.length <= limits.shortenedResultCharacters) return message;
    return { ...message, content: `${text.slice(0, limits.shortenedResultCharacters).toWellFormed()}\n\n[The rest was not stored.]` };
  });
  return charactersOf(messages) <= transcriptCharacters ? { ...transcript, messages } : undefined;
}

/** Without serializing them, because they may be many megabytes. */
function charactersOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => {
    const calls = message.role === 'assistant' ? message.toolCalls : [];
    return sum + textOf(message.content).length + calls.reduce((size, call) => size + call.arguments.length, 0);
  }, 0);
}

/** Hashed with the caller, so that no caller finds another one's transcript. */
function noteIdOf({ id, callerId }: Pick<TranscribedRun, 'id' | 'callerId'>): string {
  return hash('sha256', JSON.stringify(['run', callerId, id]), 'base64url');
}
