import { signal, type Signal } from '@preact/signals';
import { call } from '../../../api/request.ts';
import { connection, findRefusal, followChat, startChat, type ChatListener } from '../../../api/session.ts';
import { announce, showError } from '../../../parts/toasts.tsx';
import { branchOf, newAnswer, newId, type Answer, type Chat, type ChatSettings, type Message, type UserMessage } from './chat.ts';
import { createChatRequest } from './chat-request.ts';
import { addFrame, addMissed, cancelAnswer, failAnswer } from './read-frames.ts';
import { saveChat } from './saved-chats.ts';
import { writeTitle } from './write-title.ts';

type MessageContent = Pick<UserMessage, 'text' | 'attachments'>;

const maxTitleCharacters = 80;
/** A running answer is saved this often. */
const saveEveryMs = 2_000;
/** How long frames may arrive after the run has ended, once its session was resumed. */
const lateFramesMs = 2_000;

const pageClosed = { code: 'client_disconnected', message: 'The page was closed before this answer was complete.' };

/** A chat that is open in this page. Its answers continue while another page is shown. */
export class OpenChat {
  readonly chat: Signal<Chat>;
  /** Counts the updates of the running answer. It changes at most once per frame of the screen. */
  readonly revision = signal(0);
  /** Undefined while no answer is running. */
  readonly running = signal<Answer | undefined>(undefined);
  #cancel: (() => void) | undefined;
  /** The last answer, from its end until it is saved. */
  #finished: Answer | undefined;

  constructor(chat: Chat) {
    this.chat = signal(chat);
  }

  /** The answer that would be lost with the page, because it is running or has just ended. */
  get unsaved(): Answer | undefined {
    return this.running.value ?? this.#finished;
  }

  send(content: MessageContent, settings: ChatSettings): void {
    this.#addQuestion(content, this.chat.value.leaf, settings);
  }

  /** Asks for another answer to the same question. */
  retry({ parent }: Answer, settings: ChatSettings): void {
    if (parent !== undefined) void this.#answerTo(parent, settings);
  }

  /** Adds another version of a question. */
  edit({ parent, attachments = [] }: UserMessage, text: string, settings: ChatSettings): void {
    this.#addQuestion({ text, attachments }, parent, settings);
  }

  show(leaf: string): void {
    this.chat.value = { ...this.chat.value, leaf };
    this.#save();
  }

  pin(isPinned: boolean): void {
    const { isPinned: _before, ...chat } = this.chat.value;
    this.chat.value = { ...chat, ...(isPinned && { isPinned }) };
    this.#save();
  }

  rename(title: string): void {
    this.chat.value = { ...this.chat.value, title };
    this.#save();
  }

  cancel(): void {
    this.#cancel?.();
    // Without a connection the gateway learns of it when the session is resumed.
    if (this.running.value === undefined || connection.value === 'open' || connection.value === 'http') return;
    cancelAnswer(this.running.value, Date.now());
    this.#finish(this.running.value);
  }

  /** Takes over what another tab has saved. */
  mergeSaved(saved: Chat): void {
    const { messages, leaf } = this.chat.value;
    const isFinal = (message: Message | undefined): boolean => message?.role === 'user' || message?.state === 'done';
    // A final message stays the same object, so that it is not rendered again.
    const changed = Object.entries(saved.messages).filter(([id]) => id !== this.running.value?.id && !isFinal(messages[id]));
    const merged = { ...messages, ...Object.fromEntries(changed) };
    const continuesBranch = leaf !== undefined && branchOf({ messages: merged, leaf: saved.leaf }).some(({ id }) => id === leaf);
    const { isPinned: _before, ...chat } = this.chat.value;
    const { title, isPinned } = saved;
    this.chat.value = { ...chat, messages: merged, title, ...(isPinned && { isPinned }), ...(continuesBranch && { leaf: saved.leaf }) };
  }

  /** Resumes answers that were running when their page was reloaded. If the page was closed, they have failed. */
  resumeRunning(): void {
    for (const message of Object.values(this.chat.value.messages))
      if (message.role === 'assistant' && message.state === 'running') this.#resume(message);
  }

