import { hash } from 'node:crypto';
import type { Caller } from '../../core/callers/caller.ts';
import { textOf } from '../../core/chat/chat.ts';
import type { AssistantMessage, ChatMessage } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import type { NoteStore } from '../../core/stores/note-store.ts';
import type { LoggedRun, RunLog } from '../../core/runs/run-log.ts';
import type { SuspendedRound, WaitingRun, WaitingRunStore } from '../../core/runs/suspended-run.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { repairHistory } from '../messages/repair-history.ts';
import { forAnotherModel } from '../messages/round-messages.ts';
import { inlineToolResults } from '../messages/inline-tool-results.ts';
import { appendKept, behindSentBack } from './append-kept.ts';
import { hasLink, lastLinkIn, withoutLinks } from './links-in-messages.ts';
import { parseExactly } from '../../shared/parse-exactly.ts';

/** How long what a suspended run did is kept: a chat may go on weeks later, and its history has only the link. As long as stored state. */
export const transcriptsLimit = 5_000;

/** How long what a suspended run did is kept: a chat may go on weeks later, and its history has only the link. As long as stored state. */
export const transcriptMs = 30 * 24 * 60 * 60 * 1000;
export const transcriptsCharacters = 128 * 1024 * 1024;
/** What one run did. If it is larger, its results are shortened; if that is not enough, it is forgotten. */
const transcriptCharacters = 512 * 1024;
/** Messages with links, from the end of a history, for which it is looked up. Each takes a millisecond or two. */
const transcriptsPerRequest = 32;

/** The run to which a transcript belongs. */
type TranscribedRun = Pick<WaitingRun, 'id' | 'callerId' | 'model'>;

/**
 * What suspended runs did, for later requests of their chats. A frontend has only the text with the link in its history, and knows neither what was
 * decided nor what came of it.
 */
export interface RunTranscripts {
  /**
   * `links`: the secret parts of the links in its answer. `before`: the messages of earlier rounds. `isToConnect`: until its caller has connected. Never
   * rejects.
   */
  keepSuspended(
    run: TranscribedRun,
    links: readonly string[],
    suspended: SuspendedRound & { before: readonly ChatMessage[]; isToConnect?: boolean },
  ): Promise<void>;
  /** Replaces it by what the run has done until its end. Never rejects. */
  keepEnded(run: TranscribedRun, messages: readonly ChatMessage[]): Promise<void>;
  /**
   * Puts what a run did in the place of each answer of the assistant that has a link of a run of this caller, and removes the links from all messages.
   * `model`: as the request names it. `hasTools`: whether calls may stand in the history. A run that still waits for its caller to connect is given up,
   * because this request can make its calls: they must not be made twice. Not by one that `isTask`, which is none of the user's. Never rejects.
   */
  restore(
    caller: Caller,
    messages: readonly ChatMessage[],
    request: { model: string; hasTools: boolean; isTask?: boolean },
  ): MaybePromise<ChatMessage[]>;
  /** Whether an earlier suspension of the run had this link, and the answer of the run if it has ended. Never rejects. */
  find(run: Pick<TranscribedRun, 'id' | 'callerId'>, link: string): Promise<{ answer: string | undefined } | undefined>;
}

export interface RunTranscriptsOptions {
  store: NoteStore;
  waits: Pick<WaitingRunStore, 'findHead'>;
  log: Pick<RunLog, 'find'>;
  /** Closes a run that waits, if it still does, and ends it in its log. */
  giveUp: (runId: string, why: string) => Promise<void>;
  /** Milliseconds since 1970. */
  now: () => number;
  onFault: (error: unknown) => void;
}

/** As JSON. `open`: the indexes of results that stand for calls that had not run; absent once the run is over. */
interface KeptTranscript {
  links: string[];
  model: string;
  messages: ChatMessage[];
  open?: number[];
  said?: string;
  isToConnect?: boolean;
}

/** What a model reads as the result of a call that had not run, and as the answer after it. */
const unrun = {
  waiting: { result: 'This call waits for an approval, which the user gives on a page and never in the chat. It has not run.' },
  expired: { result: 'Nobody approved this call in time, so it was not run.', said: 'Nobody approved it in time, so it was not run.' },
  cancelled: { result: 'The run was cancelled before this call was approved, so it was not run.', said: 'It was cancelled and not run.' },
  decided: {
    result: 'The user has decided on this call. What came of it is not known here: it is running, or was cut off. Do not call it again.',
    said: 'The user has decided, but there is no result yet.',
  },
} as const;

