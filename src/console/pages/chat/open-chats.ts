import { signal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import { startChat } from '../../api/session.ts';
import { announce, sayProblem } from '../../parts/toasts.tsx';
import { branchOf, newId } from './chat.ts';
import type { Answer, Chat, ChatSettings, Message, Question } from './chat.ts';
import { keepChat, loadChat } from './kept-chats.ts';
import { toFiles, toModelMessages } from './model-messages.ts';
import { ownToolServers } from './own-servers.ts';
import { addFrame, cancelAnswer, failAnswer } from './read-frames.ts';

/** What a question consists of. */
type Asked = Pick<Question, 'text' | 'attachments'>;

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
  edit(question: Question, text: string, settings: ChatSettings): void;
  show(leaf: string): void;
  rename(title: string): void;
  cancel(): void;
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
/** Chats that stay open; those that run do so always. */
const maxOpen = 8;

const opened = new Map<string, OpenChat>();

/** A new chat; it is kept with its first message. */
export function newChat(): OpenChat {
  return open({ id: newId(), title: 'New chat', updated: 0, settings: {}, messages: {}, leaf: undefined });
}

/** Undefined when it is not in this browser. */
export async function openChat(id: string): Promise<OpenChat | undefined> {
  const known = opened.get(id);
  if (known !== undefined) return known;
  const chat = await loadChat(id);
  return chat === undefined ? undefined : (opened.get(id) ?? open(closeCutOff(chat)));
}

export function forgetChat(id: string): void {
  opened.get(id)?.cancel();
  opened.delete(id);
}

/** An answer that was running when its page was closed. */
function closeCutOff(chat: Chat): Chat {
  for (const message of Object.values(chat.messages))
    if (message.role === 'assistant' && message.state === 'running')
      failAnswer(message, { code: 'client_disconnected', message: 'The page was closed before this answer was complete.' }, chat.updated);
  return chat;
}

function open(first: Chat): OpenChat {
  const chat = signal(first);
  const news = signal(0);
  const running = signal<Answer | undefined>(undefined);
  let cancel: (() => void) | undefined;

  const keep = (): void => void keepChat(chat.value).catch(sayProblem);

  function add(message: Message): void {
    const messages = { ...chat.value.messages, [message.id]: message };
    chat.value = { ...chat.value, messages, leaf: message.id, updated: Date.now() };
  }

  function ask({ text, attachments = [] }: Asked, parent: string | undefined, settings: ChatSettings): void {
    if (chat.value.leaf === undefined) chat.value = { ...chat.value, title: titleOf(text) };
    const question: Question = { id: newId(), parent, role: 'user', text, ...(attachments.length > 0 && { attachments }) };
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
    const own = await ownToolServers();
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
    if (new Blob([JSON.stringify(fields)]).size <= maxMessageBytes) return follow(answer, fields);
    failAnswer(answer, tooLarge, Date.now());
    finish(answer);
  }

  function follow(answer: Answer, fields: Readonly<Record<string, unknown>>): void {
    let drawing: number | undefined;
    let keptAt = Date.now();
    const draw = (): void => {
      drawing = undefined;
      news.value += 1;
    };
    cancel = startChat(answer.id, fields, {
      onFrame(frame) {
        addFrame(answer, frame, Date.now());
        drawing ??= requestAnimationFrame(draw);
        if (Date.now() - keptAt < keepEveryMs) return;
        keptAt = Date.now();
        keep();
      },
      onEnd(error) {
        if (drawing !== undefined) cancelAnimationFrame(drawing);
        if (error !== undefined) endWith(answer, error);
        finish(answer);
      },
    });
  }

  function finish(answer: Answer): void {
    chat.value = { ...chat.value, messages: { ...chat.value.messages, [answer.id]: { ...answer } }, updated: Date.now() };
    if (running.value === answer) {
      running.value = undefined;
      cancel = undefined;
      announce(answer.state === 'done' ? 'The answer is complete.' : (answer.error?.message ?? 'Stopped.'));
    }
    news.value += 1;
    keep();
  }

  const it: OpenChat = {
    chat,
    news,
    running,
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
    cancel: () => cancel?.(),
  };
  opened.set(first.id, it);
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

function endWith(answer: Answer, error: { code: string; message: string }): void {
  if (error.code === 'run_cancelled') cancelAnswer(answer, Date.now());
  else failAnswer(answer, error, Date.now());
}

function titleOf(text: string): string {
  const [line = ''] = text.trim().split('\n', 1);
  return line.length > maxTitleCharacters ? `${line.slice(0, maxTitleCharacters)}…` : line;
}
