/** A chat as it is saved in this browser. Everything in it can be stored as JSON. */

export interface Chat {
  id: string;
  title: string;
  /** Milliseconds since 1970. */
  updated: number;
  isPinned?: true;
  settings: ChatSettings;
  /** All messages by their ids. Messages with the same parent are versions of each other. */
  messages: Readonly<Record<string, Message>>;
  /** The last message of the visible branch. */
  leaf: string | undefined;
}

export interface ChatSettings {
  /** Undefined: the first available model. */
  model?: string;
  /** Undefined: the gateway's default. */
  mode?: string;
  /** Undefined: the gateway's defaults. */
  toolIds?: readonly string[];
  system?: string;
  /** Undefined: the defaults of the model. */
  temperature?: number;
  maxTokens?: number;
  reasoningEffort?: string;
}

export type Message = UserMessage | Answer;

export interface UserMessage {
  id: string;
  parent: string | undefined;
  role: 'user';
  text: string;
  attachments?: readonly Attachment[];
}

/** `url`: a `data:` address. */
export type Attachment = { kind: 'picture'; name: string; url: string } | { kind: 'text'; name: string; content: string };

export interface Answer {
  id: string;
  parent: string | undefined;
  role: 'assistant';
  model: string | undefined;
  runId: string | undefined;
  state: 'running' | 'done' | 'cancelled' | 'failed';
  parts: AnswerPart[];
  sources: Source[];
  warnings: string[];
  /** Why registered tool servers were left out, a message each. */
  unavailable?: string[];
  error?: { code: string; message: string };
  usage?: { prompt_tokens?: number; completion_tokens?: number };
  /** Milliseconds since 1970. */
  started: number;
  finished?: number;
}

export type AnswerPart = TextPart | ReasoningPart | CallPart;

interface TextPart {
  kind: 'text';
  text: string;
}

export interface ReasoningPart {
  kind: 'reasoning';
  text: string;
  started: number;
  finished?: number;
}

export interface CallPart {
  kind: 'call';
  id: string;
  tool: string;
  server: string | undefined;
  /** The arguments that it runs with. */
  args: unknown;
  /** The arguments of the model, if a person changed them. */
  modelArgs?: unknown;
  state: 'running' | 'waiting' | 'done' | 'failed';
  /** The id of the preset's call that this call was made in. */
  within?: string;
  progress?: string;
  /** The progress from 0 to 1. */
  share?: number;
  response?: unknown;
  error?: { code: string; message: string };
  files?: readonly { type: string; url?: string; name?: string }[];
  durationMs?: number;
  isTruncated?: boolean;
  /** As in `approval.response`, or `changed` if it was approved with other arguments. */
  decision?: string;
}

export interface Source {
  source: { name: string };
  document: readonly string[];
  metadata: readonly Readonly<Record<string, unknown>>[];
}

/** Pages without TLS have no `randomUUID`. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function newAnswer(parent: string, model: string | undefined): Answer {
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

/** The messages from the first one to the leaf. */
export function branchOf({ messages, leaf }: Pick<Chat, 'messages' | 'leaf'>): Message[] {
  const branch: Message[] = [];
  for (let id = leaf; id !== undefined; id = messages[id]?.parent) {
    const message = messages[id];
    if (message === undefined || branch.includes(message)) break;
    branch.unshift(message);
  }
  return branch;
}

/** All versions of a message, including itself, oldest first. */
export function versionsOf({ messages }: Pick<Chat, 'messages'>, { parent, role }: Message): Message[] {
  return Object.values(messages).filter((message) => message.parent === parent && message.role === role);
}

/** The newest message below this one. */
export function leafBelow({ messages }: Pick<Chat, 'messages'>, id: string): string {
  const child = Object.values(messages).findLast(({ parent }) => parent === id);
  return child === undefined ? id : leafBelow({ messages }, child.id);
}

export function textOf({ parts }: Answer): string {
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n\n');
}