  #resume(answer: Answer): void {
    const listener = this.#listenerOf(answer);
    const onEnd: ChatListener['onEnd'] = (error) => listener.onEnd(error?.code === pageClosed.code ? pageClosed : error);
    const stop = answer.runId === undefined ? undefined : followChat(answer.id, answer.runId, { ...listener, onEnd });
    if (stop === undefined) {
      failAnswer(answer, pageClosed, this.chat.value.updated);
      // Nobody knows when it ended.
      delete answer.finished;
      this.#save();
      return;
    }
    this.#cancel = stop;
    this.running.value = answer;
  }

  #addQuestion({ text, attachments = [] }: MessageContent, parent: string | undefined, settings: ChatSettings): void {
    if (this.chat.value.leaf === undefined)
      this.chat.value = { ...this.chat.value, title: titleOf(text.trim() === '' ? (attachments[0]?.name ?? '') : text) };
    const question: UserMessage = { id: newId(), parent, role: 'user', text, ...(attachments.length > 0 && { attachments }) };
    this.#add(question);
    void this.#answerTo(question.id, settings);
  }

  async #answerTo(parent: string, settings: ChatSettings): Promise<void> {
    this.#cancel?.();
    const answer = newAnswer(parent, settings.model);
    const branch = branchOf({ messages: this.chat.value.messages, leaf: parent });
    this.chat.value = { ...this.chat.value, settings };
    this.#add(answer);
    this.running.value = answer;
    this.#save();
    const refusal = await findRefusal();
    const { fields, tooLarge, warnings } = await createChatRequest({ id: this.chat.value.id, settings }, branch);
    answer.warnings.push(...warnings);
    // Another question may have been asked meanwhile.
    if (this.running.value !== answer) return;
    const error = refusal ?? tooLarge;
    if (error === undefined) {
      this.#cancel = startChat(answer.id, fields, this.#listenerOf(answer));
      return;
    }
    failAnswer(answer, error, Date.now());
    this.#finish(answer);
  }

  #listenerOf(answer: Answer): ChatListener {
    let drawing: number | undefined;
    let savedAt = Date.now();
    const draw = (): void => {
      drawing = undefined;
      this.revision.value += 1;
    };
    return {
      onFrame: (frame) => {
        addFrame(answer, frame, Date.now());
        drawing ??= requestAnimationFrame(draw);
        // Saved at once with its run id, so that the page of the run can link to the chat.
        if (frame.type !== 'assistant_start' && Date.now() - savedAt < saveEveryMs) return;
        savedAt = Date.now();
        this.#save();
      },
      onResumed: () => {
        if (answer.state === 'cancelled') cancelRun(answer);
        else void this.#catchUp(answer).then(draw, () => undefined);
      },
      onEnd: (error) => {
        if (drawing !== undefined) cancelAnimationFrame(drawing);
        if (error?.code === 'run_cancelled') cancelAnswer(answer, Date.now());
        else if (error !== undefined) failAnswer(answer, error, Date.now());
        this.#finish(answer);
        void this.#title(answer);
        void findRefusal();
      },
    };
  }

  /** Adds what was lost while there was no connection. If the end was lost too, the answer ends here. */
  async #catchUp(answer: Answer): Promise<void> {
    if (answer.runId === undefined) return;
    const { status, events } = await call('GET /api/runs/:id', { params: { id: answer.runId } });
    if (answer.state === 'running') addMissed(answer, events, Date.now());
    if (status === 'running' || status === 'waiting') return;
    // The frames that the gateway has stored arrive at the same time.
    setTimeout(() => {
      if (this.running.value !== answer) return;
      failAnswer(answer, pageClosed, Date.now());
      this.#finish(answer);
    }, lateFramesMs);
  }

  /** The first answer gives the chat a title, unless a person has named it. */
  async #title(answer: Answer): Promise<void> {
    const question = answer.parent === undefined ? undefined : this.chat.value.messages[answer.parent];
    if (answer.state !== 'done' || question?.role !== 'user' || question.parent !== undefined) return;
    const first = titleOf(question.text);
    if (first === '' || this.chat.value.title !== first) return;
    const title = await writeTitle(question.text, answer);
    if (title !== undefined && this.chat.value.title === first) this.rename(title);
  }

  #finish(answer: Answer): void {
    const { messages } = this.chat.value;
    this.chat.value = { ...this.chat.value, messages: { ...messages, [answer.id]: { ...answer } }, updated: Date.now() };
    if (this.running.value === answer) {
      this.running.value = undefined;
      this.#cancel = undefined;
      announce(answer.state === 'done' ? 'The answer is complete.' : (answer.error?.message ?? 'Stopped.'));
    }
    this.revision.value += 1;
    this.#finished = answer;
    this.#save();
  }

  #add(message: Message): void {
    const messages = { ...this.chat.value.messages, [message.id]: message };
    this.chat.value = { ...this.chat.value, messages, leaf: message.id, updated: Date.now() };
  }

  #save(): void {
    const finished = this.#finished;
    void saveChat(this.chat.value).then(() => {
      if (this.#finished === finished) this.#finished = undefined;
    }, showError);
  }
}

/** For an answer that was stopped while there was no connection. */
function cancelRun({ runId }: Answer): void {
  if (runId !== undefined) call('POST /api/runs/:id/cancel', { params: { id: runId } }).catch(showError);
}

function titleOf(text: string): string {
  const [line = ''] = text.trim().split('\n', 1);
  return line.length > maxTitleCharacters ? `${line.slice(0, maxTitleCharacters)}…` : line;
}
