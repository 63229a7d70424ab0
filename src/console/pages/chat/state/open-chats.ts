import { effect, signal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import { key } from '../../../api/key.ts';
import { readyLogin } from '../../../api/login.ts';
import { call } from '../../../api/request.ts';
import { inputRequests, connection, findRefusal, followChat, startChat } from '../../../api/session.ts';
import type { ChatListener } from '../../../api/session.ts';
import { announce, showError } from '../../../parts/toasts.tsx';
import { branchOf, newId } from './chat.ts';
import type { Answer, Chat, ChatSettings, Message, UserMessage } from './chat.ts';
import { saveChat, savePendingAnswer, chatsWithPendingAnswer, loadChat, onSavedElsewhere, takePendingAnswer } from './saved-chats.ts';
import { toFiles, toModelMessages } from './model-messages.ts';
import { readToolServers } from './browser-servers.ts';
import { addFrame, addMissed, cancelAnswer, failAnswer } from './read-frames.ts';
import { waitingChats } from './waiting-chats.ts';

/** What a question consists of. */
type Asked = Pick<UserMessage, 'text' | 'attachments'>;

/** A chat that is open in this page. Its answers go on while another page is shown. */
export interface OpenChat {
  readonly chat: Signal<Chat>;
  /** Counts what has come for the running answer; it changes at most once a frame of the screen. */
  readonly news: Signal<number>;
  /** Undefined while none is running. */
  readonly running: Signal<Answer | undefined>;
  send(asked: Asked, settings: ChatSettings): void;
  /** Another answer to the same question. */
  retry(answer: Answer, settings: ChatSettings): void;
  /** Another question in the place of this one. */
  edit(question: UserMessage, text: string, settings: ChatSettings): void;
  show(leaf: string): void;
  rename(title: string): void;
  cancel(): void;
  /** The answer that would be lost with the page: it is running, or has just ended. */
  unsaved(): Answer | undefined;
  /** Takes in what another tab has kept of it. */
  mergeSaved(kept: Chat): void;
}

/** A frame of the gateway may have a megabyte. */
const maxMessageBytes = 1_000_000;
const tooLarge = {
  code: 'body_too_large',
  message:
    'This chat, its files and the documents of this browser’s tool servers are together larger than the megabyte that a message may have. Start a new chat, attach less, or switch a server off.',
};
/** Of a title. */
const maxTitleCharacters = 80;
/** A running answer is kept this often. */
const keepEveryMs = 2_000;
/** From the end of a run to the end of its frames, after its session was taken up. */
const lateFramesMs = 2_000;
/** Chats that stay open; those that run do so always. */
const maxOpen = 8;

const opened = new Map<string, OpenChat>();

effect(() => {
  const before = waitingChats.peek().length;
  waitingChats.value = inputRequests.value.flatMap(({ data }) =>
    [...opened.values()].filter(({ running }) => running.value?.runId === data['run_id']).map(({ chat }) => chat.peek().id),
  );
  if (waitingChats.peek().length > before) announce('A question waits for you.');
});

/** A new chat; it is kept with its first message. */
export function newChat(): OpenChat {
  return open({ id: newId(), title: 'New chat', updated: 0, settings: {}, messages: {}, leaf: undefined });
}

/** Undefined when it is not in this browser. */
export async function openChat(id: string): Promise<OpenChat | undefined> {
  const known = opened.get(id);
  if (known !== undefined) return known;
  const chat = await loadChat(id);
  // The session of an answer that is still running is taken up with the token of whoever is signed in.
  if (key.value === undefined) await readyLogin();
  return chat === undefined ? undefined : (opened.get(id) ?? open(withPendingAnswer(chat)));
}

export function forgetChat(id: string): void {
  opened.get(id)?.cancel();
  opened.delete(id);
}

addEventListener('pagehide', () => {
  for (const it of opened.values()) {
    const answer = it.unsaved();
    if (answer !== undefined) savePendingAnswer(it.chat.value.id, answer);
  }
});

onSavedElsewhere((id) => {
  if (opened.has(id)) loadChat(id).then((kept) => kept && opened.get(id)?.mergeSaved(kept), showError);
});

/** Opens the chats that were running when their page was loaded again or closed. */
export async function resumePendingChats(): Promise<void> {
  for (const id of chatsWithPendingAnswer()) await openChat(id);
}

/** With all that had come of its answer when its page was closed or loaded again. */
function withPendingAnswer(chat: Chat): Chat {
  const left = takePendingAnswer(chat.id);
  const kept = left && chat.messages[left.id];
  if (left === undefined || kept?.role !== 'assistant' || kept.state !== 'running') return chat;
  const whole = { ...chat, messages: { ...chat.messages, [left.id]: left } };
  if (left.state !== 'running') void saveChat(whole).catch(showError);
  return whole;
}

const cutOff = { code: 'client_disconnected', message: 'The page was closed before this answer was complete.' };

function open(first: Chat): OpenChat {
  const chat = signal(first);
  const news = signal(0);
  const running = signal<Answer | undefined>(undefined);
  let cancel: (() => void) | undefined;
  let finished: Answer | undefined;

  const keep = (): void => {
    const kept = finished;
    void saveChat(chat.value).then(() => {
      if (finished === kept) finished = undefined;
    }, showError);
  };

  function add(message: Message): void {
    const messages = { ...chat.value.messages, [message.id]: message };
    chat.value = { ...chat.value, messages, leaf: message.id, updated: Date.now() };
  }

  function ask({ text, attachments = [] }: Asked, parent: string | undefined, settings: ChatSettings): void {
    if (chat.value.leaf === undefined)
      chat.value = { ...chat.value, title: titleOf(text.trim() === '' ? (attachments[0]?.name ?? '') : text) };
    const question: UserMessage = { id: newId(), parent, role: 'user', text, ...(attachments.length > 0 && { attachments }) };
    add(question);
    void answerTo(question.id, settings);
  }

  async function answerTo(parent: string, settings: ChatSettings): Promise<void> {
    cancel?.();
    const answer = newAnswer(parent, settings.model);
    const branch = branchOf({ messages: chat.value.messages, leaf: parent });
    const messages = toModelMessages(branch, settings.system);
    const files = toFiles(branch);
    chat.value = { ...chat.value, settings };
    add(answer);
    running.value = answer;
    keep();
    const refusal = await findRefusal();
    const own = await readToolServers();
    answer.warnings.push(...own.missing.map((name) => `${name} does not answer this browser, so its functions are not here.`));
    // Another question may have come meanwhile.
    if (running.value !== answer) return;
    const fields = {
      messages,
      chat_id: chat.value.id,
      ...(settings.model !== undefined && { model: settings.model }),
      ...(settings.mode !== undefined && { mode: settings.mode }),
      ...(settings.toolIds !== undefined && { tool_ids: settings.toolIds }),
      ...(own.servers.length > 0 && { tool_servers: own.servers }),
      ...(files.length > 0 && { files }),
    };
    const error = refusal ?? (new Blob([JSON.stringify(fields)]).size > maxMessageBytes ? tooLarge : undefined);
    if (error === undefined) {
      cancel = startChat(answer.id, fields, listenerOf(answer));
      return;
    }
    failAnswer(answer, error, Date.now());
    finish(answer);
  }

  function listenerOf(answer: Answer): ChatListener {
    let drawing: number | undefined;
    let keptAt = Date.now();
    const draw = (): void => {
      drawing = undefined;
      news.value += 1;
    };
    return {
      onFrame(frame) {
        addFrame(answer, frame, Date.now());
        drawing ??= requestAnimationFrame(draw);
        // From then on the page of its run leads to the chat.
        if (frame.type !== 'assistant_start' && Date.now() - keptAt < keepEveryMs) return;
        keptAt = Date.now();
        keep();
      },
      onResumed() {
        if (answer.state === 'cancelled') cancelRun(answer);
        else void catchUp(answer).then(draw, () => undefined);
      },
      onEnd(error) {
        if (drawing !== undefined) cancelAnimationFrame(drawing);
        if (error !== undefined) endWith(answer, error);
        finish(answer);
        void findRefusal();
      },
    };
  }

  /** With what was lost while there was no connection; if that was its end, nothing more comes. */
  async function catchUp(answer: Answer): Promise<void> {
    if (answer.runId === undefined) return;
    const { status, events } = await call('GET /api/runs/:id', { params: { id: answer.runId } });
    if (answer.state === 'running') addMissed(answer, events, Date.now());
    if (status === 'running' || status === 'waiting') return;
    // Frames that the gateway has kept come at the same time.
    setTimeout(() => {
      if (running.value !== answer) return;
      failAnswer(answer, cutOff, Date.now());
      finish(answer);
    }, lateFramesMs);
  }

  /** Goes on with an answer that was running when its page was loaded again; one whose page was closed is over. */
  function resume(answer: Answer): void {
    const listener = listenerOf(answer);
    const onEnd: ChatListener['onEnd'] = (error) => listener.onEnd(error?.code === cutOff.code ? cutOff : error);
    const stop = answer.runId === undefined ? undefined : followChat(answer.id, answer.runId, { ...listener, onEnd });
    if (stop === undefined) {
      failAnswer(answer, cutOff, first.updated);
      // Nobody knows when it ended.
      delete answer.finished;
      keep();
      return;
    }
    cancel = stop;
    running.value = answer;
  }

  function finish(answer: Answer): void {
    chat.value = { ...chat.value, messages: { ...chat.value.messages, [answer.id]: { ...answer } }, updated: Date.now() };
    if (running.value === answer) {
      running.value = undefined;
      cancel = undefined;
      announce(answer.state === 'done' ? 'The answer is complete.' : (answer.error?.message ?? 'Stopped.'));
    }
    news.value += 1;
    finished = answer;
    keep();
  }

  const it: OpenChat = {
    chat,
    news,
    running,
    unsaved: () => running.value ?? finished,
    send: (asked, settings) => ask(asked, chat.value.leaf, settings),
    retry: ({ parent }, settings) => void (parent !== undefined && answerTo(parent, settings)),
    edit: ({ parent, attachments = [] }, text, settings) => ask({ text, attachments }, parent, settings),
    show(leaf) {
      chat.value = { ...chat.value, leaf };
      keep();
    },
    rename(title) {
      chat.value = { ...chat.value, title };
      keep();
    },
    cancel() {
      cancel?.();
      // Without a connection the gateway hears of it when the session is taken up.
      if (running.value === undefined || connection.value === 'open') return;
      cancelAnswer(running.value, Date.now());
      finish(running.value);
    },
    mergeSaved(kept) {
      const { messages, leaf } = chat.value;
      const isOver = (message: Message | undefined): boolean => message?.role === 'user' || message?.state === 'done';
      // What is over stays the same object, which is not rendered again.
      const news = Object.entries(kept.messages).filter(([id]) => id !== running.value?.id && !isOver(messages[id]));
      const all = { ...messages, ...Object.fromEntries(news) };
      const goesOn = leaf !== undefined && branchOf({ messages: all, leaf: kept.leaf }).some(({ id }) => id === leaf);
      chat.value = { ...chat.value, messages: all, title: kept.title, ...(goesOn && { leaf: kept.leaf }) };
    },
  };
  opened.set(first.id, it);
  for (const message of Object.values(first.messages)) if (message.role === 'assistant' && message.state === 'running') resume(message);
  for (const [id, other] of opened) if (opened.size > maxOpen && other !== it && other.running.value === undefined) opened.delete(id);
  return it;
}

function newAnswer(parent: string, model: string | undefined): Answer {
  return {
    id: newId(),
    parent,
    role: 'assistant',
    model,
    runId: undefined,
    state: 'running',
    parts: [],
    sources: [],
    warnings: [],
    started: Date.now(),
  };
}

/** One that was stopped while there was no connection. */
function cancelRun({ runId }: Answer): void {
  if (runId !== undefined) call('POST /api/runs/:id/cancel', { params: { id: runId } }).catch(showError);
}

function endWith(answer: Answer, error: { code: string; message: string }): void {
  if (error.code === 'run_cancelled') cancelAnswer(answer, Date.now());
  else failAnswer(answer, error, Date.now());
}

function titleOf(text: string): string {
  const [line = ''] = text.trim().split('\n', 1);
  return line.length > maxTitleCharacters ? `${line.slice(0, maxTitleCharacters)}…` : line;
}