/** The same where the user had to connect to the server of the call first. */
const unconnected = {
  waiting: {
    result: 'This call waits until the user has connected to its server, which they do on a page and never in the chat. It has not run.',
  },
  expired: { result: 'The user did not connect to its server in time, so this call was not run.', said: 'It was not run.' },
  cancelled: {
    result:
      'This call had to wait until the user had connected to its server, and was not run. If the user still wants it, call it again: that also tells whether they have connected meanwhile.',
  },
  decided: {
    result:
      'The user has connected, and this call goes on. What came of it is not known here: it is running, or was cut off. Do not call it again.',
    said: 'The user has connected, but there is no result yet.',
  },
} as const;

const goneOn = 'The chat went on with another message before its user had connected.';

export function createRunTranscripts({ store, waits, log, giveUp, now, onFault }: RunTranscriptsOptions): RunTranscripts {
  async function read(run: Pick<TranscribedRun, 'id' | 'callerId'>): Promise<KeptTranscript | undefined> {
    try {
      const value = await store.find(noteIdOf(run), now());
      return value === undefined ? undefined : (parseExactly(value) as KeptTranscript);
    } catch (error) {
      onFault(error);
      return undefined;
    }
  }

  /** Links to connect do not name their run. */
  async function findRunOf(callerId: string, link: string): Promise<string> {
    const [runId = ''] = link.split('.', 1);
    if (runId !== link) return runId;
    try {
      return (await store.find(linkIdOf(callerId, link), now())) ?? '';
    } catch (error) {
      onFault(error);
      return '';
    }
  }

  async function write(run: TranscribedRun, transcript: KeptTranscript): Promise<void> {
    const bounded = withinBounds(transcript);
    const id = noteIdOf(run);
    try {
      if (bounded === undefined) await store.delete(id);
      else await keep(run, id, JSON.stringify(bounded));
    } catch (error) {
      onFault(error);
    }
  }

  async function keep({ callerId }: TranscribedRun, id: string, value: string): Promise<void> {
    const time = now();
    const bounds = { time, maxNotes: transcriptsLimit, maxCharacters: transcriptsCharacters };
    await store.save({ id, callerId, value, expires: time + transcriptMs }, bounds);
  }

  async function stateOf(runId: string): Promise<keyof typeof unrun> {
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

  async function messagesOf(
    runId: string,
    { messages, open, said = '', isToConnect }: KeptTranscript,
    mayGiveUp: boolean,
  ): Promise<ChatMessage[]> {
    if (open === undefined) return messages;
    if (isToConnect === true && mayGiveUp && (await stateOf(runId)) === 'waiting') await giveUp(runId, goneOn).catch(onFault);
    const state = (isToConnect === true ? unconnected : unrun)[await stateOf(runId)];
    const completed = messages.map((message, index): ChatMessage =>
      message.role === 'tool' && open.includes(index) ? { ...message, content: JSON.stringify({ error: state.result }) } : message,
    );
    return [...completed, spoken('said' in state ? state.said : said)];
  }

  return {
    async keepSuspended(run, added, { before, messages, open, said, isToConnect }) {
      const links = [...((await read(run))?.links ?? []), ...added];
      const shifted = open.map((index) => index + before.length);
      const transcript = { links, model: run.model, messages: [...before, ...messages], open: shifted, said };
      await write(run, { ...transcript, ...(isToConnect === true && { isToConnect }) });
      // The last one of an answer finds its run (`lastLinkIn`).
      const last = added.at(-1);
      if (isToConnect === true && last !== undefined) await keep(run, linkIdOf(run.callerId, last), run.id).catch(onFault);
    },

    async keepEnded(run, messages) {
      const earlier = await read(run);
      if (earlier !== undefined) await write(run, { links: earlier.links, model: run.model, messages: [...messages] });
    },

    restore(caller, messages, request) {
      if (!messages.some(hasLink)) return [...messages];
      const linked = messages.filter((message) => mayBeAnswer(message) && lastLinkIn(message) !== undefined);
      return restoreLinked(messages, new Set(linked.slice(-transcriptsPerRequest)), { ...request, caller });
    },

    async find(run, link) {
      const transcript = await read(run);
      if (transcript?.links.includes(link) !== true) return undefined;
      return { answer: transcript.open === undefined ? answerIn(transcript.messages) : undefined };
    },
  };

  async function restoreLinked(
    messages: readonly ChatMessage[],
    linked: ReadonlySet<ChatMessage>,
    { caller, model, hasTools, isTask = false }: { caller: Caller; model: string; hasTools: boolean; isTask?: boolean },
  ): Promise<ChatMessage[]> {
    let restored: ChatMessage[] = [];
    let answerBefore: string | undefined;
    let next = 0;
    for (const [index, message] of messages.entries()) {
      if (index < next) continue;
      const found = linked.has(message) ? await findFor(message, caller, !isTask) : undefined;
      if (found === undefined) {
        // A client that got the rest of the answer from the decision has it in its history, too, perhaps with the calls before it.
        if (answerBefore === undefined || message.role !== 'assistant' || textOf(message.content).trim() !== answerBefore)
          restored.push(withoutLinks(message));
        answerBefore = undefined;
        continue;
      }
      const own = unlessHandedOver(found.messages, messages[index + 1]);
      const messagesOfRun = found.model === model ? own : forAnotherModel(own);
      const joined = appendKept(restored, messagesOfRun);
      restored = hasTools ? joined : withResultsInline(joined);
      answerBefore = answerIn(messagesOfRun)?.trim();
      next = behindSentBack(messages, index + 1, messagesOfRun);
    }
    return restored;
  }

  async function findFor(
    message: ChatMessage,
    caller: Caller,
    mayGiveUp: boolean,
  ): Promise<{ model: string; messages: ChatMessage[] } | undefined> {
    const link = lastLinkIn(message) ?? '';
    const runId = await findRunOf(caller.id, link);
    const transcript = await read({ id: runId, callerId: caller.id });
    if (transcript?.links.includes(link) !== true) return undefined;
    return { model: transcript.model, messages: repairHistory(await messagesOf(runId, transcript, mayGiveUp)) };
  }
}

/** Cancelled, or given up. A run that was interrupted may have gone on before. */
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
 * Nothing where the run ended with calls of the caller's functions, which follow: these bring all its rounds back (`continuations.ts`). By name, because
 * they may have been handed over under other ids.
 */
function unlessHandedOver(added: ChatMessage[], next: ChatMessage | undefined): ChatMessage[] {
  const round = added.findLast(({ role }) => role === 'assistant');
  if (round?.role !== 'assistant' || next?.role !== 'assistant' || next.toolCalls.length === 0) return added;
  const names = new Set(round.toolCalls.map(({ name }) => name));
  return next.toolCalls.every(({ name }) => names.has(name)) ? [] : added;
}

function spoken(text: string): AssistantMessage {
  return { role: 'assistant', content: text, toolCalls: [] };
}

function linkIdOf(callerId: string, link: string): string {
  return hash('sha256', JSON.stringify(['connect', callerId, link]), 'base64url');
}

/** The text at the end of a run. */
function answerIn(messages: readonly ChatMessage[]): string | undefined {
  const last = messages.at(-1);
  return last !== undefined && mayBeAnswer(last) ? textOf(last.content) : undefined;
}

/** For a request without tools, for which a backend may refuse calls: the results follow the question. */
function withResultsInline(messages: readonly ChatMessage[]): ChatMessage[] {
  const question = Math.max(
    0,
    messages.findLastIndex(({ role }) => role === 'user'),
  );
  return [...messages.slice(0, question), ...inlineToolResults(messages.slice(question))];
}

/** Undefined if it is too large even with shortened results. */
function withinBounds(transcript: KeptTranscript): KeptTranscript | undefined {
  if (charactersOf(transcript.messages) <= transcriptCharacters) return transcript;
  const messages = transcript.messages.map((message): ChatMessage => {
    const text = textOf(message.content);
    if (message.role !== 'tool' || text.length <= limits.shortenedResultCharacters) return message;
    return { ...message, content: `${text.slice(0, limits.shortenedResultCharacters).toWellFormed()}\n\n[The rest is not kept.]` };
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

/** Hashed with the caller, so that nobody finds what another's run did. */
function noteIdOf({ id, callerId }: Pick<TranscribedRun, 'id' | 'callerId'>): string {
  return hash('sha256', JSON.stringify(['run', callerId, id]), 'base64url');
}
